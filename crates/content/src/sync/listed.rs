//! Reads the manifest of a synced folder, and restores entries that it lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::base::entry_of;
use super::disk::is_file_below;
use crate::item::{Entry, Origin, manifest::Manifest, server, server::Server};
use crate::stored::{Item, Stored};
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::blobs;
use mcpkg_store::syncs::Base;

/// The hint for a malformed manifest.
pub(super) const HEAL: &str = "remove the file; `mcpkg sync` writes it again from the data of the last sync";

/// The contents of a synced folder's manifest.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Whether the manifest exists.
    pub(super) exists: bool,
    /// The listed items by path.
    pub(super) entries: BTreeMap<String, Entry>,
    /// The MCP servers in the manifest.
    pub(super) servers: Vec<Server>,
    /// The listed paths at which there is no file.
    pub(super) missing: Vec<String>,
    /// The files that the manifest listed at the last sync, and no longer lists.
    pub(super) lost: BTreeSet<String>,
    /// Whether lost entries must be written to the manifest again.
    pub(super) is_restored: bool,
}

impl Listed {
    pub(super) fn read(top: &Path, bases: &[Base], stored: &[Stored], context: &Context) -> Result<Self> {
        let manifest = Manifest::read(top, HEAL)?;
        let exists = manifest.is_some();
        let (entries, servers) = manifest.map(|manifest| (manifest.files, manifest.servers)).unwrap_or_default();
        servers.iter().try_for_each(server::check)?;
        let mut listed = Self { exists, entries, servers, ..Self::default() };
        listed.restore(top, bases, stored, context)?;
        Ok(listed)
    }

    /// Restores entries that the manifest lost, for example because somebody resolved a conflict in it by taking one side.
    /// Entries are restored if their files still exist. If the whole manifest is missing, its MCP servers are restored too.
    fn restore(&mut self, top: &Path, bases: &[Base], stored: &[Stored], context: &Context) -> Result<()> {
        let stored: HashMap<String, &Stored> = stored.iter().map(|stored| (stored.key(), stored)).collect();
        // Take the origin from the project, because the base does not contain the original path.
        let entry = |base: &Base| {
            let entry = entry_of(base)?;
            let origin = stored.get(&base.item).map(|stored| stored.entry.origin.clone()).unwrap_or_default();
            Some(Entry { origin: Origin { applies: entry.origin.applies.clone(), ..origin }, ..entry })
        };
        for base in bases {
            let Some(entry) = entry(base) else { continue };
            if server::is_path(&base.path) {
                let version = base.version.as_ref().filter(|_| !self.exists && base.proposal.is_none());
                let Some((_, blob)) = version else { continue };
                let content = context.store.read(|db| blobs::get(db, *blob))?;
                let enabled = stored
                    .get(&base.item)
                    .is_some_and(|stored| matches!(&stored.item, Item::Server(server) if server.enabled));
                self.servers.push(Server { enabled, ..server::read(&entry, &content.into())? });
                self.is_restored = true;
            } else if base.listed && !self.entries.contains_key(&base.path) && is_file_below(top, &base.path)? {
                self.lost.insert(base.path.clone());
                self.entries.insert(base.path.clone(), entry);
                self.is_restored = true;
            }
        }
        Ok(())
    }
}
