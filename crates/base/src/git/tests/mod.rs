//! Tests git in temporary repositories.

mod command;
mod objects;
mod remotes;
mod snapshots;
mod transaction;

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::Git;

/// A temporary repository with a first commit on `main`.
struct Repository {
    _folder: TempDir,
    top: PathBuf,
    never: CancellationToken,
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir(&top).unwrap();
        let repository = Self { _folder: folder, top, never: CancellationToken::new() };
        repository.run(&["init", "--quiet", "--initial-branch=main"]);
        for (key, value) in [("user.name", "A U Thor"), ("user.email", "author@example.com")] {
            repository.run(&["config", key, value]);
        }
        repository.commit("a.txt", "one\n");
        repository
    }

    fn git(&self) -> Git<'_> {
        self.as_user(Git::of(&self.top, &self.never))
    }

    /// Adds the user configuration to git, if the test has written one.
    fn as_user<'a>(&self, git: Git<'a>) -> Git<'a> {
        let config = self.top.with_file_name("user.gitconfig");
        if config.exists() { git.variable("GIT_CONFIG_GLOBAL", config) } else { git }
    }

    fn run(&self, args: &[&str]) -> String {
        self.git().text(args).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.top.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// Commits a file on the current branch; returns the commit's id.
    fn commit(&self, name: &str, text: &str) -> String {
        self.write(name, text);
        self.run(&["add", "--all"]);
        self.run(&["commit", "--quiet", "--message", name]);
        self.run(&["rev-parse", "HEAD"])
    }

    fn at(&self, name: &str) -> String {
        self.run(&["rev-parse", "--verify", name])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }
}

/// Returns the files below a folder with names that end in `.lock`.
fn locks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(locks(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "lock") {
            found.push(entry);
        }
    }
    found
}
