//! Tests what all registries have in common: digests never change, yanks are remembered, and registries are asked
//! in order.

mod folder;
mod search;
mod versions;

use serde_json::json;
use tempfile::TempDir;

use super::directory::Directory;
use super::local::Local;
use super::registry::Registry;
use super::search::{State, search};
use super::*;
use crate::backend::approval::Use;
use crate::package::{Name, Reference};
use mcpkg_base::approved::Approved;
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Result};
use mcpkg_base::sha256;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::Context;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use mcpkg_store::tools::attestations;
use mcpkg_store::tools::packages::{Visibility, Yank};
use mcpkg_store::tools::registries::{self, Kind, Place};
use semver::Version;

/// A database and this user's approvals, in a temporary folder.
pub struct Ground {
    folder: TempDir,
    pub context: Context,
}

impl Ground {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a.db")).unwrap();
        let mut context = Context::shell(mcpkg_core::op::Domains::NONE, store, Selection::default());
        context.approved = Approved::below(folder.path().join("approved"));
        context.clock = Clock::fixed(1_700_000_000_000);
        Self { folder, context }
    }

    /// Adds a registry and approves it.
    pub fn add(&self, name: &str, kind: Kind, location: &str, token: Option<&str>) -> Place {
        let place = self.stranger(name, kind, location, token);
        Use(&place).approve(&self.context).unwrap();
        place
    }

    /// Adds a registry without approving it, as if the database came from somebody else.
    fn stranger(&self, name: &str, kind: Kind, location: &str, token: Option<&str>) -> Place {
        self.context
            .store
            .write(|db| {
                let priority = registries::next_priority(db)?;
                let (name, location) = (name.to_owned(), location.to_owned());
                let place = Place { name, kind, location, token: token.map(str::to_owned), priority };
                registries::insert(db, &place, 0)?;
                Ok(place)
            })
            .unwrap()
    }

    /// Creates a folder registry called `name`, and adds it.
    fn directory(&self, name: &str) -> std::path::PathBuf {
        let path = self.folder.path().join(name);
        Directory::create(name, &path).unwrap();
        let path = path.canonicalize().unwrap();
        self.add(name, Kind::Directory, path.to_str().unwrap(), None);
        path
    }

    fn local(&self) -> Local<'_> {
        Local::new(&self.context)
    }

    /// Returns the stored attestations of a version.
    pub(super) fn claims(&self, resolved: &Resolved) -> Vec<String> {
        let claims = self.context.store.read(|db| attestations::of(db, &resolved.version.sha256)).unwrap();
        claims.into_iter().map(|claim| claim.bundle).collect()
    }

    fn open(&self, name: &str) -> Box<dyn Registry + '_> {
        Known::named(&self.context, name).unwrap().open(&self.context).unwrap()
    }

    fn publish(&self, registry: &str, tool: &str, bytes: &[u8]) -> Result<bool> {
        self.publish_with(registry, tool, bytes, Visibility::Public, &["t"])
    }

    fn publish_with(
        &self,
        registry: &str,
        tool: &str,
        bytes: &[u8],
        visibility: Visibility,
        tags: &[&str],
    ) -> Result<bool> {
        let (name, version) = tool.rsplit_once('@').unwrap();
        let (name, version) = (Name::parse(name).unwrap(), Version::parse(version).unwrap());
        let manifest = json!({ "name": name, "description": format!("Does {name} things"), "tags": tags });
        self.open(registry).publish(&Publication {
            name: &name,
            version: &version,
            archive: &bytes.to_vec().into(),
            sha256: &sha256::of(bytes),
            manifest: &manifest,
            raw_manifest: "",
            visibility,
            attestations: &["{\"a\":1}".to_owned()],
        })
    }

    fn yank(&self, registry: &str, tool: &str, yank: bool) {
        let (name, version) = tool.rsplit_once('@').unwrap();
        let reason = Yank { at: 5_000, reason: Some("broken".to_owned()), replacement: Some("9.0.0".to_owned()) };
        let (name, version) = (Name::parse(name).unwrap(), Version::parse(version).unwrap());
        self.open(registry).yank(&name, &version, yank.then_some(&reason)).unwrap();
    }

    pub fn resolve(&self, reference: &str) -> Result<Resolved> {
        resolve(&self.context, &Reference::parse(reference).unwrap(), Choice::default())
    }

    pub fn resolved(&self, reference: &str) -> Result<String, Code> {
        let found = self.resolve(reference).map_err(|error| error.code())?;
        Ok(format!("{}:{}", found.registry, found.version.version))
    }

    fn found(&self, text: &str, tags: &[&str], limit: u32) -> (Vec<String>, u64) {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let query = Query { text: text.to_owned(), tags, limit, offline: false, refresh: false };
        let found = search(&self.context, &query, None).unwrap();
        (
            found.hits.into_iter().map(|(registry, hit)| format!("{registry}:{}@{}", hit.name, hit.version)).collect(),
            found.total,
        )
    }
}
