//! Searches several registries at the same time.

use std::collections::HashSet;
use std::thread;

use super::known::Known;
use super::query::{Hit, Query, SearchResult};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

/// The state of a registry in a search.
#[derive(Debug)]
pub enum State {
    Answered,
    /// The results may be outdated: a cached response or index was used.
    Stale,
    /// The registry returned no results, for this reason.
    Failed(Error),
}

impl State {
    pub fn word(&self) -> &'static str {
        match self {
            State::Answered => "ok",
            State::Stale => "stale",
            State::Failed(error) => match error.code() {
                Code::RegistryUnreachable => "unreachable",
                Code::Unapproved | Code::ConfirmRequired => "unapproved",
                Code::RegistryRefused | Code::SecretMissing => "refused",
                _ => "failed",
            },
        }
    }
}

/// A registry that took part in a search.
#[derive(Debug)]
pub struct Participant {
    pub registry: String,
    pub state: State,
    /// When the registry sent the results that are shown.
    pub checked_at: Option<Millis>,
}

#[derive(Debug)]
pub struct Everything {
    /// The results, best first, each with its registry.
    pub hits: Vec<(String, Hit)>,
    /// How many tools match in the registries that responded. A tool in two registries counts twice.
    pub total: u64,
    /// The registries that took part, in the configured order.
    pub asked: Vec<Participant>,
}

/// Searches the named registry, or all of them. A registry that cannot be asked does not make the search fail.
///
/// # Errors
/// `E_NOT_FOUND` if there is no registry with this name. Errors of the database, and `E_CANCELLED`.
pub fn search(context: &Context, query: &Query, registry: Option<&str>) -> Result<Everything> {
    let known = Known::meant(context, registry)?;
    if !query.offline && known.iter().any(Known::is_remote) {
        (context.step_aside)();
    }
    // Opening a registry may prompt for its approval, so all are opened before the first request is sent.
    let opened: Vec<_> = known.iter().map(|known| known.open(context)).collect();
    let found: Vec<Result<SearchResult>> = thread::scope(|scope| {
        let asking: Vec<_> = opened.into_iter().map(|backend| scope.spawn(move || backend?.search(query))).collect();
        let failed = |_| Err(Error::internal("the search of a registry panicked"));
        asking.into_iter().map(|asking| asking.join().unwrap_or_else(failed)).collect()
    });
    let (mut asked, mut lists, mut total) = (Vec::new(), Vec::new(), 0);
    for (known, found) in known.into_iter().zip(found) {
        let (state, checked_at) = match found {
            Ok(found) => {
                total += found.total;
                lists.push((known.name.clone(), found.hits));
                (if found.stale { State::Stale } else { State::Answered }, Some(found.checked_at))
            }
            Err(error) if costs_the_answer(&error) => return Err(error),
            Err(error) => (State::Failed(error), None),
        };
        asked.push(Participant { registry: known.name, state, checked_at });
    }
    Ok(Everything { hits: merged(lists, query.limit as usize), total, asked })
}

/// Returns whether an error must end the whole search. Any other error concerns a single registry.
fn costs_the_answer(error: &Error) -> bool {
    use Code::{Busy, Cancelled, Damaged, Internal, NotDatabase, Replaced, Storage, Timeout};
    matches!(error.code(), Busy | Cancelled | Damaged | Internal | NotDatabase | Replaced | Storage | Timeout)
}

/// Merges several result lists by rank; at the same rank, the order of the lists decides. If several registries have a
/// tool, the first registry wins, as when a tool is resolved by name.
fn merged(lists: Vec<(String, Vec<Hit>)>, limit: usize) -> Vec<(String, Hit)> {
    let longest = lists.iter().map(|(_, hits)| hits.len()).max().unwrap_or(0);
    let mut of_first: HashSet<&str> = HashSet::new();
    let shadowed: Vec<HashSet<&str>> = lists
        .iter()
        .map(|(_, hits)| {
            let names: HashSet<&str> = hits.iter().map(|hit| hit.name.as_str()).collect();
            let shadowed = names.intersection(&of_first).copied().collect();
            of_first.extend(names);
            shadowed
        })
        .collect();
    let places = (0..longest).flat_map(|place| lists.iter().zip(&shadowed).map(move |list| (place, list)));
    let hits = places.filter_map(|(place, ((registry, hits), shadowed))| {
        let hit = hits.get(place).filter(|hit| !shadowed.contains(hit.name.as_str()))?;
        Some((registry.clone(), hit.clone()))
    });
    hits.take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_merged_by_rank_and_the_first_registry_with_a_tool_wins() {
        let hits = |names: &[&str]| {
            let hit = |name: &&str| Hit {
                name: (*name).to_owned(),
                version: "1.0.0".to_owned(),
                description: String::new(),
                tags: Vec::new(),
            };
            names.iter().map(hit).collect::<Vec<Hit>>()
        };
        let lists = || {
            let (first, second) = (hits(&["a/1", "a/2", "a/3"]), hits(&["a/3", "b/1", "a/1"]));
            vec![("x".to_owned(), first), ("y".to_owned(), second)]
        };
        let names = |limit| -> Vec<String> {
            merged(lists(), limit).into_iter().map(|(registry, hit)| format!("{registry}:{}", hit.name)).collect()
        };
        assert_eq!(names(10), ["x:a/1", "x:a/2", "y:b/1", "x:a/3"]);
        assert_eq!(names(2), ["x:a/1", "x:a/2"]);
    }
}
