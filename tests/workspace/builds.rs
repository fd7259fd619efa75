//! Creates a workspace whose repositories are only folders with commands, which is enough for builds.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Client, Ran, Scratch, at_a_terminal, eventually, skipped};

/// The manifest of a workspace with one repository that has a build command.
pub const ONE: &str = "[workspace]\nname = \"shop\"\n\n[[repos]]\nname = \"lib\"\nurl = \"https://example.org/lib.git\"\nbuild_cmd = \"true\"\n";

/// A workspace with build commands.
pub struct Builds {
    pub scratch: Scratch,
    root: PathBuf,
}

impl Builds {
    /// Creates a workspace with these repositories: the name, and the other lines of the entry.
    pub fn new(repos: &[(&str, &str)]) -> Self {
        let scratch = Scratch::new();
        let root = scratch.path().join("shop");
        std::fs::create_dir_all(root.join(".smctl")).expect("a folder");
        for (name, _) in repos {
            std::fs::create_dir(root.join(name)).expect("a repository's folder");
        }
        let builds = Self { scratch, root };
        builds.write(repos);
        builds
    }

    /// Writes the manifest again.
    pub fn write(&self, repos: &[(&str, &str)]) {
        let entry = |(name, keys): &(&str, &str)| {
            format!("\n[[repos]]\nname = \"{name}\"\nurl = \"https://example.org/{name}.git\"\n{keys}\n")
        };
        let entries: String = repos.iter().map(entry).collect();
        let manifest = format!("[workspace]\nname = \"shop\"\n{entries}");
        std::fs::write(self.root.join(".smctl/workspace.toml"), manifest).expect("a manifest");
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the content of a file below the root, or an empty text if it does not exist.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root.join(name)).unwrap_or_default()
    }

    /// Returns a command that runs the real binary in the workspace.
    pub fn command(&self) -> Command {
        let mut command = self.scratch.command();
        command.current_dir(&self.root);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.scratch.finish(self.command().args(arguments))
    }

    /// Runs the binary with `--json`. Returns its exit status and its JSON document.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let ran = self.scratch.finish(self.command().arg("--json").args(arguments));
        let document = serde_json::from_str(&ran.stdout);
        (ran.status, document.unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{ran}")))
    }

    /// Starts a server in the workspace, and a client that has done the handshake.
    pub fn server(&self) -> Client {
        Client::spawn(self.command().arg("serve")).shake_hands("2025-11-25")
    }

    /// Consents to the waiting request at a terminal. Returns false without a terminal.
    #[track_caller]
    pub fn consent(&self) -> bool {
        let (_, waiting) = self.json(&["consent", "list"]);
        let id = waiting["consents"][0]["id"].as_str().expect("a request waits").to_owned();
        let mut command = self.command();
        command.args(["consent", "approve", &id]);
        match at_a_terminal(&command, "y\n") {
            Some((said, ok)) => {
                assert!(ok, "{said}");
                true
            }
            None => {
                skipped("there is no script(1)");
                false
            }
        }
    }

    /// Starts a server, and consents to its client's builds. Returns `None` without a terminal.
    pub fn trusted_server(&self) -> Option<Client> {
        let mut client = self.server();
        refused(&mut client, json!({}), "E_CONSENT_REQUIRED");
        self.consent().then_some(client)
    }

    /// Waits until a file below the root contains a process id, and returns it.
    #[track_caller]
    pub fn process(&self, file: &str) -> u32 {
        eventually("a command writes its id", || self.read(file).strip_suffix('\n')?.parse().ok())
    }
}

/// Calls smctl_build, and returns the whole answer: a result or an error.
#[track_caller]
pub fn build(client: &mut Client, arguments: Value) -> Value {
    client.request("tools/call", json!({ "name": "smctl_build", "arguments": arguments }))
}

/// Calls smctl_build, which must fail, and returns the JSON-RPC error.
#[track_caller]
pub fn refused(client: &mut Client, arguments: Value, code: &str) -> Value {
    let mut answer = build(client, arguments);
    assert_eq!(answer["error"]["data"]["code"], code, "{answer:#}");
    answer["error"].take()
}

/// Returns whether a process runs. A zombie does not count.
pub fn runs(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits until a process has ended.
#[track_caller]
pub fn assert_gone(id: u32) {
    eventually("the process ends", || (!runs(id)).then_some(()));
}
