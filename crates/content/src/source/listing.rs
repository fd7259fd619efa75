//! Caches the paths of a commit next to its mirror. If the next commit changes only the content of files, it has the same
//! paths, and git need not list them again.

use std::path::{Path, PathBuf};

use super::tree::{Entry, Mode};
use mcpkg_base::disk;
use mcpkg_base::file;
use mcpkg_base::sha256;

/// The maximum size of the cached list in bytes. A larger list is ignored, and git lists the paths again.
const MOST: u64 = 64 << 20;

/// A file, link or submodule of a commit, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The path from the top of the repository, with `/` separators.
    pub path: String,
    pub is_link: bool,
}

impl From<&Entry> for Listed {
    fn from(entry: &Entry) -> Self {
        Self { path: entry.path.clone(), is_link: entry.mode == Mode::Link }
    }
}

/// Caches the list of a commit's paths below `path`. Replaces the cached list of another commit for the same `path`.
pub fn keep(folder: &Path, path: &str, commit: &str, all: &[Listed]) {
    let mut text = format!("{commit} {}\0", all.len());
    for Listed { path, is_link } in all {
        text.push(if *is_link { 'l' } else { 'f' });
        text.push_str(path);
        text.push('\0');
    }
    // Ignore the failure: without the cache, git lists the paths.
    if let Err(error) = disk::write_unsynced(&place(folder, path), text.as_bytes(), 0o600) {
        tracing::debug!(%error, "the list of a commit's files cannot be cached");
    }
}

/// Returns the cached list of a commit's paths below `path`; `None` if the cache has no complete list for this commit.
pub fn cached(folder: &Path, path: &str, commit: &str) -> Option<Vec<Listed>> {
    let text = file::read_text(&place(folder, path), MOST).ok()?;
    let (count, rest) = text.strip_prefix(commit)?.strip_prefix(' ')?.split_once('\0')?;
    let listed = |line: &str| {
        let path = line.get(1..).filter(|path| !path.is_empty())?.to_owned();
        match line.as_bytes()[0] {
            b'l' => Some(Listed { path, is_link: true }),
            b'f' => Some(Listed { path, is_link: false }),
            _ => None,
        }
    };
    let all: Vec<Listed> = rest.split_terminator('\0').map(listed).collect::<Option<_>>()?;
    (count == all.len().to_string()).then_some(all)
}

fn place(folder: &Path, path: &str) -> PathBuf {
    folder.join(format!("listing-{}", &sha256::hex(path)[..32]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_paths_belong_to_one_commit_and_folder() {
        let folder = tempfile::tempdir().unwrap();
        let listed = |path: &str, is_link| Listed { path: path.to_owned(), is_link };
        let all = vec![listed("a b/é.md", false), listed("CLAUDE.md", true)];
        assert_eq!(cached(folder.path(), "", "c1"), None);
        keep(folder.path(), "", "c1", &all);
        assert_eq!(cached(folder.path(), "", "c1"), Some(all.clone()));
        assert_eq!(cached(folder.path(), "", "c2"), None);
        assert_eq!(cached(folder.path(), "skills", "c1"), None);
        keep(folder.path(), "", "c2", &[]);
        assert_eq!((cached(folder.path(), "", "c1"), cached(folder.path(), "", "c2")), (None, Some(Vec::new())));
        // Truncated or malformed lists are ignored.
        for text in ["c2 2\0fa\0", "c2 1\0xa\0", "c2 1\0f\0", "c2", "c2 1", "c2x 1\0fa\0"] {
            std::fs::write(place(folder.path(), ""), text).unwrap();
            assert_eq!(cached(folder.path(), "", "c2"), None, "{text:?}");
        }
    }
}
