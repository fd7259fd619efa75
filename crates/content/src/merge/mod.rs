//! The three-way merge of content: of what two sides had the same, what they did with it there, and what was done here.
//!
//! [`merge`] takes one item and [`merge_all`] a set of them. Versions are compared by name, attributes and SHA-256;
//! content is loaded only where both sides changed it. No line of either side is lost: what does not merge is a
//! [`Outcome::Conflict`], after which what stands here stays, and what stands there is to be proposed
//! ([`crate::proposals`]).

mod attributes;
mod lines;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::import::manifest::Entry;
use mcpkg_base::error::Result;

/// One of the three versions of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What both sides had.
    Base,
    /// What stands there: upstream, or in the folder.
    Theirs,
    /// What stands here: in the project.
    Ours,
}

/// A version of an item, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version<'v> {
    /// Its name and attributes.
    pub entry: &'v Entry,
    /// The SHA-256 of its content.
    pub sha256: [u8; 32],
}

/// What the merge of an item comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both sides have the same, or neither has it any more.
    Unchanged,
    /// Only they changed it, or have it: their version is the result.
    Taken,
    /// Only we changed it, or have it: our version is the result.
    Kept,
    /// Both changed it, and the result holds both changes.
    Merged(Box<Merged>),
    /// Both changed it, and the changes exclude each other in these parts: ours stays, theirs is to be proposed.
    Conflict(Vec<&'static str>),
    /// They deleted what both had.
    DeletedThere {
        /// Whether we changed it.
        changed: bool,
    },
    /// We deleted what both had.
    DeletedHere {
        /// Whether they changed it.
        changed: bool,
    },
}

/// The result of two changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    pub entry: Entry,
    pub content: Content,
}

/// The content of a merged item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// That of one side.
    Of(Side),
    /// New content: lines of both sides.
    New(Vec<u8>),
}

/// Returns what the merge of an item comes to; `None` stands for a side that does not have it. `load` returns the content
/// of a side.
pub fn merge(
    base: Option<Version<'_>>,
    theirs: Option<Version<'_>>,
    ours: Option<Version<'_>>,
    load: impl FnMut(Side) -> Result<Vec<u8>>,
) -> Result<Outcome> {
    Ok(match (base, theirs, ours) {
        (_, None, None) => Outcome::Unchanged,
        (None, Some(_), None) => Outcome::Taken,
        (None, None, Some(_)) => Outcome::Kept,
        (Some(base), None, Some(ours)) => Outcome::DeletedThere { changed: ours != base },
        (Some(base), Some(theirs), None) => Outcome::DeletedHere { changed: theirs != base },
        (_, Some(theirs), Some(ours)) if theirs == ours => Outcome::Unchanged,
        (Some(base), Some(theirs), Some(_)) if theirs == base => Outcome::Kept,
        (Some(base), Some(_), Some(ours)) if ours == base => Outcome::Taken,
        (None, Some(theirs), Some(ours)) => Outcome::Conflict(differences(theirs, ours)),
        (Some(base), Some(theirs), Some(ours)) => both_changed(base, theirs, ours, load)?,
    })
}

/// Returns what the merge of each item comes to. `load` returns the content of a side's item.
pub fn merge_all<K: Ord + Clone>(
    base: &BTreeMap<K, Version<'_>>,
    theirs: &BTreeMap<K, Version<'_>>,
    ours: &BTreeMap<K, Version<'_>>,
    mut load: impl FnMut(Side, &K) -> Result<Vec<u8>>,
) -> Result<BTreeMap<K, Outcome>> {
    let keys: BTreeSet<&K> = base.keys().chain(theirs.keys()).chain(ours.keys()).collect();
    keys.into_iter()
        .map(|key| {
            let [base, theirs, ours] = [base, theirs, ours].map(|versions| versions.get(key).copied());
            Ok((key.clone(), merge(base, theirs, ours, |side| load(side, key))?))
        })
        .collect()
}

/// Returns the parts in which two versions differ that have no common one.
fn differences(theirs: Version<'_>, ours: Version<'_>) -> Vec<&'static str> {
    let mut parts = attributes::differences(theirs.entry, ours.entry);
    if theirs.sha256 != ours.sha256 {
        parts.push("content");
    }
    parts
}

fn both_changed(
    base: Version<'_>,
    theirs: Version<'_>,
    ours: Version<'_>,
    mut load: impl FnMut(Side) -> Result<Vec<u8>>,
) -> Result<Outcome> {
    let (entry, mut conflicts) = attributes::merge(base.entry, theirs.entry, ours.entry);
    let content = if theirs.sha256 == base.sha256 || theirs.sha256 == ours.sha256 {
        Some(Content::Of(Side::Ours))
    } else if ours.sha256 == base.sha256 {
        Some(Content::Of(Side::Theirs))
    } else {
        let (base, theirs, ours) = (load(Side::Base)?, load(Side::Theirs)?, load(Side::Ours)?);
        lines::merge(&base, &theirs, &ours).map(Content::New)
    };
    Ok(match content {
        Some(content) if conflicts.is_empty() => Outcome::Merged(Box::new(Merged { entry, content })),
        Some(_) => Outcome::Conflict(conflicts),
        None => {
            conflicts.push("content");
            Outcome::Conflict(conflicts)
        }
    })
}
