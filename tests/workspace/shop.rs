//! Creates a workspace with three repositories for tests: `lib`, `api` (in `services/api`) and `web`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use crate::support::Client;
use crate::support::Tree;
use crate::support::{Ran, Scratch, folder, tool};

/// The name and path of each repository.
pub const REPOS: [(&str, &str); 3] = [("lib", "lib"), ("api", "services/api"), ("web", "web")];

pub struct Shop {
    pub scratch: Scratch,
}

/// The state of a workspace: refs, what is checked out, indexes, and files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    repos: BTreeMap<String, [String; 4]>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Shop {
    /// Creates three bare repositories with a first commit, and an empty folder for the workspace.
    pub fn bare() -> Self {
        // Copied, because git takes longer than most tests.
        static FIRST: LazyLock<Tree> = LazyLock::new(|| Tree::of(Shop::first().scratch.path()));
        let shop = Self { scratch: Scratch::new() };
        FIRST.write(shop.scratch.path());
        shop
    }

    fn first() -> Self {
        let shop = Self { scratch: Scratch::new() };
        shop.scratch.file(
            ".gitconfig",
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n",
        );
        for (repo, _) in REPOS {
            let seed = shop.scratch.path().join("seed").join(repo);
            std::fs::create_dir_all(&seed).expect("a folder");
            std::fs::write(seed.join("README.md"), format!("# {repo}\n")).expect("a file");
            std::fs::write(seed.join("code.txt"), "one\ntwo\nthree\n").expect("a file");
            shop.git(&seed, &["init", "-q", "-b", "main"]);
            shop.git(&seed, &["add", "-A"]);
            shop.git(&seed, &["commit", "-q", "-m", "first"]);
            let bare = shop.origin(repo);
            shop.git(&seed, &["clone", "-q", "--bare", ".", &bare.display().to_string()]);
            // Its address is a path that a copy does not have.
            shop.git(&bare, &["remote", "remove", "origin"]);
        }
        std::fs::create_dir_all(shop.root()).expect("a folder");
        shop
    }

    /// Creates the workspace.
    pub fn new() -> Self {
        let shop = Self::bare();
        shop.ok(&shop.init_line());
        shop
    }

    /// Returns the command line that creates the workspace.
    pub fn init_line(&self) -> Vec<String> {
        let mut line = vec!["workspace".to_owned(), "init".to_owned(), "shop".to_owned()];
        for (repo, path) in REPOS {
            let place = if repo == path { String::new() } else { format!("={path}") };
            line.extend(["--repo".to_owned(), format!("../origins/{repo}.git{place}")]);
        }
        line
    }

    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("work/shop")
    }

    pub fn origin(&self, repo: &str) -> PathBuf {
        let folder = self.scratch.path().join("work/origins");
        std::fs::create_dir_all(&folder).expect("a folder");
        folder.join(format!("{repo}.git"))
    }

    /// Returns the folder of a repository.
    pub fn repo(&self, repo: &str) -> PathBuf {
        let (_, path) = REPOS.into_iter().find(|(name, _)| *name == repo).expect("a repository");
        self.root().join(path)
    }

    /// Returns a command that runs the real binary in the root.
    pub fn command(&self) -> Command {
        self.command_under(&[])
    }

    /// Like [`Shop::command`], but started by another program.
    pub fn command_under(&self, wrapper: &[&str]) -> Command {
        let mut command = self.scratch.command_under(wrapper);
        command.current_dir(self.root());
        command
    }

    pub fn run<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A]) -> Ran {
        self.scratch.finish(self.command().args(arguments))
    }

    /// Runs the binary, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn ok<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.status, 0, "{ran}");
        ran.stdout
    }

    /// Runs the binary with `--json`, which must succeed, and returns its data.
    #[track_caller]
    pub fn data(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[&["--json"], arguments].concat());
        assert_eq!(ran.status, 0, "{ran}");
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran}"))
    }

    /// Runs the binary with `--json`, which must fail, and returns the error and the exit status.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str]) -> (Value, i32) {
        let ran = self.run(&[&["--json"], arguments].concat());
        assert_ne!(ran.status, 0, "{ran}");
        let mut value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran}"));
        (value["error"].take(), ran.status)
    }

    /// Trusts the programs in a repository's configuration, as a person does at a terminal.
    #[track_caller]
    pub fn trust(&self, repo: &str) {
        let never = tokio_util::sync::CancellationToken::new();
        let limits = mcpkg_base::process::Limits::new(mcpkg_base::git::LOCAL, &never);
        let named = mcpkg_base::git::programs::Named::of(&self.repo(repo), &limits).expect("a configuration");
        assert!(!named.settings.is_empty(), "it names no program");
        mcpkg_base::git::programs::trust(&named, &self.scratch.context().approved).expect("a record");
    }

    /// Runs git, which must succeed, and returns what it printed.
    #[track_caller]
    pub fn git<A: AsRef<std::ffi::OsStr>>(&self, folder: &Path, arguments: &[A]) -> String {
        let output = self.git_command(folder).args(arguments).output().expect("git starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git in {}: {said}", folder.display());
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub fn git_command(&self, folder: &Path) -> Command {
        let mut command = tool("git");
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.scratch.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(folder);
        command
    }

    /// Writes a file in a folder, and commits it there.
    pub fn commit(&self, folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
        self.git(folder, &["add", "-A"]);
        self.git(folder, &["commit", "-q", "-m", &format!("{file}: {}", text.trim())]);
    }

    /// Commits a new file in each repository, on the branch that is checked out.
    pub fn work(&self, file: &str) {
        for (repo, _) in REPOS {
            self.commit(&self.repo(repo), file, &format!("{repo}\n"));
        }
    }

    /// Returns the id of the object that a name, such as a branch, stands for; an empty text if there is none.
    pub fn id(&self, repo: &str, name: &str) -> String {
        let output = self.git_command(&self.repo(repo)).args(["rev-parse", "--verify", "-q", name]).output();
        String::from_utf8_lossy(&output.expect("git starts").stdout).trim().to_owned()
    }

    /// Returns the branch that a repository has checked out.
    pub fn branch(&self, repo: &str) -> String {
        self.git(&self.repo(repo), &["branch", "--show-current"])
    }

    /// Copies everything, for [`Shop::bring_back`].
    pub fn save(&self) -> tempfile::TempDir {
        let saved = folder();
        copy(self.scratch.path(), saved.path());
        saved
    }

    /// Restores everything that was saved.
    pub fn bring_back(&self, saved: &tempfile::TempDir) {
        for entry in std::fs::read_dir(self.scratch.path()).expect("a folder").flatten() {
            let path = entry.path();
            let removed = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            removed.expect("gone");
        }
        copy(saved.path(), self.scratch.path());
    }

    /// Returns the state of the workspace, without the refs that keep old commits and without git's files.
    pub fn state(&self) -> State {
        let one = |repo: &str| {
            let folder = self.repo(repo);
            let refs = self.git(&folder, &["for-each-ref", "--format=%(refname) %(objectname)"]);
            let refs = refs.lines().filter(|line| !line.starts_with("refs/mcpkg/")).collect::<Vec<_>>().join("\n");
            let head = std::fs::read_to_string(folder.join(".git/HEAD")).expect("a HEAD");
            let index = self.git(&folder, &["ls-files", "-s"]);
            let status = self.git(&folder, &["status", "--porcelain", "--untracked-files=all", "--ignored"]);
            [refs, head, index, status]
        };
        let repos = REPOS.into_iter().filter(|(repo, _)| self.repo(repo).join(".git").exists());
        let repos = repos.map(|(repo, _)| (repo.to_owned(), one(repo))).collect();
        let mut files = Vec::new();
        collect(&self.root(), &self.root(), &mut files);
        files.sort();
        State { repos, files }
    }

    /// Checks that nothing is left over: no journal, temporary files, git locks or marks of an unfinished clone.
    #[track_caller]
    pub fn assert_tidy(&self) {
        let own = self.root().join(".smctl");
        assert!(!own.join("applying").exists(), "a journal stays");
        let left: Vec<_> = std::fs::read_dir(own.join("tmp")).map(|tmp| tmp.flatten().collect()).unwrap_or_default();
        assert!(left.is_empty(), "{left:?}");
        for (repo, _) in REPOS {
            let git = self.repo(repo).join(".git");
            if git.exists() {
                let tree = Tree::of(&git);
                let locks: Vec<_> =
                    tree.0.keys().filter(|path| path.extension().is_some_and(|e| e == "lock")).collect();
                assert!(locks.is_empty(), "{locks:?}");
                assert!(!git.join("mcpkg-clone").exists(), "a mark stays");
            }
        }
    }

    /// Starts a server over stdio in the workspace, with the handshake of an older revision of MCP.
    pub fn client(&self, arguments: &[&str]) -> Client {
        Client::spawn(self.command().arg("serve").args(arguments)).shake_hands("2025-06-18")
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = tool("cp").arg("-a").arg(from.join(".")).arg(to).status().expect("cp starts");
    assert!(copied.success(), "{} is copied", from.display());
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name == ".git" || (folder == root && name == ".smctl") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.push((path.strip_prefix(root).expect("below").to_owned(), std::fs::read(&path).unwrap_or_default()));
        }
    }
}
