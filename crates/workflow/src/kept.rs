//! A small in-memory cache that drops the least recently used value.

use std::sync::{Arc, Mutex, PoisonError};

use mcpkg_base::error::Result;

/// A small LRU cache.
pub struct Kept<K, V> {
    most: usize,
    /// Most recently used last.
    values: Mutex<Vec<(K, Arc<V>)>>,
}

impl<K: PartialEq, V> Kept<K, V> {
    pub const fn new(most: usize) -> Self {
        Self { most, values: Mutex::new(Vec::new()) }
    }

    /// Returns the cached value, or makes it. The lock is not held while `make` runs, so two threads may make the same value. An
    /// error is not cached.
    pub fn get(&self, key: K, make: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        if let Some(value) = self.find(&key) {
            return Ok(value);
        }
        Ok(self.keep(key, make()?))
    }

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

    /// Returns the cached value, or else stores and returns this one. Concurrent callers all get the same value.
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
