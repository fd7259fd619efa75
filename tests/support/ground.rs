//! Makes a home folder and a deploy root for a test, and compares their files byte for byte.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Ran, Scratch};

/// A scratch folder that contains a database, a home folder, a deploy root, and a folder for a config repo.
pub struct Ground {
    pub scratch: Scratch,
}

impl Ground {
    pub fn new() -> Self {
        Self::below(Scratch::with_project_here())
    }

    /// Makes the home folder and the deploy root in an existing scratch folder.
    pub fn below(scratch: Scratch) -> Self {
        let ground = Self { scratch };
        for folder in [ground.home(), ground.root()] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        ground
    }

    /// Returns the folder that contains the home folder and the root.
    pub fn path(&self) -> PathBuf {
        self.scratch.path().join("ground")
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    pub fn repo(&self) -> PathBuf {
        self.scratch.path().join("repo")
    }

    /// Writes a file below the root, with its mode.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.scratch.file(&format!("ground/root/{name}"), content);
        set_mode(&path, mode);
        path
    }

    /// Returns the text of a file below the root.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let bytes = std::fs::read(self.root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        String::from_utf8(bytes).expect("UTF-8")
    }

    /// Writes a file in the config repo.
    pub fn in_repo(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.scratch.file(&format!("repo/{name}"), content)
    }

    /// Returns a command that runs the mcpkg binary in the root, with this home folder.
    pub fn command(&self) -> Command {
        self.command_under(&[])
    }

    /// Like [`Ground::command`], but another program, such as `strace`, starts the binary.
    pub fn command_under(&self, wrapper: &[&str]) -> Command {
        let mut command = self.scratch.command_under(wrapper);
        command.env("HOME", self.home()).current_dir(self.root());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.scratch.finish(self.command().args(arguments))
    }

    /// Runs the binary, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.status, 0, "mcpkg {}\n{ran}", arguments.join(" "));
        ran.stdout
    }

    /// Runs the binary with `--json` and returns the envelope that it printed, even after a failure.
    #[track_caller]
    pub fn envelope(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[&["--json"], arguments].concat());
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{ran}", arguments.join(" ")))
    }

    /// Runs the binary with `--json`, which must succeed, and returns the data in its envelope.
    #[track_caller]
    pub fn data(&self, arguments: &[&str]) -> Value {
        let mut envelope = self.envelope(arguments);
        assert_eq!(envelope["ok"], true, "mcpkg {}\n{envelope:#}", arguments.join(" "));
        envelope["data"].take()
    }

    /// Runs the binary with `--json`, which must fail, and returns the first error.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str]) -> Value {
        let mut envelope = self.envelope(arguments);
        assert_eq!(envelope["ok"], false, "mcpkg {}\n{envelope:#}", arguments.join(" "));
        envelope["errors"][0].take()
    }

    /// Returns all files, folders and links in the home folder and the root.
    pub fn tree(&self) -> Tree {
        Tree::of(&self.path())
    }
}

/// Sets the permission bits of a file.
pub fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

/// A folder with its mode, a file with its mode and bytes, or a link with its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    Folder(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
}

/// Everything below a folder, by path.
#[derive(Clone, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<PathBuf, Thing>);

impl Tree {
    pub fn of(folder: &Path) -> Self {
        let mut things = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(at) = folders.pop() {
            for entry in std::fs::read_dir(&at).expect("a folder").map(|entry| entry.expect("an entry")) {
                let path = entry.path();
                let metadata = entry.metadata().expect("metadata");
                let mode = metadata.permissions().mode() & 0o7777;
                let thing = if metadata.is_symlink() {
                    Thing::Link(std::fs::read_link(&path).expect("a link"))
                } else if metadata.is_dir() {
                    folders.push(path.clone());
                    Thing::Folder(mode)
                } else {
                    Thing::File(mode, std::fs::read(&path).expect("a file"))
                };
                things.insert(path.strip_prefix(folder).expect("below").to_owned(), thing);
            }
        }
        Self(things)
    }

    /// Writes everything below another folder.
    pub fn write(&self, folder: &Path) {
        for (path, thing) in &self.0 {
            let path = folder.join(path);
            match thing {
                Thing::Folder(_) => std::fs::create_dir(path).expect("a folder"),
                Thing::Link(to) => std::os::unix::fs::symlink(to, path).expect("a link"),
                Thing::File(mode, bytes) => {
                    std::fs::write(&path, bytes).expect("a file");
                    set_mode(&path, *mode);
                }
            }
        }
    }

    /// Returns the paths of the temporary files that mcpkg creates while it applies a deploy.
    pub fn leftovers(&self) -> Vec<&Path> {
        let is_ours = |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".mcpkg-"));
        self.0.keys().map(PathBuf::as_path).filter(is_ours).collect()
    }

    /// Returns one line for each path at which the trees differ, with its state in each tree.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let paths: std::collections::BTreeSet<&PathBuf> = self.0.keys().chain(other.0.keys()).collect();
        let word = |thing: Option<&Thing>| match thing {
            None => "nothing".to_owned(),
            Some(Thing::Folder(mode)) => format!("a folder {mode:o}"),
            Some(Thing::Link(to)) => format!("a link to {}", to.display()),
            Some(Thing::File(mode, bytes)) => format!("{mode:o} {:?}", String::from_utf8_lossy(bytes)),
        };
        let differs = |path: &&&PathBuf| self.0.get(**path) != other.0.get(**path);
        let line =
            |path: &PathBuf| format!("{}: {} | {}", path.display(), word(self.0.get(path)), word(other.0.get(path)));
        paths.iter().filter(differs).map(|path| line(path)).collect()
    }

    #[track_caller]
    pub fn assert_is(&self, other: &Self, when: &str) {
        let mut differences = self.differences(other);
        let count = differences.len();
        // Show only some of the differences, so that the failure stays readable.
        differences.truncate(12);
        let lines: Vec<String> = differences.iter().map(|line| line.chars().take(300).collect()).collect();
        assert!(count == 0, "{when}: {count} differences: is | should be\n{}", lines.join("\n"));
    }
}
