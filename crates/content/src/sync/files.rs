//! The files that the folder is to have.

use std::collections::{BTreeMap, HashSet};

use super::folder::{Look, There};
use super::listing::Listing;
use super::servers;
use super::step::{Act, Step};
use crate::export::{self, back, layout};
use crate::import::manifest::Entry;
use crate::import::scan::File;
use crate::import::server_item;
use mcpkg_base::error::Result;
use mcpkg_store::new_content::NewContent;

/// A file of the folder that is to be written.
#[derive(Debug)]
pub(super) struct FileWrite {
    /// Its path below the folder.
    pub(super) path: String,
    /// The SHA-256 of the existing file.
    pub(super) before: Option<[u8; 32]>,
    /// What will; `None` for nothing.
    pub(super) bytes: Option<NewContent>,
    /// Whether it can be executed.
    pub(super) executable: bool,
    /// What the manifest will say of it.
    pub(super) listed: Option<Entry>,
}

/// The files that the folder should get.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) writes: Vec<FileWrite>,
    /// The MCP servers in the manifest.
    pub(super) listings: Vec<Listing>,
}

/// Returns the files that the folder should have and lacks. It also updates the steps: which files of agents change because one of
/// their servers did, and which servers are skipped because the folder cannot express them.
///
/// # Errors
/// `E_IMPORT_CONFLICT` if two files of the folder would have one name.
pub(super) fn missing(
    steps: &mut [Step],
    look: &Look,
    listed: &HashSet<String>,
    first_manifest: bool,
) -> Result<Folder> {
    let is_quiet = |step: &Step| {
        matches!(step.act, Act::Same | Act::Wait | Act::Skip(_))
            || matches!(step.act, Act::ProposeChange(_) | Act::ProposeDelete | Act::ProposeDeleteFile)
    };
    if !first_manifest && look.lost.is_empty() && steps.iter().all(is_quiet) {
        return Ok(Folder { writes: stale(look, &HashSet::new()).collect(), listings: Vec::new() });
    }
    loop {
        let wanted = servers::wanted(steps, look)?;
        let said = servers::said(steps, look, &wanted)?;
        let (files, expected) = files(steps, look, listed, &said)?;
        let (complete, read) = back::importable(files, &[], &expected.iter().map(Option::as_ref).collect::<Vec<_>>())?;
        let mut to_list = export::servers::not_said(&wanted.values().cloned().collect::<Vec<_>>(), &read);
        to_list.sort_by(|a, b| a.name.cmp(&b.name));
        let unsaid = servers::unsaid(steps, look, &wanted, &complete, &to_list)?;
        if unsaid.is_empty() {
            for step in steps.iter_mut() {
                if let Some((entry, content)) = said.get(&step.path) {
                    step.act = match step.act {
                        Act::Take | Act::Merge(..) => Act::Merge(entry.clone(), content.clone()),
                        _ => Act::Give(entry.clone(), content.clone()),
                    };
                }
            }
            let listed_servers = if first_manifest { &[][..] } else { &look.listed_servers };
            let listings = Listing::differences(listed_servers, &to_list);
            return Ok(Folder { writes: writes(steps, look, complete), listings });
        }
        for (at, why) in unsaid {
            steps[at].act = Act::Skip(why);
        }
    }
}

/// Has the copies of files that are written, or deleted, become the same: one that stayed behind would be an item of its own.
pub(super) fn have_copies_follow(writes: &mut Vec<FileWrite>, look: &Look) {
    let follow = |(path, original): (&String, &String)| {
        let write = writes.iter().find(|write| write.path == *original && write.listed.is_none())?;
        let FileWrite { before, bytes, executable, .. } = write;
        let (before, bytes) = (Some((*before)?), bytes.clone());
        Some(FileWrite { path: path.clone(), before, bytes, executable: *executable, listed: None })
    };
    let copies: Vec<FileWrite> = look.copies.iter().filter_map(follow).collect();
    writes.extend(copies);
}

/// Returns the files that the folder is to have and has not; `complete` are all that it is to have.
fn writes(steps: &[Step], look: &Look, complete: Vec<File>) -> Vec<FileWrite> {
    let mut writes: Vec<FileWrite> = Vec::new();
    let mut new_paths = HashSet::new();
    for file in complete {
        let there = look.items.get(&file.relative);
        let is_prompt = there.is_some_and(|there| there.entry.what.is_prompt());
        // A prompt says nothing of its file's mode.
        let executable = there.filter(|_| is_prompt).map_or(file.executable, |there| there.executable);
        let is_there = look.skipped.contains_key(&file.relative)
            || there.is_some_and(|there| {
                let listed = there.listed.then_some(&there.entry);
                there.file == file.content && there.executable == executable && listed == file.listed.as_ref()
            });
        let is_lost = file.listed.is_some() && look.lost.contains(&file.relative);
        if is_there && !is_lost {
            continue;
        }
        new_paths.insert(file.relative.clone());
        let before = there.map(|there| there.file.sha256());
        let File { relative: path, content, listed, .. } = file;
        writes.push(FileWrite { path, before, bytes: Some(content), executable, listed });
    }
    let deleted = |step: &&Step| matches!(step.act, Act::DeleteFile) && !server_item::is_path(&step.path);
    for step in steps.iter().filter(deleted) {
        let before = look.items.get(&step.path).map(|there| there.file.sha256());
        writes.push(gone(&step.path, before));
    }
    writes.extend(stale(look, &new_paths));
    writes
}

/// Returns the lines of the manifest that go, since they name no file that is there, or is to be.
fn stale<'l>(look: &'l Look, new: &'l HashSet<String>) -> impl Iterator<Item = FileWrite> + 'l {
    look.stale.iter().filter(|path| !new.contains(*path)).map(|path| gone(path, None))
}

fn gone(path: &str, before: Option<[u8; 32]>) -> FileWrite {
    FileWrite { path: path.to_owned(), before, bytes: None, executable: false, listed: None }
}

type Files = (Vec<File>, Vec<Option<(Entry, NewContent)>>);

/// Returns the desired files of the folder, each with the item to be read back from it. The files in `said` differ from
/// their steps.
fn files(
    steps: &[Step],
    look: &Look,
    listed: &HashSet<String>,
    said: &BTreeMap<String, (Entry, NewContent)>,
) -> Result<Files> {
    let (mut files, mut expected) = (Vec::new(), Vec::new());
    for step in steps.iter().filter(|step| !server_item::is_path(&step.path)) {
        let there = look.items.get(&step.path);
        let given = match &step.act {
            Act::Give(entry, content) | Act::Merge(entry, content) => Some((entry, content)),
            _ => None,
        };
        let given = said.get(&step.path).map(|(entry, content)| (entry, content)).or(given);
        match (&step.act, there) {
            _ if let Some((entry, content)) = given => {
                let is_listed = there.is_some_and(|there| there.listed) || listed.contains(&step.path);
                let listed = is_listed.then(|| entry.clone());
                files.push(layout::file(step.path.clone(), entry, content, listed)?);
                expected.push(Some((entry.clone(), content.clone())));
            }
            (Act::DeleteFile, _) => {}
            (Act::Skip(_), _) => {
                if let Some((_, file)) = look.skipped.get(&step.path) {
                    files.push(copy(file));
                    expected.push(None);
                } else if let Some(there) = there {
                    files.push(as_it_is(&step.path, there));
                    expected.push(None);
                }
            }
            (_, Some(there)) => {
                files.push(as_it_is(&step.path, there));
                // A file with more content than the project stores is never written.
                expected.push((!there.says_more()).then(|| (there.entry.clone(), there.content.clone())));
            }
            (_, None) => {}
        }
    }
    Ok((files, expected))
}

fn as_it_is(path: &str, there: &There) -> File {
    let listed = there.listed.then(|| there.entry.clone());
    File { relative: path.to_owned(), content: there.file.clone(), executable: there.executable, listed }
}

fn copy(file: &File) -> File {
    let File { relative, content, executable, listed } = file;
    File { relative: relative.clone(), content: content.clone(), executable: *executable, listed: listed.clone() }
}
