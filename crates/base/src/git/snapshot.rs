//! Stores all files of a work tree as a commit, including untracked ones, without changing its index or refs.
//!
//! The files are added to a copy of the index, so that this works even during a merge with conflicts. As far as the
//! installed git allows, filters and line end conversion are off, so that the files are restored byte for byte.

use std::path::{Path, PathBuf};

use super::command::Git;
use super::folder::own_folder;
use super::paths::{parts, path, text};
use super::version::{Version, version};
use super::{refs, trees};
use crate::error::{Error, Result};

/// The ids of the empty tree. git knows it without a stored object.
const EMPTY_TREE: [(&str, &str); 2] = [
    ("sha1", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    ("sha256", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"),
];

/// Commits all files of a work tree except ignored ones, plus the ignored files in `ignored`; returns the commit's id.
/// The commit's parents are the commit that was checked out, if any, and then a commit of the staged files, unless
/// there are conflicts. `scratch` is a folder for temporary files, which are removed.
pub fn take(git: &Git<'_>, scratch: &Path, ignored: &[PathBuf], message: &str) -> Result<String> {
    let head = refs::commit(git, "HEAD")?;
    let has_conflicts = !git.run(&["ls-files", "--unmerged"])?.is_empty();
    let index = Scratch::new(scratch, "index");
    let real = own_folder(git.folder()).map(|own| own.join("index"));
    if let Some(real) = real.filter(|real| real.exists()) {
        std::fs::copy(&real, &index.0).map_err(|error| Error::file("write", &index.0, error))?;
    }
    let copied = git.clone().variable("GIT_INDEX_FILE", &index.0).variable("GIT_LITERAL_PATHSPECS", "1");
    let staged = if has_conflicts { None } else { Some(copied.text(&["write-tree"])?) };
    let plain = plain(git)?;
    copied.run(&[&plain[..], &words(["add", "--all"])].concat())?;
    if !ignored.is_empty() {
        let paths = Scratch::new(scratch, "paths");
        paths.write(ignored)?;
        copied.run(&[&plain[..], &words(["add", "--force"]), &paths.as_pathspecs()].concat())?;
    }
    let tree = copied.text(&["write-tree"])?;
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let staged = staged.map(|staged| commit(git, &staged, &head, "What was staged")).transpose()?;
    let parents: Vec<&str> = head.into_iter().chain(staged.as_deref()).collect();
    commit(git, &tree, &parents, message)
}

/// Restores the files of a snapshot, and the index from its commit of the staged files, if there is one. The work
/// tree must have the same commit checked out as at the time of the snapshot. `scratch` is a folder for temporary
/// files, which are removed.
pub fn put_back(git: &Git<'_>, scratch: &Path, snapshot: &str) -> Result<()> {
    let parents = git.text(&["show", "--no-patch", "--format=%P", snapshot, "--"])?;
    let mut parents = parents.split_whitespace();
    // Before the first commit, HEAD leads to no commit. Then the snapshot's first parent is the commit of the staged
    // files.
    let head = refs::commit(git, "HEAD")?.and_then(|_| parents.next());
    let changed = match head {
        Some(head) => trees::changed(git, head, snapshot)?,
        None => {
            let printed = git.run(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", snapshot])?;
            parts(&printed).map(path).collect()
        }
    };
    if !changed.is_empty() {
        let paths = Scratch::new(scratch, "paths");
        paths.write(&changed)?;
        let restore = words(["restore", &format!("--source={snapshot}"), "--worktree"]);
        let literal = git.clone().variable("GIT_LITERAL_PATHSPECS", "1");
        literal.change(&[&plain(git)?[..], &restore, &paths.as_pathspecs()].concat())?;
    }
    if let Some(staged) = parents.next() {
        git.change(&["read-tree", staged])?;
        // Refresh the index, which has no file times after `read-tree`; otherwise every later status would read all
        // files. Exit status 1 only means that some files differ.
        git.ask(&["update-index", "-q", "--refresh"])?;
    }
    Ok(())
}

/// Returns options that keep git from converting files, as far as the installed release allows.
fn plain(git: &Git<'_>) -> Result<Vec<String>> {
    let mut said = words(["-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "core.attributesFile="]);
    if version(git.limits())? >= Version::ATTRIBUTES_OF_TREE {
        let format = git.text(&["rev-parse", "--show-object-format"])?;
        let empty = EMPTY_TREE.iter().find(|(name, _)| *name == format);
        said.extend(empty.map(|(_, id)| format!("--attr-source={id}")));
    }
    Ok(said)
}

/// Creates an unsigned commit in mcpkg's name. No person wrote it, and signing could ask for a passphrase.
fn commit(git: &Git<'_>, tree: &str, parents: &[&str], message: &str) -> Result<String> {
    let mut git = git.clone();
    for (name, value) in [
        ("GIT_AUTHOR_NAME", "mcpkg"),
        ("GIT_AUTHOR_EMAIL", "mcpkg@localhost"),
        ("GIT_COMMITTER_NAME", "mcpkg"),
        ("GIT_COMMITTER_EMAIL", "mcpkg@localhost"),
    ] {
        git = git.variable(name, value);
    }
    let mut args = vec!["commit-tree", "--no-gpg-sign"];
    parents.iter().for_each(|parent| args.extend(["-p", parent]));
    args.push(tree);
    let message = format!("{}\n", message.trim_end_matches('\n'));
    Ok(text(git.feed(&args, message.as_bytes())?.trim_ascii()))
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// A temporary file that is removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &Path, name: &str) -> Self {
        Self(folder.join(format!("{name}-{}", uuid::Uuid::now_v7().simple())))
    }

    fn write(&self, paths: &[PathBuf]) -> Result<()> {
        let bytes = paths.iter().flat_map(|path| path.as_os_str().as_encoded_bytes().iter().copied().chain([0]));
        std::fs::write(&self.0, bytes.collect::<Vec<u8>>()).map_err(|error| Error::file("write", &self.0, error))
    }

    fn as_pathspecs(&self) -> [String; 2] {
        [format!("--pathspec-from-file={}", self.0.display()), "--pathspec-file-nul".to_owned()]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
