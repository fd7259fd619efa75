//! Ensures that names and URIs stay unique: skips an item that would take the name or URI of another one.

use std::collections::HashMap;

use super::contents::{Contents, There};
use super::step::{Act, Step};
use crate::item::Entry;
use crate::stored::Stored;

/// The names and URIs in the project, each with the key of its item.
pub(super) struct Names {
    names: HashMap<(&'static str, String), String>,
    uris: HashMap<String, String>,
}

impl Names {
    pub(super) fn of(stored: &[Stored]) -> Self {
        let mut names = Self { names: HashMap::new(), uris: HashMap::new() };
        for stored in stored {
            names.add(&stored.entry, &stored.key());
        }
        names
    }

    fn add(&mut self, entry: &Entry, key: &str) {
        self.names.insert((entry.what.word(), entry.name.clone()), key.to_owned());
        if let Some(uri) = entry.what.uri() {
            self.uris.insert(uri.to_owned(), key.to_owned());
        }
    }

    /// Returns the reason why the project cannot store the result of a step. Without such a reason, reserves the item's name
    /// and URI.
    pub(super) fn refuse(&mut self, step: &Step, there: Option<&There>) -> Option<String> {
        let entry = match (&step.act, there) {
            (Act::Take, Some(there)) => &there.entry,
            (Act::Merge(entry, _), _) => entry,
            _ => return None,
        };
        // A new item has no key yet, so use its path instead.
        let key = step.ours.as_ref().map_or_else(|| step.path.clone(), Stored::key);
        let is_others = |known: Option<&String>| known.is_some_and(|known| *known != key);
        if is_others(self.names.get(&(entry.what.word(), entry.name.clone()))) {
            return Some(format!(
                "has the name '{}', which is already used by another {} in the project",
                entry.name,
                entry.what.word()
            ));
        }
        if let Some(uri) = entry.what.uri().filter(|uri| is_others(self.uris.get(*uri))) {
            return Some(format!("has the URI '{uri}', which is already used by another resource in the project"));
        }
        self.add(entry, &key);
        None
    }
}

/// Skips an item if another file in the folder has the same name or URI and is itself skipped, or waits for a person's
/// decision.
pub(super) fn hold_back(steps: &mut [Step], contents: &Contents) {
    let is_open = |act: &Act| matches!(act, Act::ProposeChange(_) | Act::ProposeDeleteFile | Act::Wait | Act::Skip(_));
    let mut taken: HashMap<String, String> = HashMap::new();
    let names = |entry: &Entry| {
        let name = format!("{} '{}'", entry.what.word(), entry.name);
        [Some(name), entry.what.uri().map(str::to_owned)].into_iter().flatten()
    };
    for step in steps.iter().filter(|step| is_open(&step.act)) {
        if let Some(there) = contents.items.get(&step.path) {
            taken.extend(names(&there.entry).map(|name| (name, step.path.clone())));
        }
    }
    for step in steps.iter_mut() {
        let (Act::Give(entry, _) | Act::Merge(entry, _)) = &step.act else { continue };
        let of_another = names(entry).find_map(|name| taken.get(&name).filter(|path| **path != step.path));
        if let Some(path) = of_another {
            step.act = Act::Skip(format!("has the same name as `{path}`, which is waiting for your decision"));
        }
    }
}
