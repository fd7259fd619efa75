//! The files that the folder is to have.

use std::collections::HashSet;

use super::folder::{Look, There};
use super::step::{Act, Step};
use crate::content::export::{self, layout};
use crate::content::import::manifest::Entry;
use crate::content::import::scan::File;
use crate::error::Result;
use crate::store::new_content::NewContent;

/// A file of the folder that is to be written.
#[derive(Debug)]
pub(super) struct FileWrite {
    /// Its path below the folder.
    pub(super) path: String,
    /// The SHA-256 of what stands there.
    pub(super) before: Option<[u8; 32]>,
    /// What will; `None` for nothing.
    pub(super) bytes: Option<NewContent>,
    /// Whether it can be executed.
    pub(super) executable: bool,
    /// What the manifest will say of it.
    pub(super) listed: Option<Entry>,
}

/// Returns the files that the folder is to have and has not.
pub(super) fn writes(
    steps: &[Step],
    look: &Look,
    listed: &HashSet<String>,
    first_manifest: bool,
) -> Result<Vec<FileWrite>> {
    let mut writes: Vec<FileWrite> = Vec::new();
    let gone =
        |path: &str, before| FileWrite { path: path.to_owned(), before, bytes: None, executable: false, listed: None };
    let is_quiet = |step: &Step| {
        matches!(step.act, Act::Same | Act::Wait | Act::LetBe(_))
            || matches!(step.act, Act::ProposeChange(_) | Act::ProposeDelete | Act::ProposeDeleteFile)
    };
    let mut new_paths = HashSet::new();
    if first_manifest || !steps.iter().all(is_quiet) {
        let (files, expected): (Vec<File>, Vec<Option<(Entry, NewContent)>>) = files(steps, look, listed)?;
        let (settled, _) = export::settle(files, &expected.iter().map(Option::as_ref).collect::<Vec<_>>())?;
        for file in settled {
            let there = look.items.get(&file.relative);
            let is_prompt = there.is_some_and(|there| there.entry.what.is_prompt());
            // A prompt says nothing of its file's mode.
            let executable = there.filter(|_| is_prompt).map_or(file.executable, |there| there.executable);
            let is_there = look.let_be.contains_key(&file.relative)
                || there.is_some_and(|there| {
                    let listed = there.listed.then_some(&there.entry);
                    there.file == file.content && there.executable == executable && listed == file.listed.as_ref()
                });
            if is_there {
                continue;
            }
            new_paths.insert(file.relative.clone());
            let before = there.map(|there| there.file.sha256());
            let File { relative: path, content, listed, .. } = file;
            writes.push(FileWrite { path, before, bytes: Some(content), executable, listed });
        }
        for step in steps.iter().filter(|step| matches!(step.act, Act::DeleteFile)) {
            let before = look.items.get(&step.path).map(|there| there.file.sha256());
            writes.push(gone(&step.path, before));
        }
    }
    let stale = look.stale.iter().filter(|path| !new_paths.contains(*path));
    writes.extend(stale.map(|path| gone(path, None)));
    Ok(writes)
}

type Files = (Vec<File>, Vec<Option<(Entry, NewContent)>>);

/// Returns the files of the folder as they shall be, each with the item that is to come back from it.
fn files(steps: &[Step], look: &Look, listed: &HashSet<String>) -> Result<Files> {
    let (mut files, mut expected) = (Vec::new(), Vec::new());
    for step in steps {
        let there = look.items.get(&step.path);
        match (&step.act, there) {
            (Act::Give(entry, content) | Act::Merge(entry, content), _) => {
                let is_listed = there.is_some_and(|there| there.listed) || listed.contains(&step.path);
                let listed = is_listed.then(|| entry.clone());
                files.push(layout::file(step.path.clone(), entry, content, listed)?);
                expected.push(Some((entry.clone(), content.clone())));
            }
            (Act::DeleteFile, _) => {}
            (Act::LetBe(_), _) => {
                if let Some((_, file)) = look.let_be.get(&step.path) {
                    files.push(copy(file));
                    expected.push(None);
                } else if let Some(there) = there {
                    files.push(as_it_is(&step.path, there));
                    expected.push(None);
                }
            }
            (_, Some(there)) => {
                files.push(as_it_is(&step.path, there));
                // What says more than the project has is never written, whatever else the project has of it.
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
