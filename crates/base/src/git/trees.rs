//! Creates merges, trees and commits as objects, without moving a ref or changing a work tree.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::command::Git;
use super::folder::folder;
use super::paths::{parts, path, text};
use super::version::{Version, version};
use crate::error::{Code, Error, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The resulting tree. Conflicting files contain conflict markers.
    pub tree: String,
    /// The files with conflicts.
    pub conflicts: Vec<PathBuf>,
}

/// Merges the commit `branch` into the commit `target`, both given as ids. The attributes of `target`'s files apply, as
/// if it were checked out.
pub fn merge(git: &Git<'_>, target: &str, branch: &str) -> Result<Merged> {
    merge_with(git, version(git.limits())?, target, branch)
}

/// Merges in the way that release `version` of git supports. Old releases need the attributes in a work tree with no
/// other files.
pub(super) fn merge_with(git: &Git<'_>, version: Version, target: &str, branch: &str) -> Result<Merged> {
    if version >= Version::ATTRIBUTES_OF_TREE {
        return merge_by(git, &[&format!("--attr-source={target}")], target, branch);
    }
    let attributes =
        tempfile::tempdir().map_err(|error| Error::file("create a folder in", &std::env::temp_dir(), error))?;
    write_attributes(git, target, attributes.path())?;
    let shared = folder(git.folder()).unwrap_or_else(|| git.folder().to_owned());
    let git = Git::of(attributes.path(), git.limits().cancelled)
        .within(git.limits().time)
        .variable("GIT_DIR", shared)
        .variable("GIT_WORK_TREE", attributes.path())
        .variable("GIT_INDEX_FILE", attributes.path().join(".git-index"));
    merge_by(&git, &[], target, branch)
}

fn merge_by(git: &Git<'_>, options: &[&str], target: &str, branch: &str) -> Result<Merged> {
    let merge = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", target, branch];
    let (printed, has_conflicts) = git.run_check(&[options, &merge].concat())?;
    let mut said = parts(&printed).map(<[u8]>::to_owned);
    // For unknown names git also exits with status 1, as it does for conflicts, but prints no tree.
    let tree = said.next().map(|tree| text(&tree)).filter(|tree| is_id(tree));
    let tree = tree.ok_or_else(|| {
        Error::new(Code::GitFailed, format!("git merge-tree: cannot merge `{target}` and `{branch}`"))
    })?;
    let conflicts: Vec<PathBuf> = said.filter(|name| !name.is_empty()).map(|name| path(&name)).collect();
    if has_conflicts && conflicts.is_empty() {
        return Err(Error::new(Code::GitFailed, "git merge-tree: git reported a conflict without naming a file"));
    }
    Ok(Merged { tree, conflicts })
}

/// Writes the `.gitattributes` files of a commit below `place`.
fn write_attributes(git: &Git<'_>, commit: &str, place: &Path) -> Result<()> {
    let printed = git.run(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit])?;
    for name in parts(&printed).map(path).filter(|name| name.file_name().is_some_and(|name| name == ".gitattributes")) {
        let file = place.join(&name);
        let Some(bytes) = read(git, commit, &name)? else { continue };
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&file, bytes)).map_err(|error| Error::file("write", &file, error))?;
    }
    Ok(())
}

/// Creates a commit; returns its id. It is signed if the repository's configuration says so.
pub fn commit(git: &Git<'_>, tree: &str, parents: &[&str], message: &str) -> Result<String> {
    let mut args = vec!["commit-tree"];
    if says(git, "commit.gpgSign")? {
        args.push("-S");
    }
    parents.iter().for_each(|parent| args.extend(["-p", parent]));
    args.push(tree);
    let message = format!("{}\n", message.trim_end_matches('\n'));
    Ok(text(git.feed(&args, message.as_bytes())?.trim_ascii()))
}

/// Whether a boolean setting of the configuration is true.
pub(super) fn says(git: &Git<'_>, key: &str) -> Result<bool> {
    Ok(git.ask(&["config", "--type=bool", "--get", key])?.is_some_and(|said| said.trim_ascii() == b"true"))
}

/// Returns the files that differ between two commits or trees. A renamed file is listed under both names.
pub fn changed(git: &Git<'_>, from: &str, to: &str) -> Result<Vec<PathBuf>> {
    let printed = git.run(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to, "--"])?;
    Ok(parts(&printed).map(path).collect())
}

/// Returns the content of a file in a commit or tree, or `None` if there is no such file.
pub fn read(git: &Git<'_>, tree: &str, path: &Path) -> Result<Option<Vec<u8>>> {
    match entry(git, tree, path)? {
        Some(entry) if entry.kind == "blob" => git.run(&["cat-file", "blob", &entry.id]).map(Some),
        _ => Ok(None),
    }
}

/// Returns the id of `tree` with the file at `path` added or replaced. An existing file keeps its mode.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if a parent of `path` is a file or link in the tree, or `path` is a folder or link.
pub fn with_file(git: &Git<'_>, tree: &str, path: &Path, bytes: &[u8]) -> Result<String> {
    let blob = text(git.feed(&["hash-object", "-w", "--stdin"], bytes)?.trim_ascii());
    let names: Vec<_> = path.iter().collect();
    let Some((file, folders)) = names.split_last() else {
        return Err(Error::new(Code::InvalidArgument, "A file's path is empty"));
    };
    let at = |depth: usize| folders[..depth].iter().collect::<PathBuf>();
    let mut made = Entry { mode: "100644".to_owned(), kind: "blob".to_owned(), id: blob, name: OsString::from(file) };
    for depth in (0..=folders.len()).rev() {
        let folder = at(depth);
        let mut entries = children(git, tree, &folder)?;
        match entries.iter_mut().find(|entry| entry.name == made.name) {
            Some(there) if there.mode == LINK => {
                let message = format!("`{}` is a link in that commit", folder.join(&made.name).display());
                return Err(Error::new(Code::InvalidArgument, message));
            }
            Some(there) if there.kind == made.kind => made.mode.clone_from(&there.mode),
            Some(_) => {
                let message = format!("`{}` is not a {} in that commit", folder.join(&made.name).display(), made.kind);
                return Err(Error::new(Code::InvalidArgument, message));
            }
            None => {}
        }
        entries.retain(|entry| entry.name != made.name);
        let name = folder.file_name().map(OsString::from).unwrap_or_default();
        entries.push(made);
        let lines: Vec<u8> = entries.iter().flat_map(Entry::line).collect();
        let id = text(git.feed(&["mktree", "-z"], &lines)?.trim_ascii());
        made = Entry { mode: "040000".to_owned(), kind: "tree".to_owned(), id, name };
    }
    Ok(made.id)
}

/// The mode of a link, whose content is the path that it leads to.
const LINK: &str = "120000";

/// An entry of a tree.
#[derive(Clone, Debug)]
struct Entry {
    mode: String,
    kind: String,
    id: String,
    name: OsString,
}

impl Entry {
    fn line(&self) -> Vec<u8> {
        let mut line = format!("{} {} {}\t", self.mode, self.kind, self.id).into_bytes();
        line.extend(self.name.as_encoded_bytes());
        line.push(0);
        line
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let facts = text(&line[..tab]);
        let mut facts = facts.split(' ').map(str::to_owned);
        let (mode, kind, id) = (facts.next()?, facts.next()?, facts.next()?);
        let name = path(&line[tab + 1..]);
        Some(Self { mode, kind, id, name: name.file_name()?.to_owned() })
    }
}

fn entry(git: &Git<'_>, tree: &str, path: &Path) -> Result<Option<Entry>> {
    let args: [&std::ffi::OsStr; 6] =
        ["ls-tree".as_ref(), "-z".as_ref(), "--full-tree".as_ref(), tree.as_ref(), "--".as_ref(), path.as_os_str()];
    let printed = git.run(&args)?;
    Ok(parts(&printed).find_map(Entry::parse))
}

/// Returns the entries of a folder in a tree; empty if there is no such folder.
fn children(git: &Git<'_>, tree: &str, folder: &Path) -> Result<Vec<Entry>> {
    let tree = match folder.as_os_str().is_empty() {
        true => tree.to_owned(),
        false => match entry(git, tree, folder)? {
            Some(entry) if entry.kind == "tree" => entry.id,
            Some(_) => {
                let message = format!("`{}` is not a folder in that commit", folder.display());
                return Err(Error::new(Code::InvalidArgument, message));
            }
            None => return Ok(Vec::new()),
        },
    };
    let printed = git.run(&["ls-tree", "-z", "--full-tree", &tree])?;
    Ok(parts(&printed).filter_map(Entry::parse).collect())
}

fn is_id(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
