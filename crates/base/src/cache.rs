//! A bounded cache that threads share.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A least-recently-used cache.
pub struct Cache<K, V> {
    most: usize,
    values: Mutex<Values<K, V>>,
}

struct Values<K, V> {
    /// A counter that every lookup and every insertion advances.
    uses: u64,
    /// Each value, with `uses` at its last use.
    by_key: BTreeMap<K, (u64, V)>,
}

impl<K: Ord + Clone, V: Clone> Cache<K, V> {
    pub const fn new(most: usize) -> Self {
        Self { most, values: Mutex::new(Values { uses: 0, by_key: BTreeMap::new() }) }
    }

    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.values().find(key)
    }

    pub fn put(&self, key: K, value: V) {
        self.values().insert(key, value, self.most);
    }

    /// Returns the cached value of a key or, if there is none, stores `value` and returns it. Concurrent callers all
    /// get the same value.
    pub fn get_or_put(&self, key: K, value: V) -> V {
        let mut values = self.values();
        if let Some(known) = values.find(&key) {
            return known;
        }
        values.insert(key, value.clone(), self.most);
        value
    }

    /// Returns the cached value of a key or, if there is none, calls `make` and stores its result. The cache is not
    /// locked while `make` runs, so two threads may make the same value. Errors are not stored.
    pub fn get_or<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        if let Some(known) = self.get(&key) {
            return Ok(known);
        }
        let value = make()?;
        self.put(key, value.clone());
        Ok(value)
    }

    fn values(&self) -> MutexGuard<'_, Values<K, V>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord + Clone, V: Clone> Values<K, V> {
    fn find<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.uses += 1;
        let (used, value) = self.by_key.get_mut(key)?;
        *used = self.uses;
        Some(value.clone())
    }

    fn insert(&mut self, key: K, value: V, most: usize) {
        self.uses += 1;
        if self.by_key.len() >= most && !self.by_key.contains_key(&key) {
            let oldest = self.by_key.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            oldest.map(|key| self.by_key.remove(&key));
        }
        self.by_key.insert(key, (self.uses, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recently_used_values_are_kept() {
        let cache = Cache::new(2);
        let get = |key: &'static str| cache.get_or(key, || Ok::<_, ()>(key.len())).expect("a value");
        assert_eq!((get("a"), get("bb"), get("a"), get("ccc")), (1, 2, 1, 3));
        assert_eq!((cache.get("a"), cache.get("bb"), cache.get("ccc")), (Some(1), None, Some(3)));
        assert_eq!((cache.get_or("d", || Err("no")), cache.get("d")), (Err("no"), None));
        assert_eq!((cache.get_or_put("a", 7), cache.get_or_put("e", 8), cache.get("ccc")), (1, 8, None));
    }

    #[test]
    fn putting_a_value_again_evicts_no_other() {
        let cache = Cache::new(2);
        for key in ["a", "b", "b"] {
            cache.put(key.to_owned(), ());
        }
        assert_eq!((cache.get("a"), cache.get("b")), (Some(()), Some(())));
    }
}
