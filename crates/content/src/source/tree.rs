//! Parses git's list of the files of a commit, and its list of the differences between two commits.

use crate::import::paths::entered::VERSION_CONTROL;
use mcpkg_base::inside::stays_inside;

/// The kind of an entry in a git tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    File,
    /// A file with the executable bit.
    Executable,
    Link,
    /// A reference to a commit in another repository.
    Submodule,
}

impl Mode {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "100755" => Some(Mode::Executable),
            "120000" => Some(Mode::Link),
            "160000" => Some(Mode::Submodule),
            mode if mode.starts_with("100") => Some(Mode::File),
            _ => None,
        }
    }

    pub const fn is_file(self) -> bool {
        matches!(self, Mode::File | Mode::Executable)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub mode: Mode,
    /// The id of the object with the content.
    pub object: String,
    /// The path from the top of the repository, with `/` separators.
    pub path: String,
}

impl Entry {
    /// Parses a line of `git ls-tree -r -z`.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(line);
        let (about, path) = line.split_once('\t')?;
        let mut words = about.split(' ');
        let mode = Mode::parse(words.next()?)?;
        let object = words.nth(1)?.to_owned();
        Some(Self { mode, object, path: path.to_owned() })
    }

    /// Returns whether a file may be written at this path: the path must be valid UTF-8, and stay in the folder and
    /// outside folders of version control such as `.git`.
    pub fn has_good_path(&self) -> bool {
        let is_of_git_or_its_like = |part: &str| VERSION_CONTROL.iter().any(|name| name.eq_ignore_ascii_case(part));
        stays_inside(&self.path) && !self.path.contains('\u{fffd}') && !self.path.split('/').any(is_of_git_or_its_like)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path from the top of the repository.
    pub path: String,
    /// The former kind of the entry; `None` if the entry is new.
    pub old: Option<Mode>,
    /// The new kind of the entry; `None` if the entry was deleted.
    pub new: Option<Mode>,
    /// The id of the object with the new content.
    pub object: String,
}

impl Change {
    /// Parses the output of `git diff-tree -r -z --raw --no-renames`; `None` if it is malformed.
    pub(super) fn parse_all(said: &[u8]) -> Option<Vec<Self>> {
        let mut parts = said.split(|byte| *byte == 0);
        let mut changes = Vec::new();
        while let Some(about) = parts.next().filter(|about| !about.is_empty()) {
            let about = std::str::from_utf8(about).ok()?.strip_prefix(':')?;
            let words: Vec<&str> = about.split(' ').collect();
            let [old, new, _, object, _] = words[..] else { return None };
            let path = String::from_utf8_lossy(parts.next()?).into_owned();
            changes.push(Self { path, old: Mode::parse(old), new: Mode::parse(new), object: object.to_owned() });
        }
        Some(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_changes_are_read_from_what_git_prints() {
        let entry = Entry::parse(b"100755 blob 12ab\ta b/\xc3\xa9.sh").unwrap();
        assert_eq!((entry.mode, entry.object.as_str(), entry.path.as_str()), (Mode::Executable, "12ab", "a b/é.sh"));
        assert_eq!(Entry::parse(b"160000 commit 12ab\tsub").unwrap().mode, Mode::Submodule);
        assert_eq!(Entry::parse(b"what"), None);
        let said = b":100644 100644 aa bb M\0a.md\0:000000 120000 00 cc A\0l\0:100644 000000 aa 00 D\0gone\0";
        let changes = Change::parse_all(said).unwrap();
        assert_eq!(changes.len(), 3);
        assert_eq!((changes[0].old, changes[0].new), (Some(Mode::File), Some(Mode::File)));
        assert_eq!((changes[1].old, changes[1].new, changes[1].path.as_str()), (None, Some(Mode::Link), "l"));
        assert_eq!((changes[2].new, changes[2].path.as_str()), (None, "gone"));
        assert_eq!(Change::parse_all(b"fatal: no"), None);
        assert_eq!(Change::parse_all(b""), Some(Vec::new()));
    }

    #[test]
    fn paths_outside_the_folder_or_in_version_control_are_refused() {
        for (path, good) in [
            ("a/b c/é.md", true),
            (".github/x", true),
            ("../a", false),
            ("a/../b", false),
            ("/a", false),
            ("a//b", false),
            (".git/hooks/post-checkout", false),
            ("a/.GIT/config", false),
            ("a\\b", false),
        ] {
            let entry = Entry { mode: Mode::File, object: String::new(), path: path.to_owned() };
            assert_eq!(entry.has_good_path(), good, "{path}");
        }
    }
}
