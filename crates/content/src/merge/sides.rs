//! The versions of an item on both sides of a merge, and access to their contents.

use super::{Content, Outcome, Side, Version, merge};
use crate::item::Entry;
use crate::stored::{self, Stored};
use mcpkg_base::error::{Error, Result};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::{Db, blobs};

/// The versions of an item. `None` means that a side does not have the item.
#[derive(Clone, Copy)]
pub struct Sides<'s> {
    pub db: &'s Db<'s>,
    /// The base version, and the key of its content.
    pub base: Option<(&'s Entry, i64)>,
    pub theirs: Option<(&'s Entry, &'s NewContent)>,
    /// The entry to compare, and the project's item that it belongs to.
    pub ours: Option<(&'s Entry, &'s Stored)>,
}

impl Sides<'_> {
    pub fn merge(self) -> Result<Outcome> {
        let base = self.base.map(|(entry, blob)| Ok::<_, Error>((entry, blobs::sha256(self.db, blob)?))).transpose()?;
        let theirs = self.theirs.map(|(entry, content)| (entry, content.sha256()));
        let ours =
            self.ours.map(|(entry, ours)| Ok::<_, Error>((entry, stored::sha256(self.db, ours)?))).transpose()?;
        let [base, theirs, ours] =
            [base, theirs, ours].map(|side| side.map(|(entry, sha256)| Version { entry, sha256 }));
        merge(base, theirs, ours, |side| self.load(side))
    }

    fn load(self, side: Side) -> Result<Vec<u8>> {
        match (side, self.base, self.theirs, self.ours) {
            (Side::Base, Some((_, blob)), ..) => blobs::get(self.db, blob),
            (Side::Theirs, _, Some((_, content)), _) => Ok(content.bytes()?.into_owned()),
            (Side::Ours, .., Some((_, ours))) => ours.content(self.db),
            _ => Err(Error::internal("one side of a merge has no content")),
        }
    }

    /// Returns the content of a merged item.
    pub fn content(self, merged: &Content) -> Result<NewContent> {
        match (merged, self.theirs) {
            (Content::New(bytes), _) => Ok(bytes.clone().into()),
            (Content::Of(Side::Theirs), Some((_, content))) => Ok(content.clone()),
            (Content::Of(side), _) => Ok(self.load(*side)?.into()),
        }
    }
}
