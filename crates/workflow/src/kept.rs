//! What was made once and may serve again: a few values by their keys, the ones that were used last.

use std::sync::{Arc, Mutex, PoisonError};

use mcpkg_base::error::Result;

/// A few values by their keys. One that was not used for the longest time makes room for a new one.
pub struct Kept<K, V> {
    most: usize,
    /// The one that was used last stands last.
    values: Mutex<Vec<(K, Arc<V>)>>,
}

impl<K: PartialEq, V> Kept<K, V> {
    /// Returns room for so many values.
    pub const fn new(most: usize) -> Self {
        Self { most, values: Mutex::new(Vec::new()) }
    }

    /// Returns the value of a key, and makes it where it is not kept. Nobody else waits while one is made; where two make the
    /// same, one of them is kept.
    ///
    /// # Errors
    /// What `make` answers; nothing is kept then.
    pub fn get(&self, key: K, make: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        if let Some(value) = self.find(&key) {
            return Ok(value);
        }
        Ok(self.keep(key, make()?))
    }

    /// Keeps a value, and returns it.
    pub fn keep(&self, key: K, value: V) -> Arc<V> {
        let value = Arc::new(value);
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.retain(|(known, _)| *known != key);
        if values.len() >= self.most {
            values.remove(0);
        }
        values.push((key, Arc::clone(&value)));
        value
    }

    /// Returns the value of a key; where none is kept, this one is from now on, for all who ask for it at once.
    pub fn or_keep(&self, key: K, value: V) -> Arc<V> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match values.iter().rposition(|(known, _)| *known == key) {
            Some(place) => values.remove(place),
            None => {
                if values.len() >= self.most {
                    values.remove(0);
                }
                (key, Arc::new(value))
            }
        };
        let value = Arc::clone(&found.1);
        values.push(found);
        value
    }

    /// Returns the value of a key, where it is kept.
    pub fn find(&self, key: &K) -> Option<Arc<V>> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let place = values.iter().rposition(|(known, _)| known == key)?;
        let found = values.remove(place);
        let value = Arc::clone(&found.1);
        values.push(found);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Error;

    #[test]
    fn what_was_used_last_is_kept() {
        let kept = Kept::new(2);
        let get = |key: &'static str| *kept.get(key, || Ok(key.len())).unwrap();
        let is_kept = |key: &'static str| kept.find(&key).is_some();
        assert_eq!((get("a"), get("bb"), get("a"), get("ccc")), (1, 2, 1, 3));
        assert!(is_kept("a") && is_kept("ccc") && !is_kept("bb"));
        assert!(kept.get("d", || Err(Error::internal("no"))).is_err());
        assert!(!is_kept("d"));
        assert_eq!((*kept.or_keep("a", 7), *kept.or_keep("e", 8), is_kept("ccc")), (1, 8, false));
    }
}
