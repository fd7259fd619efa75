//! Sets up a place for tests: a temporary home, a root to deploy into, a database, and optionally a config repo.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::deploy::answers::word;
use crate::support::{Client, Ran, Scratch, tool};

/// A temporary place to deploy to. Commands in it neither read nor write the user's own files.
pub struct Place {
    pub scratch: Scratch,
}

/// The URL of the git source of [`Place::with_git_source`].
pub const UPSTREAM: &str = "https://git.invalid/upstream";

/// The content of a folder, by path: files with mode and bytes, links, and empty folders.
pub type Tree = BTreeMap<String, String>;

impl Place {
    /// Creates a home and a root, without a source.
    pub fn new() -> Self {
        Self::on(Scratch::new())
    }

    /// Like [`Place::new`], in an existing folder.
    pub fn on(scratch: Scratch) -> Self {
        let place = Self { scratch };
        for folder in [place.home(), place.root()] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        place
    }

    /// Creates a place with the selected project `p`, which has instructions, a command and a skill.
    pub fn with_project() -> Self {
        let place = Self::on(Scratch::with_project_here());
        place.instructions("style", "Be brief.\n");
        place.prompt("review", "Review the change.\n");
        place.resource("skill://tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies up\n---\nTidy.\n");
        place
    }

    /// Creates a place and a config repo that has these target lines and modules, such as `("instructions:a", "Text
    /// ")`.
    pub fn with_repo(targets: &[&str], modules: &[(&str, &str)]) -> Self {
        let place = Self::new();
        place.declare(targets, modules);
        place
    }

    /// Creates a place with a config repo. Its last module comes from an unpinned branch of a git repository.
    pub fn with_git_source(targets: &[&str]) -> Self {
        Self::new().and_git_source(targets)
    }

    /// Adds the config repo and git repository of [`Place::with_git_source`].
    pub fn and_git_source(self, targets: &[&str]) -> Self {
        let place = self;
        place.declare(targets, &[("instructions:a", "Reviewed\n")]);
        place.write("upstream/AGENTS.md", "From git\n");
        let upstream = place.scratch.path().join("upstream");
        place.git(&upstream, &["init", "-q", "-b", "main"]);
        place.git(&upstream, &["add", "-A"]);
        place.git(&upstream, &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "x"]);
        // A rule in the user's git configuration redirects the URL to this machine.
        let rule = format!("[url \"file://{}\"]\n\tinsteadOf = {UPSTREAM}\n", upstream.display());
        place.write("home/.gitconfig", rule);
        let manifest = place.read("repo/agentpack.yaml");
        let source = format!("git: {{url: '{UPSTREAM}'}}");
        let module = format!("  - {{id: 'instructions:z', type: instructions, tags: [base], source: {{{source}}}}}\n");
        place.write("repo/agentpack.yaml", format!("{manifest}{module}"));
        place
    }

    pub fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    pub fn repo(&self) -> PathBuf {
        self.scratch.path().join("repo")
    }

    /// Writes the config repo, replacing an earlier one. A target is `codex: project` or `codex: {scope: both, options:
    /// {...}}`.
    pub fn declare(&self, targets: &[&str], modules: &[(&str, &str)]) {
        let mut text = "version: 1\nprofiles:\n  default: {include_tags: [base]}\ntargets:\n".to_owned();
        for target in targets {
            let (name, rest) = target.split_once(": ").expect("a target's line");
            let rest = if rest.starts_with('{') { rest.to_owned() } else { format!("{{scope: {rest}}}") };
            text.push_str(&format!("  {name}: {rest}\n"));
        }
        text.push_str("modules:\n");
        for (id, body) in modules {
            let kind = id.split(':').next().expect("a type");
            let folder = format!("modules/{}", id.replace([':', '/'], "_"));
            text.push_str(&format!(
                "  - {{id: '{id}', type: {kind}, tags: [base], source: {{local_path: {{path: {folder}}}}}}}\n"
            ));
            self.module(id, body);
        }
        self.write("repo/agentpack.yaml", text);
    }

    /// Writes the text of a module in the config repo.
    pub fn module(&self, id: &str, body: &str) {
        let name = id.split_once(':').map_or(id, |(_, name)| name);
        let file = match id.split(':').next() {
            Some("instructions") => "AGENTS.md".to_owned(),
            Some("skill") => "SKILL.md".to_owned(),
            _ => format!("{name}.md"),
        };
        self.write(&format!("repo/modules/{}/{file}", id.replace([':', '/'], "_")), body);
    }

    /// Commits the config repo's current content. Creates the git repository first if needed.
    pub fn commit(&self) {
        let repo = self.repo();
        self.git(&repo, &["init", "-q", "-b", "main"]);
        self.git(&repo, &["add", "-A"]);
        self.git(&repo, &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "x"]);
    }

    /// Runs git, which must succeed, and returns its output.
    #[track_caller]
    pub fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let mut command = tool("git");
        command.args(arguments).current_dir(folder).env("HOME", self.home()).env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.stdin(Stdio::null()).output().expect("git starts");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Creates or updates a resource below `instructions://`.
    pub fn instructions(&self, name: &str, text: &str) {
        self.resource(&format!("instructions://{name}"), text);
    }

    /// Creates or updates a resource. Its name is made from its URI.
    pub fn resource(&self, uri: &str, text: &str) {
        let name: String = uri.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        if self.run(&["resource", "show", &name]).status == 0 {
            self.ok(&["resource", "update", &name, "--content", text]);
        } else {
            self.ok(&["resource", "create", &name, uri, text]);
        }
    }

    /// Creates or updates a prompt.
    pub fn prompt(&self, name: &str, text: &str) {
        if self.run(&["prompt", "show", name]).status == 0 {
            self.ok(&["prompt", "update", name, "--content", text]);
        } else {
            self.ok(&["prompt", "create", name, text]);
        }
    }

    /// Returns the real binary as a command, started in the root.
    pub fn command(&self) -> Command {
        self.command_under(&[])
    }

    /// Returns the real binary as a command under another program.
    pub fn command_under(&self, wrapper: &[&str]) -> Command {
        let mut command = self.scratch.command_under(wrapper);
        command
            .env("HOME", self.home())
            .env("AGENTPACK_HOME", self.scratch.path().join("agentpack"))
            .env("AGENTPACK_MACHINE_ID", "box")
            .current_dir(self.root());
        command
    }

    /// Runs the binary in the root.
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

    /// Runs the binary with `--json` and returns the envelope.
    #[track_caller]
    pub fn envelope(&self, arguments: &[&str]) -> Value {
        let output = self.command().arg("--json").args(arguments).output().expect("mcpkg starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: mcpkg {arguments:?}\n{text}\n{error}"))
    }

    /// Runs the binary with `--json`, which must succeed, and returns the envelope's data.
    #[track_caller]
    pub fn data(&self, arguments: &[&str]) -> Value {
        let mut envelope = self.envelope(arguments);
        assert_eq!(envelope["ok"], true, "mcpkg {}\n{envelope:#}", arguments.join(" "));
        envelope["data"].take()
    }

    /// Runs the binary with `--json`, which must fail with `code`, and returns the envelope's error.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str], code: &str) -> Value {
        let mut envelope = self.envelope(arguments);
        assert_eq!(envelope["errors"][0]["code"], code, "mcpkg {}\n{envelope:#}", arguments.join(" "));
        envelope["errors"][0].take()
    }

    /// Runs the binary on the config repo, and returns the envelope's data.
    #[track_caller]
    pub fn of_repo(&self, arguments: &[&str]) -> Value {
        let repo = self.repo().display().to_string();
        self.data(&[arguments, &["--repo", &repo]].concat())
    }

    /// Deploys, and returns the snapshot's id.
    #[track_caller]
    pub fn deploy(&self, more: &[&str]) -> String {
        let data = self.data(&[&["deploy", "--apply", "--yes"], more].concat());
        assert_eq!(data["applied"], true, "{data:#}");
        data["snapshot_id"].as_str().expect("a snapshot").to_owned()
    }

    /// Deploys the config repo and returns the snapshot's id.
    #[track_caller]
    pub fn deploy_repo(&self) -> String {
        self.deploy(&["--repo", &self.repo().display().to_string()])
    }

    /// Returns the changes of a plan as `op path`. Paths are relative to the scratch folder.
    #[track_caller]
    pub fn planned(&self, more: &[&str]) -> Vec<String> {
        let data = self.data(&[&["plan"], more].concat());
        let changes = data["changes"].as_array().expect("changes").iter();
        changes.map(|change| format!("{} {}", word(&change["op"]), self.short(word(&change["path"])))).collect()
    }

    /// Returns the drifted files as `kind state path`.
    #[track_caller]
    pub fn drift(&self, more: &[&str]) -> Vec<String> {
        let data = self.data(&[&["status"], more].concat());
        let drift = data["drift"].as_array().expect("drift").iter();
        let said = |item: &Value| {
            format!("{} {} {}", word(&item["kind"]), word(&item["state"]), self.short(word(&item["path"])))
        };
        drift.map(said).collect()
    }

    /// Returns a path relative to the scratch folder.
    pub fn short(&self, path: &str) -> String {
        let folder = format!("{}/", self.scratch.path().display());
        path.strip_prefix(&folder).unwrap_or(path).to_owned()
    }

    /// Writes a file below the scratch folder.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.scratch.file(path, content)
    }

    /// Reads a file below the scratch folder.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.scratch.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.scratch.path().join(path).symlink_metadata().is_ok()
    }

    /// Returns the content of the home and the root.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        for name in ["home", "root"] {
            walk(&self.scratch.path().join(name), name, &mut tree);
        }
        tree
    }

    /// Returns the paths of the files in the home and the root.
    pub fn files(&self) -> Vec<String> {
        self.tree().into_iter().filter(|(_, what)| what != "folder").map(|(path, _)| path).collect()
    }

    /// Starts a server in the root and shakes hands.
    pub fn server(&self, arguments: &[&str]) -> Client {
        Client::spawn(self.command().arg("serve").args(arguments)).shake_hands("2025-06-18")
    }

    /// Returns a tool's arguments, with the config repo added.
    pub fn arguments(&self, mut more: Value) -> Value {
        more["repo"] = json!(self.repo());
        more
    }
}

fn walk(folder: &Path, name: &str, tree: &mut Tree) {
    let mut empty = true;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        empty = false;
        let path = entry.expect("an entry").path();
        let name = format!("{name}/{}", path.file_name().expect("a name").to_string_lossy());
        // The tree may be written while it is read, so a file may be gone.
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_symlink() {
            tree.insert(name, format!("link to {}", path.read_link().expect("a link").display()));
        } else if metadata.is_dir() {
            walk(&path, &name, tree);
        } else {
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let mode = metadata.permissions().mode() & 0o7777;
            tree.insert(name, format!("{mode:o} {}", String::from_utf8_lossy(&bytes)));
        }
    }
    if empty {
        tree.insert(name.to_owned(), "folder".to_owned());
    }
}
