//! How much memory a module takes: of its memories and tables together.

use wasmi::ResourceLimiter;
use wasmi::errors::{MemoryError, TableError};
use wasmi_core::LimiterError;

/// Bytes of an element of a table.
const ELEMENT: u64 = 16;

/// The most memories, tables and instances; one instance is made.
const MOST: usize = 64;

/// What a module may take of memory, and what it took.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u64,
    was_refused: bool,
}

impl Budget {
    /// Returns one of so many bytes.
    pub fn new(bytes: u64) -> Self {
        Self { left: bytes, was_refused: false }
    }

    /// Whether more was asked for than there is.
    pub fn was_refused(&self) -> bool {
        self.was_refused
    }

    /// Takes what something grows by, where that much is left. A module that asks for more is told so, as by `malloc`.
    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>, size: u64) -> bool {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return false;
        }
        let more = (desired.saturating_sub(current) as u64).saturating_mul(size);
        let left = self.left.checked_sub(more);
        self.was_refused |= left.is_none();
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

impl ResourceLimiter for Budget {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool, LimiterError> {
        Ok(self.grow(current, desired, maximum, 1))
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool, LimiterError> {
        Ok(self.grow(current, desired, maximum, ELEMENT))
    }

    fn memory_grow_failed(&mut self, _error: &MemoryError) -> Result<(), LimiterError> {
        // The machine had less of it.
        self.was_refused = true;
        Ok(())
    }

    fn table_grow_failed(&mut self, _error: &TableError) -> Result<(), LimiterError> {
        self.was_refused = true;
        Ok(())
    }

    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        MOST
    }

    fn memories(&self) -> usize {
        MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_and_tables_share_what_there_is() {
        let mut budget = Budget::new(1000);
        assert!(budget.grow(0, 600, None, 1));
        assert!(budget.grow(0, 25, None, ELEMENT));
        assert!(!budget.grow(0, 10, Some(5), 1), "a module's own maximum");
        assert!(!budget.was_refused());
        assert!(!budget.grow(600, 601, None, 1));
        assert!(budget.was_refused());
        assert!(!Budget::new(u64::MAX).grow(0, usize::MAX, Some(0), ELEMENT));
    }
}
