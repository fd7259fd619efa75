//! Makes a git repository as another person would maintain it: a bare repository, and a work tree that pushes to it.

use std::path::{Path, PathBuf};

use super::{folder, tool};

/// A repository that another person maintains.
pub struct Upstream {
    folder: tempfile::TempDir,
}

impl Upstream {
    /// Makes a repository with the branch `main` and a first commit of these files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let upstream = Self { folder: folder() };
        let bare = upstream.bare().display().to_string();
        upstream.run(upstream.folder.path(), &["init", "-q", "--bare", "-b", "main", &bare]);
        std::fs::create_dir(upstream.tree()).expect("a folder");
        upstream.git(&["init", "-q", "-b", "main"]);
        upstream.git(&["remote", "add", "origin", &bare]);
        upstream.commit(files);
        upstream
    }

    /// Returns the bare repository.
    pub fn bare(&self) -> PathBuf {
        self.folder.path().join("kit.git")
    }

    /// Returns the work tree.
    pub fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    /// Returns the URL that git fetches from.
    pub fn url(&self) -> String {
        format!("file://{}", self.bare().display())
    }

    /// Runs git in the work tree and returns what it printed.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.run(&self.tree(), arguments)
    }

    fn run(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = tool("git")
            .args(["-c", "user.name=Up", "-c", "user.email=up@example.com", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .output()
            .expect("git starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {}: {said}", arguments.join(" "));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Writes a file in the work tree.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.tree().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// Writes files, commits all changes, pushes, and returns the commit.
    pub fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, text) in files {
            self.write(path, text);
        }
        self.publish(&["push", "-q", "origin", "main"])
    }

    /// Removes a file or folder from the work tree.
    pub fn remove(&self, path: &str) {
        self.git(&["rm", "-q", "-r", path]);
    }

    /// Commits all changes, pushes with these arguments of git, and returns the commit.
    pub fn publish(&self, push: &[&str]) -> String {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "change"]);
        self.git(push);
        self.git(&["rev-parse", "HEAD"])
    }
}

/// Returns the text of a skill's SKILL.md.
pub fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: What {name} is for\n---\n# {name}\n\n{body}")
}
