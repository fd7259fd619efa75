//! Walks a folder, and finds the files to import, the links, and what is skipped.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use ignore::{DirEntry, WalkBuilder};

use crate::import::paths::{agents, entered};
use crate::import::reason::Reason;
use crate::skills::MAIN;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

/// Which files of a folder to import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// The files of a project. Ignore files apply. Hidden folders are entered only if they may contain agents' files or
    /// skills.
    Project,
    /// The files of `Project`, and also ignored files.
    Ignored,
    /// The files of a skill. Ignore files apply, but hidden files are included.
    Skill,
}

/// What was found in a folder. Links are not followed.
#[derive(Debug, Default)]
pub struct Walked {
    pub files: Vec<PathBuf>,
    pub links: Vec<PathBuf>,
    /// The folders that were entered.
    pub folders: HashSet<PathBuf>,
    pub left_out: Vec<Left>,
    pub bad_lines: Vec<BadLine>,
}

/// A malformed pattern in an ignore file. The pattern has no effect, but the file's other lines apply.
#[derive(Debug)]
pub struct BadLine {
    /// The ignore file. It may be in a folder above the walked folder.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The pattern, and its problem.
    pub what: String,
}

#[derive(Debug)]
pub struct Left {
    pub path: PathBuf,
    pub reason: Reason,
    /// The number of files in a skipped folder; `None` for a file.
    pub below: Option<u64>,
}

/// Finds the files below the folder `top`. Subfolders that this user may not read are skipped; fails if `top` is
/// unreadable.
pub fn walk(top: &Path, take: Take) -> Result<Walked> {
    let (refused, refusals) = mpsc::channel();
    let mut walk = WalkBuilder::new(top);
    walk.standard_filters(take != Take::Ignored).hidden(false).require_git(false).follow_links(false);
    check_ignore_files(top)?;
    let above = top.to_path_buf();
    walk.filter_entry(move |entry| {
        if entry.depth() == 0 {
            return true;
        }
        let checked = if is_folder(entry) { check_ignore_files(entry.path()) } else { Ok(()) };
        // Sending cannot fail: the receiver lives until the end of this function.
        checked.map_err(|error| refused.send(error)).is_ok()
            && enters(entry.path(), is_folder(entry), &above, take).is_ok()
    });
    let mut walked = Walked::default();
    for entry in walk.build() {
        // An error in an ignore file above `top` arrives as an entry of its own. An error in an ignore file below `top`
        // arrives with the entry of its folder.
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if walked.pass_over(&error, None, None) => continue,
            Err(error) => match refused_folder(&error).filter(|folder| *folder != top) {
                Some(folder) => {
                    walked.folders.remove(folder);
                    let path = folder.to_path_buf();
                    walked.left_out.push(Left { path, reason: Reason::Unreadable, below: Some(1) });
                    continue;
                }
                None => return Err(unreadable(top, &error)),
            },
        };
        if let Some(error) = entry.error() {
            walked.pass_over(error, None, None);
        }
        let kind = entry.file_type();
        if entry.depth() == 0 || is_folder(&entry) {
            walked.folders.insert(entry.into_path());
        } else if kind.is_some_and(|kind| kind.is_symlink()) {
            walked.links.push(entry.into_path());
        } else if kind.is_some_and(|kind| kind.is_file()) {
            walked.files.push(entry.into_path());
        } else {
            walked.left_out.push(Left { path: entry.into_path(), reason: Reason::Special, below: None });
        }
    }
    if let Ok(error) = refusals.try_recv() {
        return Err(error);
    }
    walked.leave_out(top, take)?;
    Ok(walked)
}

impl Walked {
    /// Fails if a folder could not be read, and names the first such folder.
    pub fn whole(self) -> Result<Self> {
        match self.left_out.iter().find(|left| left.reason == Reason::Unreadable) {
            Some(left) => Err(Error::file("read", &left.path, ErrorKind::PermissionDenied.into())),
            None => Ok(self),
        }
    }

    /// Adds ignored files that version control tracks, because they are published in spite of the ignore file. `tracked` has
    /// their paths below `top`. Folders that an import does not enter stay closed.
    pub fn take_tracked(&mut self, top: &Path, tracked: &BTreeSet<PathBuf>, take: Take) {
        for relative in tracked {
            let path = top.join(relative);
            let folders: Vec<&Path> = path.ancestors().skip(1).take_while(|folder| *folder != top).collect();
            let is_open = folders.iter().all(|folder| enters(folder, true, top, take).is_ok());
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let is_link_above = || folders.iter().any(|folder| folder.is_symlink());
            if !is_open || !(metadata.is_file() || metadata.is_symlink()) || is_link_above() {
                continue;
            }
            let is_left = |left: &Left| left.reason == Reason::Ignored && path.starts_with(&left.path);
            let Some(at) = self.left_out.iter().position(is_left) else { continue };
            let rest = self.left_out[at].below.map_or(0, |below| below.saturating_sub(1));
            if rest == 0 {
                self.left_out.remove(at);
            } else {
                self.left_out[at].below = Some(rest);
            }
            let found = if metadata.is_symlink() { &mut self.links } else { &mut self.files };
            found.push(path);
        }
    }

    /// Records the malformed patterns that an error is about. Returns whether the error was about patterns.
    fn pass_over(&mut self, error: &ignore::Error, file: Option<&Path>, line: Option<u64>) -> bool {
        match error {
            ignore::Error::Partial(errors) => {
                let passed = errors.iter().filter(|error| self.pass_over(error, file, line)).count();
                passed > 0
            }
            ignore::Error::WithPath { path, err } => self.pass_over(err, Some(path), line),
            ignore::Error::WithLineNumber { line, err } => self.pass_over(err, file, Some(*line)),
            ignore::Error::WithDepth { err, .. } => self.pass_over(err, file, line),
            ignore::Error::Glob { glob, err } => {
                let file = file.unwrap_or(Path::new(".gitignore")).to_path_buf();
                let line = line.and_then(|line| usize::try_from(line).ok());
                let what = format!("`{}`: {err}", glob.as_deref().unwrap_or_default());
                self.bad_lines.push(BadLine { file, line, what });
                true
            }
            _ => false,
        }
    }

    /// Records everything in the folders that was not found before, with the reason why it is skipped.
    fn leave_out(&mut self, top: &Path, take: Take) -> Result<()> {
        // Hash the paths as text, which is much faster than hashing them part by part.
        let special = self.left_out.iter().map(|left| &left.path);
        let found = self.files.iter().chain(&self.links).chain(&self.folders).chain(special);
        let found: HashSet<&OsStr> = found.map(|path| path.as_os_str()).collect();
        let mut left_out = Vec::new();
        for folder in &self.folders {
            let failed = |error| Error::file("read", folder, error);
            for entry in std::fs::read_dir(folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let path = entry.path();
                if found.contains(path.as_os_str()) {
                    continue;
                }
                let is_folder = entry.file_type().map_err(failed)?.is_dir();
                let reason = enters(&path, is_folder, top, take).err().unwrap_or(Reason::Ignored);
                let below = is_folder.then(|| count(&path));
                left_out.push(Left { path, reason, below });
            }
        }
        self.left_out.extend(left_out);
        Ok(())
    }
}

/// Counts the files and links below a folder. A folder that cannot be read counts as empty.
fn count(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count(&entry.path()),
            _ => 1,
        })
        .sum()
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// Checks whether the walk may take a file or enter a folder, judging by its name. An error is the reason to skip the
/// file or folder.
fn enters(path: &Path, is_folder: bool, top: &Path, take: Take) -> std::result::Result<(), Reason> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name == ".git" {
        return Err(Reason::VersionControl);
    }
    if take == Take::Skill || !is_folder {
        return Ok(());
    }
    entered::folder(&name, || holds_skills(path, top))
}

/// Returns whether a hidden folder at `path` is imported, because it is in an agent's folder, a folder of skills, or a
/// skill.
fn holds_skills(path: &Path, top: &Path) -> bool {
    let known = |part: std::path::Component<'_>| {
        let name = part.as_os_str().to_string_lossy();
        agents::is_folder(&name) || name == "skills"
    };
    let below = path.strip_prefix(top).unwrap_or(path);
    let mut above = path.ancestors().skip(1).take(below.components().count());
    below.components().any(known)
        || top.components().any(|part| agents::is_folder(&part.as_os_str().to_string_lossy()))
        || top.file_name().is_some_and(|name| name == "skills")
        || above.any(|folder| folder.join(MAIN).is_file())
}

/// Fails if an ignore file is a named pipe or a device, because the walker would wait for it forever.
fn check_ignore_files(folder: &Path) -> Result<()> {
    for name in [".gitignore", ".ignore", ".git/info/exclude", ".git/commondir"] {
        let path = folder.join(name);
        if std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            file::open(&path).map_err(|error| Error::file("read", &path, error))?;
        }
    }
    Ok(())
}

/// Returns the folder that an error is about, if this user may not read the folder.
fn refused_folder(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithDepth { err, .. } => refused_folder(err),
        ignore::Error::WithPath { path, err } => {
            err.io_error().filter(|error| error.kind() == ErrorKind::PermissionDenied).map(|_| path.as_path())
        }
        _ => None,
    }
}

/// Returns the error for a folder at or below `top` that cannot be read.
fn unreadable(top: &Path, error: &ignore::Error) -> Error {
    match (error, error.io_error()) {
        (ignore::Error::WithPath { path, .. }, Some(cause)) => Error::file("read", path, cause.kind().into()),
        (ignore::Error::WithDepth { err, .. }, _) => unreadable(top, err),
        _ => Error::new(Code::FileFailed, format!("Cannot read `{}`: {error}", top.display())),
    }
}
