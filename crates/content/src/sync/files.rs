//! Determines which files a sync writes to the folder.

use std::collections::{BTreeMap, HashSet};

use super::contents::{Contents, There};
use super::listing::Listing;
use super::servers;
use super::step::{Act, Step};
use crate::export::{self, back, layout};
use crate::item::{Entry, File, server};
use mcpkg_base::error::Result;
use mcpkg_store::blobs::NewContent;

/// A file that a sync writes to the folder, or deletes from it.
#[derive(Debug)]
pub(super) struct FileWrite {
    /// The path relative to the folder.
    pub(super) path: String,
    /// The SHA-256 of the file that is there now, if any.
    pub(super) before: Option<[u8; 32]>,
    /// The new content; `None` deletes the file.
    pub(super) bytes: Option<NewContent>,
    pub(super) executable: bool,
    /// The file's entry in the manifest, if the manifest has to list it.
    pub(super) listed: Option<Entry>,
}

/// The changes that a sync makes in the folder.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) writes: Vec<FileWrite>,
    /// The changes to the list of MCP servers in the manifest.
    pub(super) listings: Vec<Listing>,
}

/// Returns the changes to make in the folder. Also updates the steps: an agent's file changes if one of its servers
/// does, and a server is skipped if the folder cannot express it.
pub(super) fn missing(
    steps: &mut [Step],
    contents: &Contents,
    listed: &HashSet<String>,
    first_manifest: bool,
) -> Result<Changes> {
    let is_quiet = |step: &Step| {
        matches!(step.act, Act::Same | Act::Wait | Act::Skip(_))
            || matches!(step.act, Act::ProposeChange(_) | Act::ProposeDelete | Act::ProposeDeleteFile)
    };
    if !first_manifest && contents.listed.lost.is_empty() && steps.iter().all(is_quiet) {
        return Ok(Changes { writes: unlisted(contents, &HashSet::new()).collect(), listings: Vec::new() });
    }
    loop {
        let wanted = servers::wanted(steps, contents)?;
        let agent_files = servers::agent_files(steps, contents, &wanted)?;
        let (files, expected) = files(steps, contents, listed, &agent_files)?;
        let (complete, read) = back::importable(files, &[], &expected.iter().map(Option::as_ref).collect::<Vec<_>>())?;
        let mut to_list = export::servers::to_list(&wanted.values().cloned().collect::<Vec<_>>(), &read);
        to_list.sort_by(|a, b| a.name.cmp(&b.name));
        let failures = servers::failures(steps, contents, &wanted, &complete, &to_list)?;
        if failures.is_empty() {
            for step in steps.iter_mut() {
                if let Some((entry, content)) = agent_files.get(&step.path) {
                    step.act = match step.act {
                        Act::Take | Act::Merge(..) => Act::Merge(entry.clone(), content.clone()),
                        _ => Act::Give(entry.clone(), content.clone()),
                    };
                }
            }
            let listed_servers = if first_manifest { &[][..] } else { &contents.listed.servers };
            let listings = Listing::differences(listed_servers, &to_list);
            return Ok(Changes { writes: writes(steps, contents, complete), listings });
        }
        for (at, why) in failures {
            steps[at].act = Act::Skip(why);
        }
    }
}

/// Adds writes that update or delete the copies of changed files, because an outdated copy would become an item of its
/// own.
pub(super) fn have_copies_follow(writes: &mut Vec<FileWrite>, contents: &Contents) {
    let follow = |(path, original): (&String, &String)| {
        let write = writes.iter().find(|write| write.path == *original && write.listed.is_none())?;
        let FileWrite { before, bytes, executable, .. } = write;
        let (before, bytes) = (Some((*before)?), bytes.clone());
        Some(FileWrite { path: path.clone(), before, bytes, executable: *executable, listed: None })
    };
    let copies: Vec<FileWrite> = contents.copies.iter().filter_map(follow).collect();
    writes.extend(copies);
}

/// Returns the files to write or to delete. `complete` contains all files that the folder should have.
fn writes(steps: &[Step], contents: &Contents, complete: Vec<File>) -> Vec<FileWrite> {
    let mut writes: Vec<FileWrite> = Vec::new();
    let mut new_paths = HashSet::new();
    for file in complete {
        let there = contents.items.get(&file.relative);
        let is_prompt = there.is_some_and(|there| there.entry.what.is_prompt());
        // Prompts have no executable bit, so keep that of the file.
        let executable = there.filter(|_| is_prompt).map_or(file.executable, |there| there.executable);
        let is_there = contents.skipped.contains_key(&file.relative)
            || there.is_some_and(|there| {
                let listed = there.listed.then_some(&there.entry);
                there.file == file.content && there.executable == executable && listed == file.listed.as_ref()
            });
        let is_lost = file.listed.is_some() && contents.listed.lost.contains(&file.relative);
        if is_there && !is_lost {
            continue;
        }
        new_paths.insert(file.relative.clone());
        let before = there.map(|there| there.file.sha256());
        let File { relative: path, content, listed, .. } = file;
        writes.push(FileWrite { path, before, bytes: Some(content), executable, listed });
    }
    let deleted = |step: &&Step| matches!(step.act, Act::DeleteFile) && !server::is_path(&step.path);
    for step in steps.iter().filter(deleted) {
        let before = contents.items.get(&step.path).map(|there| there.file.sha256());
        writes.push(gone(&step.path, before));
    }
    writes.extend(unlisted(contents, &new_paths));
    writes
}

/// Returns the changes that remove manifest entries whose files do not exist and will not be written.
fn unlisted<'l>(contents: &'l Contents, new: &'l HashSet<String>) -> impl Iterator<Item = FileWrite> + 'l {
    contents.listed.missing.iter().filter(|path| !new.contains(*path)).map(|path| gone(path, None))
}

fn gone(path: &str, before: Option<[u8; 32]>) -> FileWrite {
    FileWrite { path: path.to_owned(), before, bytes: None, executable: false, listed: None }
}

type Files = (Vec<File>, Vec<Option<(Entry, NewContent)>>);

/// Returns the files that the folder should have, and for each the item that must be read back from it. `agent_files`
/// replaces the content of some of the steps.
fn files(
    steps: &[Step],
    contents: &Contents,
    listed: &HashSet<String>,
    agent_files: &BTreeMap<String, (Entry, NewContent)>,
) -> Result<Files> {
    let (mut files, mut expected) = (Vec::new(), Vec::new());
    for step in steps.iter().filter(|step| !server::is_path(&step.path)) {
        let there = contents.items.get(&step.path);
        let given = match &step.act {
            Act::Give(entry, content) | Act::Merge(entry, content) => Some((entry, content)),
            _ => None,
        };
        let given = agent_files.get(&step.path).map(|(entry, content)| (entry, content)).or(given);
        match (&step.act, there) {
            _ if let Some((entry, content)) = given => {
                let is_listed = there.is_some_and(|there| there.listed) || listed.contains(&step.path);
                let listed = is_listed.then(|| entry.clone());
                files.push(layout::file(step.path.clone(), entry, content, listed)?);
                expected.push(Some((entry.clone(), content.clone())));
            }
            (Act::DeleteFile, _) => {}
            (Act::Skip(_), _) => {
                if let Some((_, file)) = contents.skipped.get(&step.path) {
                    files.push(copy(file));
                    expected.push(None);
                } else if let Some(there) = there {
                    files.push(as_it_is(&step.path, there));
                    expected.push(None);
                }
            }
            (_, Some(there)) => {
                files.push(as_it_is(&step.path, there));
                // A file that contains more than the project stores is never written, so there is nothing to compare.
                expected.push((!there.has_more()).then(|| (there.entry.clone(), there.content.clone())));
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
