//! Runs a function for many repositories in parallel, with at most one thread per processor.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use mcpkg_base::error::{Error, Result};

/// Calls `f` for each item and returns the results in order. A failure does not stop the other calls.
pub fn each<T: Sync, R: Send>(items: &[T], f: impl Fn(usize, &T) -> Result<R> + Sync) -> Vec<Result<R>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<R>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((index, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, items.get(n)?)))
        {
            let result = f(index, item);
            if let Some(slot) = results.get(index) {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        // The current thread works too.
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        work();
        others.into_iter().for_each(|other| drop(other.join()));
    });
    let taken = |slot: Mutex<Option<Result<R>>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    results
        .into_iter()
        .map(|slot| {
            taken(slot).unwrap_or_else(|| Err(Error::internal("the thread for a repository stopped unexpectedly")))
        })
        .collect()
}

/// Calls `f` for each item; returns all results, or the first failure by position.
pub fn all<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    each(items, |_, item| f(item)).into_iter().collect()
}
