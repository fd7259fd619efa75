//! Reads branches, tags and other refs.

use std::path::PathBuf;

use super::command::Git;
use super::paths::{parts, path, text};
use crate::error::{Code, Error, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ref {
    /// The full name, such as `refs/heads/main`.
    pub name: String,
    /// The object that the ref points to: a commit or an annotated tag.
    pub id: String,
    /// The commit, if `id` is an annotated tag.
    pub peeled: Option<String>,
    /// The full name of the branch's upstream.
    pub upstream: Option<String>,
    /// The difference from the upstream; `None` if there is no upstream, or if it was not requested.
    pub track: Option<Track>,
    /// The work tree that has the branch checked out.
    pub worktree: Option<PathBuf>,
}

/// How a branch differs from its upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// The upstream no longer exists.
    Gone,
    /// Either side may have commits that the other lacks.
    Apart {
        /// The number of commits that only this branch has.
        ahead: u64,
        /// The number of commits that only the upstream has.
        behind: u64,
    },
}

impl Ref {
    /// Returns the commit that the ref leads to, even through an annotated tag.
    pub fn commit(&self) -> &str {
        self.peeled.as_deref().unwrap_or(&self.id)
    }

    /// Returns the name without `prefix`, such as `refs/heads/`.
    pub fn short<'a>(&'a self, prefix: &str) -> &'a str {
        self.name.strip_prefix(prefix).unwrap_or(&self.name)
    }
}

/// Returns the refs that match any of the patterns, such as `refs/heads/` or `refs/tags/v1`, sorted by name.
pub fn list(git: &Git<'_>, patterns: &[&str]) -> Result<Vec<Ref>> {
    let mut refs = read(git, patterns, "")?;
    refs.iter_mut().for_each(|found| found.track = None);
    Ok(refs)
}

/// Like [`list`], but fills in [`Ref::track`], for which git has to walk the commits of each branch.
pub fn list_tracked(git: &Git<'_>, patterns: &[&str]) -> Result<Vec<Ref>> {
    read(git, patterns, "%(upstream:track,nobracket)")
}

/// Finds a ref by its full name.
pub fn find(git: &Git<'_>, name: &str) -> Result<Option<Ref>> {
    Ok(list(git, &[name])?.into_iter().find(|found| found.name == name))
}

/// Returns the commit that a full ref name, an id or a revision expression leads to, if it exists.
pub fn commit(git: &Git<'_>, name: &str) -> Result<Option<String>> {
    let commit = format!("{name}^{{commit}}");
    let found = git.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?;
    Ok(found.map(|id| text(id.trim_ascii())))
}

/// Returns the tree of a commit, if the commit exists.
pub fn tree(git: &Git<'_>, commit: &str) -> Result<Option<String>> {
    let tree = format!("{commit}^{{tree}}");
    let found = git.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &tree])?;
    Ok(found.map(|id| text(id.trim_ascii())))
}

/// Whether the commit `older` is an ancestor of `newer`, or the same commit.
pub fn contains(git: &Git<'_>, newer: &str, older: &str) -> Result<bool> {
    Ok(git.ask(&["merge-base", "--is-ancestor", older, newer])?.is_some())
}

/// Returns the best common ancestor of two commits; `None` if they have none.
pub fn merge_base(git: &Git<'_>, one: &str, other: &str) -> Result<Option<String>> {
    let found = git.ask(&["merge-base", one, other])?;
    Ok(found.map(|id| text(id.trim_ascii())))
}

/// The number of fields per ref, in the order in which `record` reads them.
const FIELDS: usize = 6;

fn read(git: &Git<'_>, patterns: &[&str], track: &str) -> Result<Vec<Ref>> {
    // The path of a work tree may contain line breaks, so only the number of fields separates the records.
    let format =
        format!("--format=%(refname)%00%(objectname)%00%(*objectname)%00%(upstream)%00{track}%00%(worktreepath)%00");
    let printed = git.run(&[&["for-each-ref", &format, "--"], patterns].concat())?;
    records(&printed).ok_or_else(|| Error::new(Code::GitFailed, "git for-each-ref: cannot parse its output"))
}

fn records(printed: &[u8]) -> Option<Vec<Ref>> {
    let printed = printed.strip_suffix(b"\n").unwrap_or(printed);
    let fields: Vec<&[u8]> = parts(printed).collect();
    fields.chunks(FIELDS).map(record).collect()
}

fn record(fields: &[&[u8]]) -> Option<Ref> {
    let [name, id, peeled, upstream, track, worktree] = *<&[&[u8]; FIELDS]>::try_from(fields).ok()?;
    let some = |field: &[u8]| (!field.is_empty()).then(|| text(field));
    let upstream = some(upstream);
    Some(Ref {
        // Every record except the first begins with the line break that ends the previous record.
        name: text(name.strip_prefix(b"\n").unwrap_or(name)),
        id: text(id),
        peeled: some(peeled),
        track: upstream.as_ref().and_then(|_| self::track(&text(track))),
        upstream,
        worktree: (!worktree.is_empty()).then(|| path(worktree)),
    })
}

/// Parses text such as `ahead 1, behind 2`.
fn track(said: &str) -> Option<Track> {
    if said == "gone" {
        return Some(Track::Gone);
    }
    let count = |word: &str| {
        let part = said.split(", ").find_map(|part| part.strip_prefix(word))?;
        part.trim().parse::<u64>().ok()
    };
    Some(Track::Apart { ahead: count("ahead ").unwrap_or(0), behind: count("behind ").unwrap_or(0) })
}

/// Whether no branch, tag or other ref contains the commit.
pub fn is_lost(git: &Git<'_>, commit: &str) -> Result<bool> {
    Ok(git.run(&["for-each-ref", "--count=1", "--format=x", "--contains", commit])?.is_empty())
}

/// Refuses a branch whose name differs from an existing one only in case, if the file system cannot tell them apart.
pub fn refuse_same_but_case(git: &Git<'_>, repo: &str, refs: &[Ref], branch: &str) -> Result<()> {
    let lower = branch.to_lowercase();
    let is_same = |part: &str, other: &str| part != other && part.to_lowercase() == other.to_lowercase();
    let found = refs.iter().filter_map(|found| found.name.strip_prefix("refs/heads/")).find(|other| {
        // Prefixes count too: `Feature/x` would be stored in the folder of `feature/y`.
        (*other != branch && other.to_lowercase() == lower)
            || branch
                .split('/')
                .zip(other.split('/'))
                .find(|(part, other)| part != other)
                .is_some_and(|(part, other)| is_same(part, other))
    });
    let Some(other) = found else { return Ok(()) };
    if !super::trees::says(git, "core.ignoreCase")? {
        return Ok(());
    }
    let message =
        format!("{repo}: the branch `{other}` already exists, and this disk treats it as the same name as `{branch}`");
    Err(Error::new(Code::BranchInUse, message)
        .with_details(serde_json::json!({ "repo": repo, "branch": branch, "other": other }))
        .hint("choose a name that differs in more than letter case"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_even_if_a_path_has_a_line_break() {
        let printed = b"refs/heads/a\0aa\0\0refs/remotes/origin/a\0ahead 1, behind 22\0/x\ny\0\n\
            refs/heads/b\0bb\0\0refs/remotes/origin/b\0gone\0\0\nrefs/tags/v1\0cc\0dd\0\0\0\0\n";
        let read = records(printed).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0].track, Some(Track::Apart { ahead: 1, behind: 22 }));
        assert_eq!(read[0].worktree.as_deref(), Some(std::path::Path::new("/x\ny")));
        assert_eq!((read[1].short("refs/heads/"), read[1].track), ("b", Some(Track::Gone)));
        assert_eq!((read[2].commit(), read[2].track), ("dd", None));
        assert_eq!(records(b""), Some(Vec::new()));
        assert_eq!(records(b"refs/heads/a\0aa\0"), None);
        assert_eq!(track(""), Some(Track::Apart { ahead: 0, behind: 0 }));
    }
}
