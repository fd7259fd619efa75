//! Limits the memory of a module: its memories and tables together.

use wasmi::ResourceLimiter;
use wasmi::errors::{MemoryError, TableError};
use wasmi_core::LimiterError;

/// The number of bytes that each element of a table counts as.
const ELEMENT: u64 = 16;

/// The maximum number of memories, tables and instances of a module.
const MOST: usize = 64;

/// The maximum number of refused requests. A module that asks more often is assumed to be in a loop, and is ended.
const MOST_REFUSALS: u32 = 100_000;

/// The memory that a module may still take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u64,
    /// The bytes that the last growth took.
    taken: u64,
    refusals: u32,
}

impl Budget {
    pub fn new(bytes: u64) -> Self {
        Self { left: bytes, taken: 0, refusals: 0 }
    }

    /// Returns whether the module asked for more memory than was left.
    pub fn was_refused(&self) -> bool {
        self.refusals > 0
    }

    /// Reserves the memory for a growth. If there is not enough left, the growth fails just as `malloc` would. A
    /// module that keeps asking is ended.
    fn grow(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
        size: u64,
    ) -> Result<bool, LimiterError> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = (desired.saturating_sub(current) as u64).saturating_mul(size);
        if let Some(left) = self.left.checked_sub(more) {
            (self.left, self.taken) = (left, more);
            return Ok(true);
        }
        self.refuse().map(|()| false)
    }

    /// Gives back the memory that was reserved for a growth, because the growth did not happen. If the module only
    /// waits for fuel, it will ask again, so this does not count as refused.
    fn failed(&mut self, waits_for_fuel: bool) -> Result<(), LimiterError> {
        self.left = self.left.saturating_add(std::mem::take(&mut self.taken));
        if waits_for_fuel { Ok(()) } else { self.refuse() }
    }

    fn refuse(&mut self) -> Result<(), LimiterError> {
        self.refusals = self.refusals.saturating_add(1);
        match self.refusals {
            ..=MOST_REFUSALS => Ok(()),
            _ => Err(LimiterError::ResourceLimiterDeniedAllocation),
        }
    }
}

impl ResourceLimiter for Budget {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool, LimiterError> {
        self.grow(current, desired, maximum, 1)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool, LimiterError> {
        self.grow(current, desired, maximum, ELEMENT)
    }

    fn memory_grow_failed(&mut self, error: &MemoryError) -> Result<(), LimiterError> {
        self.failed(matches!(error, MemoryError::OutOfFuel { .. }))
    }

    fn table_grow_failed(&mut self, error: &TableError) -> Result<(), LimiterError> {
        self.failed(matches!(error, TableError::OutOfFuel { .. }))
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
    fn memories_and_tables_share_one_budget() {
        let mut budget = Budget::new(1000);
        let mut grow = |current, desired, maximum, size| budget.grow(current, desired, maximum, size).expect("goes on");
        assert!(grow(0, 600, None, 1));
        assert!(grow(0, 25, None, ELEMENT));
        assert!(!grow(0, 10, Some(5), 1), "a module's own maximum");
        assert!(!budget.was_refused());
        assert!(!budget.grow(600, 601, None, 1).expect("goes on"));
        assert!(budget.was_refused());
        assert!(!Budget::new(u64::MAX).grow(0, usize::MAX, Some(0), ELEMENT).expect("goes on"));
    }

    #[test]
    fn a_growth_that_waits_for_fuel_is_counted_once() {
        let mut budget = Budget::new(1000);
        for _ in 0..2 {
            assert!(budget.grow(0, 600, None, 1).expect("goes on"));
            budget.failed(true).expect("goes on");
        }
        assert!(budget.grow(0, 600, None, 1).expect("goes on") && !budget.was_refused());
        budget.failed(false).expect("goes on");
        assert!(budget.was_refused() && budget.grow(0, 1000, None, 1).expect("goes on"));
    }

    #[test]
    fn a_module_that_never_stops_asking_is_ended() {
        let mut budget = Budget::new(10);
        assert!((0..MOST_REFUSALS).all(|_| budget.grow(0, 11, None, 1).is_ok_and(|granted| !granted)));
        assert!(budget.grow(0, 11, None, 1).is_err());
        assert!(budget.grow(0, 10, None, 1).is_ok_and(|granted| granted));
    }
}
