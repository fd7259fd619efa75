//! Adds a remark on every item that an import of the plugin would not restore, unless there is such a remark already.
//! Imported manifests and lists of servers get no remark, because an export generates its own.

use std::collections::{BTreeMap, HashMap};

use super::making::{Making, PluginFile, word};
use super::name::named;
use crate::export::back;
use crate::item::{Entry, File, Item, What, server::Server};
use mcpkg_base::error::Result;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::prompts::Attributes;

pub(super) fn add_remarks(making: &mut Making, items: &[(Entry, NewContent)], servers: &[Server]) -> Result<()> {
    let file = |file: &PluginFile| {
        let content = NewContent::from(file.bytes.clone());
        File { relative: file.path.clone(), content, executable: file.executable, listed: None }
    };
    let files: Vec<File> = making.files.iter().map(file).collect();
    let placed = back::imported(files.iter())?;
    let found: BTreeMap<&str, &Item> = placed.items.iter().map(|item| (item.path.as_str(), item)).collect();
    let mut lost: Vec<(&'static str, String)> = Vec::new();
    let paths: HashMap<usize, &str> =
        making.expected.iter().map(|expected| (expected.at, expected.path.as_str())).collect();
    for (at, item) in items.iter().enumerate() {
        let of = named(&item.0);
        let is_made = matches!(item.0.what, What::AgentFile { holds: Kind::Plugin | Kind::Servers, .. });
        let is_back = || found.get(paths.get(&at)?).map(|read| is_same(read, item));
        if !is_made && is_back() != Some(true) && !lost.contains(&of) {
            lost.push(of);
        }
    }
    for server in servers {
        let is_back = placed.servers.iter().any(|found| {
            let read = &found.server;
            read.name == server.name && read.definition == server.definition
        });
        if !is_back {
            lost.push((word::SERVER, server.name.clone()));
        }
    }
    for (word, name) in lost {
        if !making.remarks.iter().any(|remark| remark.covers(word, &name)) {
            making.changed(&[], word, &name, "an import of the plugin does not bring it back as it is here");
        }
    }
    Ok(())
}

/// Returns whether an imported item equals the exported one, apart from the place that it came from.
fn is_same(read: &Item, (entry, content): &(Entry, NewContent)) -> bool {
    let without_file = |what: &What| match what {
        What::Prompt(attributes) => What::Prompt(Attributes { file: None, ..attributes.clone() }),
        what => what.clone(),
    };
    read.entry.name == entry.name
        && without_file(&read.entry.what) == without_file(&entry.what)
        && read.content == *content
}
