//! Reads the files of a source, at a commit or in a folder, with the rules of import.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::address::Address;
use super::git_output::lost;
use super::listing::Listed;
use super::mirror::{Mirror, Wanted};
use super::tree::{Entry, Mode};
use super::{lay_out, naming};
use crate::audited;
use crate::import::account::Account;
use crate::import::find::only::Parts;
use crate::import::paths::Kind as As;
use crate::import::plugins::marketplace::Marketplace;
use crate::import::reason::Reason;
use crate::import::recognise::{self, Choice};
use crate::import::{self, find, place, plugins};
use crate::item::{File, Item, manifest, server};
use mcpkg_agents::audit::Report;
use mcpkg_base::disk::fetching::Fetching;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::sources::{self, Kind, Origin, Takes};

/// A file of a source, and the item that it becomes in the project. An MCP server that is defined in a file is a
/// `SourceFile` of its own.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path in the source, with `/` separators.
    pub path: String,
    /// The item, with its name in the project.
    pub item: Item,
    /// The SHA-256 of the file's bytes.
    pub sha256: [u8; 32],
    pub executable: bool,
    /// Whether there are identical files, or the file was reached through a link. Always set for an MCP server.
    pub shared: bool,
}

/// The contents of a source. The files of a commit are in a temporary folder, which is deleted when this value is
/// dropped.
#[derive(Debug, Default)]
pub struct Contents {
    /// The commit; `None` for a folder.
    pub commit: Option<String>,
    /// The files that become items, by path.
    pub items: Vec<SourceFile>,
    /// What happened to the files that did not become items.
    pub account: Account,
    /// The paths of licence files at the top of the source.
    pub licences: Vec<String>,
    /// The plugins that the source lists.
    pub marketplace: Option<Marketplace>,
    /// The findings of an audit of the files.
    pub audit: Report,
    scratch: Option<Laid>,
}

/// The temporary folder with a commit's files.
struct Laid {
    _folder: Fetching,
}

impl std::fmt::Debug for Laid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Laid")
    }
}

impl Contents {
    /// Returns the names of the source's plugins; `None` if it has no marketplace.
    pub fn plugins(&self) -> Option<Vec<String>> {
        self.marketplace.as_ref().map(|all| all.plugins.iter().map(|plugin| plugin.name.clone()).collect())
    }

    /// Returns the SHA-256 of all files; see [`Digest`].
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::default();
        self.items.iter().for_each(|taken| digest.add(&taken.path, taken.executable, &taken.sha256));
        digest.finish()
    }
}

/// Computes the SHA-256 over all files of a source: the mode, SHA-256 and path of each file, in a format like that of
/// `git ls-tree -z`.
#[derive(Default)]
pub struct Digest(sha256::Hasher);

impl Digest {
    /// Adds a file. Files must be added in the order of their paths.
    pub fn add(&mut self, path: &str, executable: bool, sha256: &[u8; 32]) {
        self.0.update(format!("{} {}\t{path}\0", mode(executable), hex::encode(sha256)));
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finish()
    }
}

pub const fn mode(executable: bool) -> &'static str {
    if executable { "100755" } else { "100644" }
}

/// Reads a new source. If it is a repository, fetches it first.
pub fn first(address: &Address, name: &str, choice: sources::Choice, context: &Context) -> Result<(Origin, Contents)> {
    let Address { kind, url, path, .. } = address.clone();
    let mut origin =
        Origin { name: name.to_owned(), kind, url, reference: None, path, choice, commit: None, digest: [0; 32] };
    let contents = match kind {
        Kind::Folder => of_folder(&origin, context)?,
        Kind::Git => {
            let mirror = Mirror::open(&origin.url, context)?;
            let Wanted { reference, commit } = mirror.resolve(address.reference.as_deref())?;
            let commit = match (&reference, commit) {
                (_, Some(commit)) => mirror.fetch_commit(&commit).map(|()| commit)?,
                (Some(reference), None) => mirror.fetch(reference)?,
                (None, None) => return Err(Error::internal("a source without a branch, a tag or a commit")),
            };
            origin.reference = reference;
            at(&mirror, &origin, &commit, context)?
        }
    };
    Marketplace::check(contents.marketplace.as_ref(), &origin.choice.plugins)?;
    origin.commit.clone_from(&contents.commit);
    origin.digest = contents.digest();
    Ok((origin, contents))
}

pub fn of_folder(origin: &Origin, context: &Context) -> Result<Contents> {
    let folder = PathBuf::from(&origin.url);
    let contents = scan(&folder, &folder, origin, false, context)?;
    let licences = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let licences = licences.map(|name| name.to_string_lossy().into_owned()).filter(|name| is_licence(name));
    let licences = licences.collect::<BTreeSet<_>>().into_iter().collect();
    Ok(Contents { licences, ..contents })
}

/// Reads the files of a commit that is already in the mirror.
pub fn at(mirror: &Mirror<'_>, origin: &Origin, commit: &str, context: &Context) -> Result<Contents> {
    let entries = mirror.tree(commit, &origin.path)?;
    let scratch = mirror.scratch()?;
    let real =
        mcpkg_base::platform::real(scratch.path()).map_err(|error| Error::file("read", scratch.path(), error))?;
    // If the whole repository is one skill, the skill is named after its folder. So name the folder after the source.
    let top = real.join(&origin.name);
    let named = if origin.path.is_empty() { top.clone() } else { top.join(&origin.path) };
    std::fs::create_dir_all(&named).map_err(|error| Error::file("write", &named, error))?;
    let not_laid = lay_out::lay_out(&entries, mirror, &top, context)?;
    let mut contents = scan(&named, &top, origin, true, context)?;
    let files: HashSet<&str> =
        entries.iter().filter(|entry| entry.mode.is_file()).map(|entry| entry.path.as_str()).collect();
    for taken in &mut contents.items {
        taken.shared |= !files.contains(taken.path.as_str());
    }
    contents.account.left_out.extend(not_laid);
    contents.account.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    contents.licences = licences(&entries, &origin.path);
    contents.commit = Some(commit.to_owned());
    contents.scratch = Some(Laid { _folder: scratch });
    Ok(contents)
}

/// Reads only the changed files of a commit. Returns `None` if the changed files cannot be read without the others: if
/// one of them is large or may contain MCP servers, if one does not become an item, or if the source has a file that
/// decides what other files become, such as a manifest. The caller must ensure that no changed file is a copy of
/// another file or was reached through a link.
pub fn some(
    mirror: &Mirror<'_>,
    origin: &Origin,
    commit: &str,
    (changed, all): (&[Entry], &[Listed]),
) -> Result<Option<Contents>> {
    let mut contents = vec![Vec::new(); changed.len()];
    let mut is_small = true;
    mirror.read(changed.iter().map(|entry| entry.object.as_str()), |at, content| {
        content.take(SMALL + 1).read_to_end(&mut contents[at]).map_err(lost)?;
        is_small &= contents[at].len() as u64 <= SMALL;
        Ok(())
    })?;
    let below = |path: &'_ str| path.strip_prefix(&origin.path).unwrap_or(path).trim_start_matches('/').to_owned();
    let paths: Vec<String> = all.iter().map(|entry| below(&entry.path)).collect();
    let decides = |path: &String| path == manifest::FILE || plugins::place::decides(path);
    if !is_small || paths.iter().any(decides) {
        return Ok(None);
    }
    let named = Path::new("/").join(&origin.name).join(&origin.path);
    let listing = recognise::Listing::new(&named, paths.iter().map(String::as_str), kind_of(origin)?);
    let mut files = Vec::new();
    for (entry, content) in changed.iter().zip(contents) {
        let executable = entry.mode == Mode::Executable;
        let Some((file, place)) = listing.file(&below(&entry.path), content.into(), executable) else {
            return Ok(None);
        };
        files.push((file, place, entry.path.clone()));
    }
    // The names of a file's MCP servers depend on servers in other files. Also, an earlier version of the file may have
    // contained servers that were removed since.
    if files.iter().any(|(_, place, _)| place.may_hold_servers()) {
        return Ok(None);
    }
    files.sort_by(|(a, ..), (b, ..)| a.relative.cmp(&b.relative));
    let mut audit = Report::default();
    for (file, _, path) in &files {
        audited::add(&mut audit, path, &file.content)?;
    }
    let placed = import::items(files.iter().map(|(file, to, _)| (file, Some(to))), Vec::new())?;
    let by_path: HashMap<&str, (&File, &str)> =
        files.iter().map(|(file, _, path)| (file.relative.as_str(), (file, path.as_str()))).collect();
    let mut items = BTreeMap::new();
    for mut item in placed.items {
        let Some((file, path)) = by_path.get(item.path.as_str()) else { return Ok(None) };
        naming::set_name(&mut item, origin.choice.prefix.as_deref(), &origin.name, false);
        let (sha256, executable, path) = (file.content.sha256(), file.executable, (*path).to_owned());
        items.insert(path.clone(), SourceFile { path, item, sha256, executable, shared: false });
    }
    // A file that did not become an item may be a duplicate of a file that was not read.
    if items.len() < changed.len() {
        return Ok(None);
    }
    let account = Account { notes: placed.account.notes, ..Account::default() };
    let items = items.into_values().collect();
    Ok(Some(Contents { commit: Some(commit.to_owned()), items, account, audit, ..Contents::default() }))
}

/// The maximum size, in bytes, of a changed file that is read without the unchanged files.
const SMALL: u64 = 16 << 20;

/// Returns the kind of item that the user chose for all files of a source, if any (`--as`).
fn kind_of(origin: &Origin) -> Result<Option<As>> {
    let kind = origin.choice.kind.as_deref().map(|kind| As::from_str(kind, true)).transpose();
    kind.map_err(|why| Error::new(Code::InvalidArgument, format!("The source '{}': {why}", origin.name)))
}

/// Reads the files at and below `named`. Their paths are relative to `top`.
fn scan(named: &Path, top: &Path, origin: &Origin, committed: bool, context: &Context) -> Result<Contents> {
    let sources::Choice { only, prefix, plugins: chosen, takes, .. } = &origin.choice;
    let marketplace = Marketplace::read(named);
    let mut parts = marketplace.as_ref().filter(|_| !chosen.is_empty()).map(|all| Parts(all.parts(chosen)));
    if !chosen.is_empty() && !marketplace.iter().flat_map(Marketplace::own).any(|name| chosen.iter().any(|c| c == name))
    {
        Marketplace::check(marketplace.as_ref(), chosen)?;
    }
    let found = find::find(&[named.to_owned()], committed, context)?;
    if let Some(parts) = &mut parts {
        parts.follow(&found, named);
    }
    let choice = Choice {
        only,
        kind: kind_of(origin)?,
        all: committed,
        documents: *takes != Takes::Agents,
        is_foreign: *takes != Takes::All && origin.path.is_empty(),
        parts: parts.as_ref(),
        resources: 0,
    };
    let found = recognise::recognise(found, &choice, context)?;
    // Fail here: otherwise it would look as if the source had deleted the unreadable file.
    if let Some(left) = found.account.left_out.iter().find(|left| left.reason == Reason::Unreadable) {
        return Err(Error::file("read", &top.join(&left.path), ErrorKind::PermissionDenied.into()));
    }
    let files: HashMap<&str, &File> = found.files.iter().map(|(file, _)| (file.relative.as_str(), file)).collect();
    found.servers.iter().try_for_each(server::check)?;
    let placed = import::items(found.files.iter().map(|(file, to)| (file, to.as_ref())), found.servers)?;
    if !placed.clashes.is_empty() {
        return Err(place::clashing(&placed.clashes));
    }
    let mut account = found.account;
    account.extend(placed.account);
    let originals: HashSet<&str> = account.same.iter().map(|same| same.of.as_str()).collect();
    let path_of = |relative: &str| match found.on_disk.get(relative).map(|path| path.strip_prefix(top)) {
        Some(Ok(path)) => {
            path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
        }
        _ => relative.to_owned(),
    };
    let mut audit = Report::default();
    for (file, _) in &found.files {
        context.unless_cancelled()?;
        audited::add(&mut audit, &path_of(&file.relative), &file.content)?;
    }
    let mut items = BTreeMap::new();
    for mut item in placed.items {
        let Some(file) = files.get(item.path.as_str()) else {
            return Err(Error::internal(format!("`{}` does not belong to any file", item.path)));
        };
        let path = path_of(&item.path);
        naming::set_name(&mut item, prefix.as_deref(), &origin.name, file.listed.is_some());
        let shared = originals.contains(item.path.as_str());
        let (sha256, executable) = (file.content.sha256(), file.executable);
        items.insert(path.clone(), SourceFile { path, item, sha256, executable, shared });
    }
    for found in placed.servers {
        let mut server = found.server;
        if prefix.is_some() && server.origin.entry.is_none() {
            server.origin.entry = Some(server.name.clone());
        }
        let (entry, content) = server::of(&server)?;
        let mut item = Item { path: server::path(&entry.name), entry, content };
        let (path, sha256) = (item.path.clone(), item.content.sha256());
        naming::set_name(&mut item, prefix.as_deref(), &origin.name, false);
        items.insert(path.clone(), SourceFile { path, item, sha256, executable: false, shared: true });
    }
    Ok(Contents { items: items.into_values().collect(), account, audit, marketplace, ..Contents::default() })
}

/// Returns the licence files at the top of the repository, or at the top of the source's folder in the repository.
fn licences(entries: &[Entry], path: &str) -> Vec<String> {
    let at_top = |entry: &&Entry| {
        let below = entry.path.strip_prefix(path).unwrap_or(&entry.path).trim_start_matches('/');
        entry.mode != Mode::Submodule && is_licence(below)
    };
    entries.iter().filter(at_top).map(|entry| entry.path.clone()).collect()
}

/// Returns whether a path is a licence file at the top, judging by its name.
fn is_licence(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.contains('/') && ["license", "licence", "copying", "unlicense"].iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_path_mode_and_bytes() {
        let of = |files: &[(&str, bool, [u8; 32])]| {
            let mut digest = Digest::default();
            files.iter().for_each(|(path, executable, sha256)| digest.add(path, *executable, sha256));
            digest.finish()
        };
        let one = of(&[("a", false, [1; 32]), ("b", false, [2; 32])]);
        assert_eq!(one, of(&[("a", false, [1; 32]), ("b", false, [2; 32])]));
        for other in [
            &[("a", true, [1; 32]), ("b", false, [2; 32])][..],
            &[("a", false, [2; 32]), ("b", false, [1; 32])],
            &[("a", false, [1; 32])],
            &[("a", false, [1; 32]), ("c", false, [2; 32])],
        ] {
            assert_ne!(one, of(other));
        }
        assert!(is_licence("LICENSE-MIT") && is_licence("Copying") && !is_licence("docs/LICENSE"));
    }
}
