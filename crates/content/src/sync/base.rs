//! Bases: the items as the last sync recorded them.

use crate::item::{Entry, Origin, What};
use mcpkg_store::syncs::{Base, Known};

/// Returns the entry whose name and URI a synced file keeps. If there is an open proposal about the file, this is the
/// proposal's entry: the file may have been moved after the base was recorded, and then the base's name is out of date.
/// Otherwise it is the base's entry.
pub(super) fn identity(base: &Base, before: &Known) -> Option<Entry> {
    let proposed = before.proposed.get(&base.path).and_then(|entry| serde_json::from_str(entry).ok());
    proposed.or_else(|| entry_of(base))
}

/// Gives an entry the name and URI of its base.
pub(super) fn keep_identity(entry: &mut Entry, base: Entry) {
    match (&mut entry.what, base.what) {
        (What::Prompt(_), What::Prompt(_)) => entry.name = base.name,
        (What::Resource(attributes), What::Resource(before)) => {
            entry.name = base.name;
            attributes.uri = before.uri;
        }
        _ => {}
    }
}

/// Parses the name and attributes of a base. A malformed row is treated as if there were no base.
pub(super) fn entry_of(base: &Base) -> Option<Entry> {
    serde_json::from_str(&base.version.as_ref()?.0).ok()
}

/// Returns an entry without its original path and agent, which differ between the databases of different users.
pub(super) fn plain(entry: &Entry) -> Entry {
    let origin = Origin { applies: entry.origin.applies.clone(), agent: None, path: None };
    Entry { origin, ..entry.clone() }
}
