//! Syncs the MCP servers of a folder. They are in agents' files or, if those cannot express everything, in the manifest.
//!
//! A server is an item with the path `mcp_server:NAME`, where `NAME` is the name that it had at its first sync. Servers
//! are written to the folder as in an export: entries in agents' files are edited, and everything else goes to the
//! manifest.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::base::entry_of;
use super::contents::{Contents, There};
use super::step::{Act, Step};
use crate::export::servers::with_current;
use crate::import;
use crate::import::paths::Places;
use crate::import::place::servers::ServerInFile;
use crate::item::{Entry, File, What, manifest, server, server::Server};
use crate::stored::{Item, Stored, stays_on};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::agent_files::Kind;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::projects::Project;
use mcpkg_store::syncs::Base;
use mcpkg_store::{Db, servers};

/// The keys of the project's servers ([`Stored::key`]), by name.
pub(super) type Keys = HashMap<String, String>;

pub(super) fn keys(db: &Db<'_>, project: &Project) -> Result<Keys> {
    let all = servers::all(db, project.id)?.into_iter();
    Ok(all.map(|server| (server.name.clone(), format!("{}:{}", What::Server.word(), server.uuid))).collect())
}

/// Adds the servers that were found in a folder to its items. A server that was synced before keeps its path, even if
/// it was renamed in the project and already has the new name in the folder. Fails if a file lists a server twice.
pub(super) fn take(contents: &mut Contents, found: Vec<ServerInFile>, bases: &[Base], ours: &Keys) -> Result<()> {
    let bases: Vec<&Base> = bases.iter().filter(|base| server::is_path(&base.path)).collect();
    let named = |base: &Base| entry_of(base).map(|entry| entry.name).or(server::name(&base.path).map(str::to_owned));
    let by_name: HashMap<String, &str> =
        bases.iter().filter_map(|base| Some((named(base)?, base.path.as_str()))).collect();
    let by_key: HashMap<&str, &str> = bases.iter().map(|base| (base.item.as_str(), base.path.as_str())).collect();
    let names: HashSet<&str> = found.iter().map(|found| found.server.name.as_str()).collect();
    let stays: HashSet<&str> = names.iter().filter_map(|name| by_name.get(*name).copied()).collect();
    for found in &found {
        let name = found.server.name.as_str();
        let renamed = || ours.get(name).and_then(|key| by_key.get(key.as_str())).filter(|path| !stays.contains(*path));
        let known = by_name.get(name).or_else(renamed).map(|path| (*path).to_owned());
        let is_taken = |path: &str| contents.servers.contains_key(path) || bases.iter().any(|base| base.path == path);
        let path = known.unwrap_or_else(|| server::free_path(name, is_taken));
        let (entry, content) = server::of(&found.server)?;
        let there = There { entry, file: content.clone(), content, executable: false, listed: false };
        contents.items.insert(path.clone(), there);
        if contents.servers.insert(path, found.clone()).is_some() {
            let message = format!("`{}` lists the MCP server '{name}' twice", found.file);
            return Err(Error::new(Code::InvalidArgument, message).hint("remove one of the two"));
        }
    }
    Ok(())
}

/// Returns the reason to skip a server that is missing in the folder, if the file that it came from cannot be read.
pub(super) fn unread(there: Option<&There>, ours: Option<&Stored>, contents: &Contents) -> Option<String> {
    let ours = ours.filter(|ours| there.is_none() && ours.entry.what == What::Server)?;
    let file = ours.entry.origin.path.as_ref()?;
    let is_unread = contents.skipped.contains_key(file) || contents.disk.others.contains(file);
    is_unread.then(|| format!("came from `{file}`, which cannot be read"))
}

/// If the project does not know the original path of a server, takes it from the folder.
pub(super) fn set_paths(steps: &mut [Step], contents: &Contents) -> Result<()> {
    for step in steps.iter_mut() {
        let (Act::Give(entry, content) | Act::Merge(entry, content)) = &mut step.act else { continue };
        let Some(ServerInFile { server: there, .. }) = contents.servers.get(&step.path) else { continue };
        if entry.origin.path.is_some() || there.origin.path.is_none() {
            continue;
        }
        let mut server = server::read(entry, content)?;
        let own = there.entry().to_owned();
        server.origin.clone_from(&there.origin);
        server.origin.entry = (own != server.name).then_some(own);
        (*entry, *content) = server::of(&server)?;
    }
    Ok(())
}

/// Returns the servers that the folder should have, by path. The folder's `enabled` flags stay unchanged, because each
/// user decides which servers to enable.
pub(super) fn wanted(steps: &[Step], contents: &Contents) -> Result<BTreeMap<String, Server>> {
    let mut wanted = BTreeMap::new();
    for step in steps.iter().filter(|step| server::is_path(&step.path)) {
        let there = contents.servers.get(&step.path).map(|found| &found.server);
        let server = match &step.act {
            Act::Give(entry, content) | Act::Merge(entry, content) => {
                let ours = step.ours.as_ref().is_some_and(is_enabled);
                let enabled = there.map_or(ours, |there| there.enabled);
                Some(Server { enabled, ..server::read(entry, content)? })
            }
            Act::DeleteFile => None,
            _ => there.cloned(),
        };
        wanted.extend(server.map(|server| (step.path.clone(), server)));
    }
    Ok(wanted)
}

/// Returns whether a server is enabled in the project.
pub(super) fn is_enabled(stored: &Stored) -> bool {
    matches!(&stored.item, Item::Server(server) if server.enabled)
}

/// Returns the names of servers that a sync disables because it adds or changes them.
pub(super) fn switched_off(steps: &[Step], contents: &Contents) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for step in steps.iter().filter(|step| server::is_path(&step.path)) {
        let server = match (&step.act, contents.items.get(&step.path)) {
            (Act::Take, Some(there)) => server::read(&there.entry, &there.content)?,
            (Act::Merge(entry, content), _) => server::read(entry, content)?,
            _ => continue,
        };
        let is_off = match step.ours.as_ref().map(|ours| &ours.item) {
            Some(Item::Server(before)) => before.enabled && !stays_on(before, &server.definition),
            _ => true,
        };
        names.extend(is_off.then_some(server.name));
    }
    Ok(names)
}

/// Returns the agents' files whose content must differ from that in their steps, because one of their servers changed.
pub(super) fn agent_files(
    steps: &[Step],
    contents: &Contents,
    wanted: &BTreeMap<String, Server>,
) -> Result<BTreeMap<String, (Entry, NewContent)>> {
    let servers: Vec<Server> = wanted.values().cloned().collect();
    let mut changed = BTreeMap::new();
    for step in steps {
        let there = contents.items.get(&step.path).filter(|there| !there.has_more());
        let (entry, content) = match (&step.act, there) {
            (Act::Give(entry, content) | Act::Merge(entry, content), _) => (entry, content),
            (Act::Same | Act::Take, Some(there)) => (&there.entry, &there.content),
            _ => continue,
        };
        if !holds_servers(entry) {
            continue;
        }
        let after = with_current(entry, content.clone(), &servers)?;
        if after != *content {
            changed.insert(step.path.clone(), (entry.clone(), after));
        }
    }
    Ok(changed)
}

fn holds_servers(entry: &Entry) -> bool {
    matches!(entry.what, What::AgentFile { holds: Kind::Servers | Kind::Plugin, .. })
}

/// Returns the steps of servers that would not have the intended result, with the reasons. For example, if an agent's
/// file is not written, its old entries take precedence over the manifest. `files` contains all files that the folder
/// should have, and `listed` the servers in its manifest.
pub(super) fn failures(
    steps: &[Step],
    contents: &Contents,
    wanted: &BTreeMap<String, Server>,
    files: &[File],
    listed: &[Server],
) -> Result<Vec<(usize, String)>> {
    let acts = |step: &Step| {
        server::is_path(&step.path) && matches!(step.act, Act::Give(..) | Act::Merge(..) | Act::DeleteFile)
    };
    if !steps.iter().any(acts) {
        return Ok(Vec::new());
    }
    let back = read(files, listed)?;
    let is_known = |name: &str| wanted.values().any(|server| server.name == name);
    let mut failures = Vec::new();
    for (at, step) in steps.iter().enumerate().filter(|(_, step)| acts(step)) {
        let server = wanted.get(&step.path);
        let Some(named) = server.or(contents.servers.get(&step.path).map(|found| &found.server)) else { continue };
        let found = back.iter().find(|found| found.server.name == named.name);
        // A file that is not written contains an entry for this server under another name.
        let stray = back.iter().find(|found| !is_known(&found.server.name) && found.server.entry() == named.entry());
        let is_written = match (found, server) {
            (Some(found), Some(server)) => {
                found.server.definition == server.definition && found.server.origin.entry == server.origin.entry
            }
            (found, server) => found.is_none() && server.is_none(),
        };
        if !is_written || stray.is_some() {
            let file = stray.or(found).map_or(manifest::FILE, |found| found.file.as_str());
            let waits = |step: &Step| {
                step.path == file && matches!(step.act, Act::ProposeChange(_) | Act::ProposeDeleteFile | Act::Wait)
            };
            let why = if steps.iter().any(waits) { WAITS } else { NOT_WRITTEN };
            failures.push((at, format!("is in `{file}`, {why}")));
        }
    }
    Ok(failures)
}

/// The reason to skip a server while its file waits for a person's decision.
const WAITS: &str = "which is waiting for your decision";

/// The reason to skip a server whose file contains values.
const NOT_WRITTEN: &str = "which mcpkg does not write because values would be lost; replace the file's values with \
    variables, or edit the file by hand";

/// Returns the servers that an import would find in these files, and in a manifest that lists `listed`.
fn read(files: &[File], listed: &[Server]) -> Result<Vec<ServerInFile>> {
    let places = Places::of_files(&files.iter().collect::<Vec<_>>());
    let mut holding: Vec<_> = files
        .iter()
        .filter_map(|file| Some((file, places.of(&file.relative).ok().filter(|place| place.may_hold_servers())?)))
        .collect();
    holding.sort_by(|(a, _), (b, _)| a.relative.cmp(&b.relative));
    Ok(import::items(holding.iter().map(|(file, to)| (*file, Some(to))), listed.to_vec())?.servers)
}
