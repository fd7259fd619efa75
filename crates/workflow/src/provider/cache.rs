//! Caches the lists that providers return, by command, arguments and project.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::spec::CommandSpec;
use mcpkg_base::cache::Cache;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::Context;
use mcpkg_store::projects;

/// Maximum number of cached lists.
const MOST: usize = 256;

/// Identifies a list: database, project, command, hash of the command's spec, and arguments.
pub(super) type Key = (PathBuf, String, String, String, String);

/// A list with the time when it was fetched. `None` until it has been fetched for the first time.
type Answer = Mutex<Option<(Millis, Arc<Vec<Value>>)>>;

static ANSWERS: Cache<Key, Arc<Answer>> = Cache::new(MOST);

/// The rules for using a cached list.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheUse {
    /// Maximum age in milliseconds.
    pub(super) ttl: Millis,
    /// Whether to use a list that is too old if fetching fails.
    pub(super) or_older: bool,
}

pub(super) fn key(context: &Context, spec: &CommandSpec, with: &Map<String, Value>) -> Result<Key> {
    let project = context.store.read(|db| projects::resolve(db, &context.selection))?;
    let project = project.map(|project| project.name).unwrap_or_default();
    let mut with = Value::Object(with.clone());
    with.sort_all_objects();
    Ok((context.database().to_owned(), project, spec.id.clone(), spec.hash(), with.to_string()))
}

/// Returns the cached list, or fetches it if it is missing or too old. Concurrent callers with the same key share one fetch.
pub(super) fn get(
    key: Key,
    now: Millis,
    asked: CacheUse,
    fetch: impl FnOnce() -> Result<Vec<Value>>,
) -> Result<Arc<Vec<Value>>> {
    get_of(&ANSWERS, key, now, asked, fetch)
}

fn get_of<K: Ord + Clone>(
    answers: &Cache<K, Arc<Answer>>,
    key: K,
    now: Millis,
    asked: CacheUse,
    fetch: impl FnOnce() -> Result<Vec<Value>>,
) -> Result<Arc<Vec<Value>>> {
    let answer = answers.get_or_put(key, Arc::default());
    let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
    // A list with a time in the future counts as expired: the clock was set back.
    if let Some((at, elements)) = &*answer
        && (*at..at.saturating_add(asked.ttl)).contains(&now)
    {
        return Ok(Arc::clone(elements));
    }
    match (fetch(), &*answer) {
        (Ok(elements), _) => {
            let elements = Arc::new(elements);
            *answer = Some((now, Arc::clone(&elements)));
            Ok(elements)
        }
        (Err(error), Some((_, older))) if asked.or_older && error.code() != Code::Cancelled => {
            tracing::warn!(%error, "a provider failed; using its previous output");
            Ok(Arc::clone(older))
        }
        (Err(error), _) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;
    use mcpkg_base::error::Error;

    const ASKED: CacheUse = CacheUse { ttl: 60_000, or_older: false };

    #[test]
    fn x18_an_answer_is_used_again_for_its_time_and_256_are_kept() {
        let answers: Cache<usize, Arc<Answer>> = Cache::new(MOST);
        let fetches = AtomicUsize::new(0);
        let get = |key: usize, now: Millis, asked: CacheUse| {
            get_of(&answers, key, now, asked, || {
                fetches.fetch_add(1, Ordering::Relaxed);
                Ok(vec![json!(key)])
            })
            .unwrap();
            fetches.load(Ordering::Relaxed)
        };
        assert_eq!((get(0, 0, ASKED), get(0, 59_999, ASKED), get(0, 60_000, ASKED)), (1, 1, 2));
        // Test a shorter maximum age first, then a clock that was set back.
        assert_eq!((get(0, 60_500, CacheUse { ttl: 100, ..ASKED }), get(0, 100, ASKED)), (3, 4));
        for key in 1..=MOST {
            get(key, 100, ASKED);
        }
        assert_eq!(get(MOST, 100, ASKED), 4 + MOST);
        assert_eq!(get(0, 100, ASKED), 5 + MOST);
    }

    #[test]
    fn one_fetch_serves_all_who_ask_meanwhile() {
        let (answers, fetches): (Cache<u8, Arc<Answer>>, _) = (Cache::new(MOST), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    get_of(&answers, 1, 0, ASKED, || {
                        fetches.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        Ok(vec![json!(1)])
                    })
                    .unwrap()
                });
            }
        });
        assert_eq!(fetches.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn an_older_answer_is_used_where_the_input_says_so() {
        let answers: Cache<u8, Arc<Answer>> = Cache::new(MOST);
        let fails = |code| move || Err(Error::new(code, "no"));
        get_of(&answers, 1, 0, ASKED, || Ok(vec![json!(1)])).unwrap();
        let older = CacheUse { or_older: true, ..ASKED };
        assert_eq!(*get_of(&answers, 1, 90_000, older, fails(Code::HttpFailed)).unwrap(), [json!(1)]);
        assert!(get_of(&answers, 1, 90_000, ASKED, fails(Code::HttpFailed)).is_err());
        assert!(get_of(&answers, 1, 90_000, older, fails(Code::Cancelled)).is_err());
        assert!(get_of(&answers, 2, 90_000, older, fails(Code::HttpFailed)).is_err());
    }
}
