//! Tests import and export on real folders and databases.

mod accounts;
mod agent_files;
mod given;
mod given_random;
mod hostile;
mod large;
mod layouts;
mod open_plugins;
mod plugins;
mod round_trip;
mod trees;
mod whole_files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::export::Export;
use crate::import::merge::Action;
use crate::item::{What, manifest};
use mcpkg_base::error::Code;
use mcpkg_core::names;
use mcpkg_core::op::{Body, Context, Entry as Row, Operation, Reply};
use mcpkg_store::page::Page;
use mcpkg_store::projects::{self, Selection};
use mcpkg_store::{Store, blobs, events, prompts, resources, revisions};

struct World {
    folder: tempfile::TempDir,
    context: Context,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("db/mcpkg.db")).unwrap();
        let context = Context::shell(mcpkg_core::op::Domains::NONE, store, Selection::default());
        context.store.write(|db| projects::insert(db, context.clock.uuid(), "p", 1).map(drop)).unwrap();
        std::fs::create_dir(folder.path().join("p")).unwrap();
        Self { folder, context }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join("p").join(relative)
    }

    fn file(&self, relative: &str, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::create_dir_all(self.path(relative).parent().unwrap()).unwrap();
        std::fs::write(self.path(relative), bytes).unwrap();
        self
    }

    fn run<O: Operation>(&self, arguments: &[&str], paths: &[PathBuf]) -> Result<Reply> {
        let row = Row::of::<O>();
        let words = std::iter::once("mcpkg".into()).chain(arguments.iter().map(Into::into));
        let words: Vec<std::ffi::OsString> = words.chain(paths.iter().map(Into::into)).collect();
        let matches = row.augment(clap::Command::new("mcpkg")).get_matches_from(words);
        row.from_shell(&matches).unwrap().run(&self.context)
    }

    /// Imports with documents.
    fn import(&self, arguments: &[&str], relative: &[&str]) -> Result<Reply> {
        self.import_as(&[&["--documents"], arguments].concat(), relative)
    }

    fn import_as(&self, arguments: &[&str], relative: &[&str]) -> Result<Reply> {
        let paths: Vec<_> = relative.iter().map(|relative| self.path(relative)).collect();
        self.run::<Import>(arguments, &paths)
    }

    /// Returns everything in the project, by kind (true means prompt) and name.
    fn items(&self) -> BTreeMap<(bool, String), (What, Vec<u8>)> {
        let read = self.context.read(|db, project| {
            let mut items = BTreeMap::new();
            for prompt in prompts::list(db, project.id, &Page::all())?.rows {
                items.insert((true, prompt.name), (What::Prompt(prompt.attributes), blobs::get(db, prompt.blob)?));
            }
            for row in resources::list(db, project.id, &Page::all())?.rows {
                items.insert((false, row.name), (What::Resource(row.attributes), blobs::get(db, row.blob)?));
            }
            Ok(items)
        });
        read.unwrap()
    }

    fn uris(&self) -> Vec<String> {
        self.items().values().filter_map(|(what, _)| what.uri().map(str::to_owned)).collect()
    }

    fn prompt(&self, name: &str) -> (prompts::Attributes, String) {
        match self.items().remove(&(true, name.to_owned())) {
            Some((What::Prompt(attributes), bytes)) => (attributes, String::from_utf8(bytes).unwrap()),
            _ => panic!("no prompt {name} among {:?}", self.items().keys()),
        }
    }

    fn resource(&self, uri: &str) -> (resources::Attributes, Vec<u8>) {
        let found = self.items().into_values().find_map(|(what, bytes)| match what {
            What::Resource(attributes) if attributes.uri == uri => Some((attributes, bytes)),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no resource {uri} among {:?}", self.uris()))
    }

    fn trail(&self) -> Vec<String> {
        self.context
            .store
            .read(|db| events::after(db, 0, 1000))
            .unwrap()
            .into_iter()
            .map(|event| format!("{} {}", event.kind, event.outcome))
            .collect()
    }
}

fn sentence_of(reply: &Reply) -> &str {
    match &reply.body {
        Body::Sentence(text) => text,
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn set_executable(_: &Path) {}
