//! Reads the changes in a work tree since its last commit, and the state of its branch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::command::Git;
use super::paths::{path, text};
use crate::error::{Code, Error, Result};

/// The state of a work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The commit that is checked out; `None` before the first commit.
    pub head: Option<String>,
    /// The branch without `refs/heads/`; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The upstream branch, such as `origin/main`.
    pub upstream: Option<String>,
    /// The number of commits that the upstream lacks; `None` without an upstream.
    pub ahead: Option<u64>,
    /// The number of commits that only the upstream has; `None` without an upstream.
    pub behind: Option<u64>,
    /// The changed, conflicted, untracked and ignored files, in git's order.
    pub entries: Vec<Entry>,
}

/// A file that is changed, conflicted, untracked or ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub state: State,
    /// The path relative to the work tree. A folder that is listed as one entry ends in `/`; see [`Extra`].
    pub path: PathBuf,
    /// The old path, if the file was renamed or copied.
    pub from: Option<PathBuf>,
    pub is_submodule: bool,
}

/// The state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Tracked and changed, whether staged or not.
    Changed,
    /// In conflict after a merge.
    Conflicted,
    Untracked,
    /// Untracked and ignored.
    Ignored,
}

impl Status {
    pub fn count(&self, state: State) -> usize {
        self.entries.iter().filter(|entry| entry.state == state).count()
    }

    /// Whether there are no changes and no untracked files. Ignored files do not count.
    pub fn is_clean(&self) -> bool {
        self.entries.iter().all(|entry| entry.state == State::Ignored)
    }

    /// Returns the paths of changed and conflicted tracked files, including the old paths of renamed files.
    pub fn changed_paths(&self) -> impl Iterator<Item = &Path> {
        let changed = self.entries.iter().filter(|entry| matches!(entry.state, State::Changed | State::Conflicted));
        changed.flat_map(|entry| std::iter::once(entry.path.as_path()).chain(entry.from.as_deref()))
    }
}

/// The kinds of untracked files to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Untracked files; a folder with only untracked files is one entry.
    Untracked,
    /// Each untracked file individually, and ignored files; a folder that is ignored as a whole is one entry.
    AllAndIgnored,
}

/// Reads the status of the work tree.
pub fn read(git: &Git<'_>, extra: Extra) -> Result<Status> {
    // Pass these options explicitly, because the user's configuration may override the defaults.
    let said = ["status", "--porcelain=v2", "--branch", "-z", "--ahead-behind", "--find-renames"];
    let extra: &[&str] = match extra {
        Extra::Untracked => &["--untracked-files=normal"],
        Extra::AllAndIgnored => &["--untracked-files=all", "--ignored=matching"],
    };
    let printed = git.run(&[&said, extra].concat())?;
    parse(&printed).ok_or_else(|| Error::new(Code::GitFailed, "git status: cannot parse its output"))
}

/// Returns the conflicted files below git's folder, relative to it. Reads only the index, no other files.
pub fn unmerged(git: &Git<'_>) -> Result<BTreeSet<PathBuf>> {
    let printed = git.run(&["ls-files", "--unmerged", "-z"])?;
    // Each line is for one side of the conflict: mode, id, stage number, a tab, and the path.
    let of = |line: &[u8]| line.iter().position(|byte| *byte == b'\t').map(|at| path(&line[at + 1..]));
    Ok(super::paths::parts(&printed).filter_map(of).collect())
}

/// Returns the tracked files below git's folder that an ignore file excludes, relative to that folder. Git ignores only files that
/// are not tracked.
pub fn tracked_but_ignored(git: &Git<'_>) -> Result<BTreeSet<PathBuf>> {
    let printed = git.run(&["ls-files", "--cached", "--ignored", "--exclude-standard", "-z"])?;
    Ok(super::paths::parts(&printed).map(path).collect())
}

/// Returns the paths of a work tree's submodules whose folder is empty or missing.
pub fn empty_submodules(git: &Git<'_>) -> Result<Vec<PathBuf>> {
    let printed = git.run(&["ls-files", "--stage", "-z"])?;
    let of = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'\t').filter(|_| line.starts_with(b"160000 "))?;
        Some(path(&line[at + 1..]))
    };
    let is_empty = |path: &PathBuf| {
        std::fs::read_dir(git.folder().join(path)).map_or(true, |mut entries| entries.next().is_none())
    };
    Ok(super::paths::parts(&printed).filter_map(of).filter(is_empty).collect())
}

fn parse(printed: &[u8]) -> Option<Status> {
    let mut status = Status::default();
    let mut parts = super::paths::parts(printed);
    while let Some(part) = parts.next() {
        let (kind, rest) = part.split_at_checked(2)?;
        match kind {
            b"# " => head(&mut status, &text(rest)),
            b"1 " => status.entries.push(entry(State::Changed, rest, 7)?),
            b"2 " => {
                let from = Some(path(parts.next()?));
                status.entries.push(Entry { from, ..entry(State::Changed, rest, 8)? });
            }
            b"u " => status.entries.push(entry(State::Conflicted, rest, 9)?),
            b"? " => status.entries.push(entry(State::Untracked, rest, 0)?),
            b"! " => status.entries.push(entry(State::Ignored, rest, 0)?),
            _ => return None,
        }
    }
    Some(status)
}

/// Parses a line such as `branch.ab +1 -2`. Ignores unknown lines of newer releases.
fn head(status: &mut Status, line: &str) {
    let Some((key, value)) = line.split_once(' ') else { return };
    match key {
        "branch.oid" => status.head = Some(value.to_owned()).filter(|id| id != "(initial)"),
        "branch.head" => status.branch = Some(value.to_owned()).filter(|name| name != "(detached)"),
        "branch.upstream" => status.upstream = Some(value.to_owned()),
        "branch.ab" => {
            let (ahead, behind) = value.split_once(' ').unwrap_or_default();
            status.ahead = ahead.strip_prefix('+').and_then(|ahead| ahead.parse().ok());
            status.behind = behind.strip_prefix('-').and_then(|behind| behind.parse().ok());
        }
        _ => {}
    }
}

/// Parses an entry in which the path follows `fields` fields.
fn entry(state: State, line: &[u8], fields: usize) -> Option<Entry> {
    let mut words = line.splitn(fields + 1, |byte| *byte == b' ');
    // The fields are the two status letters, then the submodule state, which is `N...` for a file.
    let is_submodule = fields > 0 && words.nth(1)?.starts_with(b"S");
    let rest = if fields > 0 { words.nth(fields - 2)? } else { words.next()? };
    Some(Entry { state, path: path(rest), from: None, is_submodule })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_status_is_read() {
        let printed = b"# branch.oid 1111\0# branch.head feature/x\0# branch.upstream origin/feature/x\0\
            # branch.ab +1 -22\0# branch.newer thing\0\
            1 .M N... 100644 100644 100644 aaaa bbbb a b.txt\0\
            2 R. N... 100644 100644 100644 aaaa bbbb R100 new name\0old\nname\0\
            1 .M SC.. 160000 160000 160000 aaaa bbbb module\0\
            u UU N... 100644 100644 100644 100644 aaaa bbbb cccc both sides\0\
            ? new folder/\0! target/\0";
        let status = parse(printed).unwrap();
        assert_eq!((status.branch.as_deref(), status.head.as_deref()), (Some("feature/x"), Some("1111")));
        assert_eq!((status.ahead, status.behind), (Some(1), Some(22)));
        let of = |state| -> Vec<String> {
            let entries = status.entries.iter().filter(|entry| entry.state == state);
            entries.map(|entry| entry.path.display().to_string()).collect()
        };
        assert_eq!(of(State::Changed), ["a b.txt", "new name", "module"]);
        assert_eq!(of(State::Conflicted), ["both sides"]);
        assert_eq!((of(State::Untracked), of(State::Ignored)), (vec!["new folder/".into()], vec!["target/".into()]));
        assert_eq!(status.entries[1].from.as_deref(), Some(Path::new("old\nname")));
        assert!(status.entries[2].is_submodule && !status.entries[0].is_submodule);
        assert_eq!(status.changed_paths().count(), 5);
        assert!(!status.is_clean() && status.count(State::Changed) == 3);
    }

    #[test]
    fn a_missing_commit_branch_and_upstream_are_none() {
        let status = parse(b"# branch.oid (initial)\0# branch.head (detached)\0").unwrap();
        assert_eq!(status, Status::default());
        assert!(status.is_clean());
        assert_eq!(parse(b"x what\0"), None);
        assert_eq!(parse(b"1 .M N...\0"), None);
    }
}
