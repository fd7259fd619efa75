//! Follows files that were moved in the folder, and prompts that were renamed in the project.

use std::collections::{HashMap, HashSet};

use super::base::{entry_of, plain};
use super::contents::{Contents, There};
use super::step::{Act, Step};
use crate::export::layout::own_path;
use crate::item::{Entry, What};
use crate::stored::Stored;
use mcpkg_base::error::Result;
use mcpkg_store::prompts::Attributes;
use mcpkg_store::syncs::Base;
use mcpkg_store::{Db, blobs};

/// The moves of files in the folder, each with the former and the new path.
pub(super) type Moves = Vec<(String, String)>;

/// Returns the moves in the folder since the last sync, and `bases` with the new paths. A missing file was moved if a
/// new file has the same URI ([`with_its_uri`]), or if exactly one new file is an equal prompt.
pub(super) fn followed(db: &Db<'_>, contents: &Contents, bases: &[Base]) -> Result<(Vec<Base>, Moves)> {
    let known: HashSet<&str> = bases.iter().map(|base| base.path.as_str()).collect();
    let is_new = |(path, there): &(&String, &There)| !there.listed && !known.contains(path.as_str());
    let new: Vec<(&String, &There)> = contents.items.iter().filter(is_new).collect();
    let (mut bases, mut all) = (bases.to_vec(), Vec::new());
    if new.is_empty() {
        return Ok((bases, all));
    }
    let prompts: Vec<(&String, &There)> =
        new.iter().copied().filter(|(_, there)| there.entry.what.is_prompt()).collect();
    let uris: HashMap<&str, (&String, &There)> =
        new.iter().filter_map(|(path, there)| Some((there.entry.what.uri()?, (*path, *there)))).collect();
    let mut moves: HashMap<&String, Vec<usize>> = HashMap::new();
    for (at, base) in bases.iter().enumerate().filter(|(_, base)| is_gone(contents, &base.path)) {
        if let Some(path) = with_its_uri(db, base, &uris)? {
            moves.entry(path).or_default().push(at);
            continue;
        }
        let Some((entry, sha256)) = settled(db, base)? else { continue };
        let is_same =
            |there: &There| attributes(&there.entry) == attributes(&entry) && there.content.sha256() == sha256;
        let mut same = prompts.iter().filter(|(_, there)| is_same(there));
        if let (Some((path, _)), None) = (same.next(), same.next()) {
            moves.entry(path).or_default().push(at);
        }
    }
    for (path, at) in moves {
        // If several missing files match this new file, none of them counts as moved.
        if let [at] = at[..] {
            all.push((std::mem::replace(&mut bases[at].path, path.clone()), path.clone()));
        }
    }
    Ok((bases, all))
}

/// Finds the new path of a file by its URI. For a file of a skill, the URI is enough, even if the file was edited too. Other
/// URIs are only made from file names, so the content must be equal as well.
fn with_its_uri<'n>(db: &Db<'_>, base: &Base, new: &HashMap<&str, (&'n String, &There)>) -> Result<Option<&'n String>> {
    let Some(entry) = entry_of(base).filter(|_| !base.listed) else { return Ok(None) };
    let Some((uri, (_, blob))) = entry.what.uri().zip(base.version.as_ref()) else { return Ok(None) };
    let Some((path, there)) = new.get(uri) else { return Ok(None) };
    let is_same = uri.starts_with("skill://") || blobs::sha256(db, *blob)? == there.content.sha256();
    Ok(is_same.then_some(*path))
}

/// Returns the moves to record, and all bases after these moves; no bases if there is no move to record. If the sync
/// skips a moved file, its move is not recorded, so that the next sync detects the move again. The base of such a file
/// is left out. Otherwise, the base at the new path would give the file its old name again.
pub(super) fn settle(all: Moves, bases: &[Base], steps: &[Step]) -> (Moves, Vec<Base>) {
    let is_skipped = |path: &str| steps.iter().any(|step| step.path == path && matches!(step.act, Act::Skip(_)));
    let (skipped, moves): (Moves, Moves) = all.into_iter().partition(|(_, new)| is_skipped(new));
    if moves.is_empty() {
        return (moves, Vec::new());
    }
    let is_of_skipped = |base: &&Base| skipped.iter().any(|(_, new)| *new == base.path);
    let bases = bases.iter().filter(|base| !is_of_skipped(base)).cloned().collect();
    (moves, bases)
}

/// Returns whether a new file should replace the file of the prompt `ours`, because the prompt was renamed in the project.
/// The old file must be unchanged since the last sync.
pub(super) fn gives_up(db: &Db<'_>, contents: &Contents, base: &Base, ours: &Stored) -> Result<bool> {
    let Some(there) = contents.items.get(&base.path).filter(|there| !there.listed) else { return Ok(false) };
    let Some((entry, sha256)) = settled(db, base)? else { return Ok(false) };
    let new = own_path(&ours.entry).filter(|new| is_gone(contents, new));
    Ok(ours.entry.what.is_prompt()
        && ours.entry.name != entry.name
        && own_path(&entry).as_ref() == Some(&base.path)
        && new.is_some_and(|new| new != base.path)
        && plain(&there.entry) == entry
        && there.content.sha256() == sha256)
}

fn is_gone(contents: &Contents, path: &str) -> bool {
    !contents.items.contains_key(path) && !contents.skipped.contains_key(path) && !contents.disk.others.contains(path)
}

/// Returns the name, attributes and SHA-256 in a prompt's base. `None` if the manifest lists the prompt's file or there is a
/// proposal about it.
fn settled(db: &Db<'_>, base: &Base) -> Result<Option<(Entry, [u8; 32])>> {
    let version = base.version.as_ref().filter(|_| !base.listed && base.proposal.is_none());
    let entry = entry_of(base).filter(|entry| entry.what.is_prompt());
    let Some((entry, (_, blob))) = entry.zip(version) else { return Ok(None) };
    Ok(Some((entry, blobs::sha256(db, *blob)?)))
}

/// Returns a prompt's attributes, but without the path of its file.
fn attributes(entry: &Entry) -> Option<Attributes> {
    match &entry.what {
        What::Prompt(attributes) => Some(Attributes { file: None, ..attributes.clone() }),
        _ => None,
    }
}
