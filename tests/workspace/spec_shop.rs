//! A workspace of two repositories, and complete specs for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mcpkg_workspace::root::Workspace;
use serde_json::Value;

use crate::support::{Ran, Scratch, tool};

/// A workspace with the repositories `api` and `web`, created without mcpkg.
pub struct Shop {
    pub scratch: Scratch,
}

pub const MANIFEST: &str = r#"
[workspace]
name = "shop"

[[repos]]
name = "api"
url = "https://example.org/api.git"

[[repos]]
name = "web"
url = "https://example.org/web.git"
"#;

/// Documents without errors and warnings.
pub const PROPOSAL: &str = "# login\n\n## Why\n\nUsers have no accounts.\n\n## What Changes\n\n- A form.\n";
pub const DESIGN: &str =
    "## Decisions\n\n### Decision 1: One table\n\n**Choice:** One.\n**Rationale:** It is enough.\n";
pub const TASKS: &str = "## Do\n\n- [x] 1.1 Make the table\n- [x] 1.2 Make the form\n";

impl Shop {
    pub fn new() -> Self {
        let shop = Self { scratch: Scratch::new() };
        shop.scratch
            .file(".gitconfig", "[user]\n\tname = A\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n");
        shop.write(".smctl/workspace.toml", MANIFEST);
        for repo in ["api", "web"] {
            let folder = shop.root().join(repo);
            fs::create_dir_all(&folder).expect("a folder");
            shop.git(repo, &["init", "--quiet"]);
            shop.git(repo, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
            shop.git(repo, &["branch", "develop"]);
        }
        shop
    }

    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("shop")
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        self.scratch.file(&format!("shop/{path}"), text)
    }

    pub fn git(&self, repo: &str, args: &[&str]) -> String {
        let mut git = tool("git");
        let folder = self.root().join(repo);
        git.args(args).current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let output = git.env("HOME", self.scratch.path()).output().expect("git starts");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Writes a complete spec with these changes.
    pub fn spec(&self, folder: &str, change: &[(&str, &str)]) {
        complete(&self.scratch, &format!("shop/{folder}"));
        for (file, text) in change {
            self.write(&format!("{folder}/{file}"), text);
        }
    }

    pub fn run_in(&self, folder: &str, args: &[&str]) -> Ran {
        self.scratch.finish(self.scratch.command().current_dir(self.root().join(folder)).args(args))
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_in("", args)
    }

    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[&["--json"], args].concat());
        assert_eq!(ran.status, 0, "{args:?}\n{ran}");
        let printed = ran.stdout.replace("<SCRATCH>", &self.scratch.path().display().to_string());
        serde_json::from_str(&printed).expect("one document")
    }

    /// Runs a command that must fail, and returns the exit status and the error.
    #[track_caller]
    pub fn fails(&self, args: &[&str]) -> (i32, Value) {
        let ran = self.run(&[&["--json"], args].concat());
        assert_ne!(ran.status, 0, "{args:?}\n{ran}");
        let printed: Value = serde_json::from_str(&ran.stdout).expect("one document");
        (ran.status, printed["error"].clone())
    }

    pub fn workspace(&self) -> Workspace {
        Workspace::read(&self.root().canonicalize().expect("the root")).expect("the manifest")
    }

    /// Returns every file of the workspace with its bytes, except the lock and git's files. Folders are listed too,
    /// with no bytes.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.root(), &self.root(), &mut files);
        files
    }
}

/// Writes a complete spec below a scratch folder.
pub fn complete(scratch: &Scratch, folder: &str) {
    let metadata = "schema: spec-driven\ncreated: 2026-02-11\nstatus: draft\n";
    for (file, text) in [
        (".openspec.yaml", metadata),
        ("specs/login/spec.md", "# Login\n"),
        ("proposal.md", PROPOSAL),
        ("design.md", DESIGN),
        ("tasks.md", TASKS),
    ] {
        scratch.file(&format!("{folder}/{file}"), text);
    }
}

pub fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root).expect("below").display().to_string();
        if name.ends_with(".git") || name == ".smctl/lock" || name == ".smctl/.gitignore" {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            files.insert(format!("{name}/"), Vec::new());
            collect(root, &path, files);
        } else {
            files.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
}
