//! Merges an item in three ways: their version and ours are compared with the last common version, the base.
//!
//! Versions are compared by name, attributes and SHA-256. Content is loaded only if both sides changed it. No line of either
//! side is lost: if the changes do not merge, the result is [`Outcome::Conflict`]. Then our version stays, and the caller
//! proposes theirs ([`crate::proposals`]).

pub mod sides;

mod attributes;

#[cfg(test)]
mod tests;

use crate::item::Entry;
use mcpkg_base::error::Result;
use mcpkg_base::merge;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The last common version.
    Base,
    /// The version in the source or in the synced folder.
    Theirs,
    /// The version in the project.
    Ours,
}

/// A version of an item, without the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version<'v> {
    pub entry: &'v Entry,
    pub sha256: [u8; 32],
}

/// The outcome of merging an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both versions are equal, or both sides deleted the item.
    Unchanged,
    /// Only their side changed or added the item, so the result is their version.
    Taken,
    /// Only our side changed or added the item, so the result is our version.
    Kept,
    /// Both sides changed the item, and the result contains both changes.
    Merged(Box<Merged>),
    /// Both sides changed the item, and these parts conflict. Our version stays, and the caller should propose theirs.
    Conflict(Vec<&'static str>),
    /// Their side deleted the item.
    DeletedThere {
        /// Whether our side has changed the item since the base.
        changed: bool,
    },
    /// Our side deleted the item.
    DeletedHere {
        /// Whether their side has changed the item since the base.
        changed: bool,
    },
}

/// An item that contains the changes of both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    pub entry: Entry,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The unchanged content of one side.
    Of(Side),
    /// New content, with lines of both sides.
    New(Vec<u8>),
}

/// Merges one item. `None` means that a side does not have the item. `load` returns the content of a side.
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

/// Returns the names of the parts in which two versions without a common base differ.
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
        merge::merge(&base, &theirs, &ours).map(Content::New)
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
