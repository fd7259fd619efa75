//! Provides two homes: an author who publishes to a folder, and a user who installs from it.

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use serde_json::Value;

use super::trusting;
use crate::support::Scratch;

/// The name of the tool in these tests.
pub const TOOL: &str = "alice/weather";

/// An author with a key and the registry `team`, and a user who added the registry and trusts the author.
pub struct Homes {
    pub author: Scratch,
    pub user: Scratch,
    /// The identity of the author's key.
    pub identity: String,
}

impl Homes {
    pub fn new() -> Self {
        let (author, user) = (Scratch::with_database(), Scratch::with_database());
        let identity = key(&author, "alice");
        author.ok(&["registry", "add", "team", "team-tools", "--create"]);
        let homes = Self { author, user, identity };
        homes.add_registry("team");
        trusting(&homes.user, &homes.identity);
        homes
    }

    /// Returns the folder of one of the author's registries.
    pub fn folder(&self, registry: &str) -> String {
        self.author.path().join(format!("{registry}-tools")).display().to_string()
    }

    /// Adds one of the author's registries to the user's home.
    pub fn add_registry(&self, registry: &str) {
        self.user.ok(&["registry", "add", registry, &self.folder(registry)]);
    }

    /// Publishes a document to `team`, signed by the author.
    pub fn publish(&self, name: &str, version: &str) {
        self.publish_as(name, version, "", "alice", "team");
    }

    /// Publishes a package to a registry. Signs it with the author's key named `key`, unless `key` is empty. `more`
    /// contains more lines of its front matter.
    pub fn publish_as(&self, name: &str, version: &str, more: &str, key: &str, registry: &str) {
        let folder = self.package(name, version, more);
        if !key.is_empty() {
            self.author.ok(&["tool", "sign", &folder, "--key", key]);
        }
        self.author.ok(&["tool", "publish", &folder, "--to", registry]);
    }

    /// Writes a package and returns its folder.
    pub fn package(&self, name: &str, version: &str, more: &str) -> String {
        let front = format!(
            "---\nname: {name}\nversion: {version}\ndescription: Tells the weather\n{more}---\nSun {version}\n"
        );
        let file = self.author.file(&format!("packages/{name}-{version}/SKILL.md"), front);
        file.parent().expect("a folder").display().to_string()
    }

    /// Returns the user's installs: name, version, and whether agents see this version.
    pub fn installed(&self) -> Vec<(String, String, bool)> {
        installed(&self.user)
    }
}

/// Returns the installs of a home: name, version, and whether agents see this version.
pub fn installed(scratch: &Scratch) -> Vec<(String, String, bool)> {
    let listed = scratch.json(&["tool", "list"]);
    let text = |tool: &Value, key: &str| tool[key].as_str().expect("a text").to_owned();
    let tools = listed["tools"].as_array().expect("tools").iter();
    tools.map(|tool| (text(tool, "name"), text(tool, "version"), tool["active"] == true)).collect()
}

/// Makes a key and returns its identity.
pub fn key(scratch: &Scratch, name: &str) -> String {
    let made = scratch.json(&["tool", "key", "new", name]);
    made["identity"].as_str().expect("an identity").to_owned()
}

/// Runs a command that must fail, and returns the error code.
#[track_caller]
pub fn code(scratch: &Scratch, arguments: &[&str]) -> String {
    let ran = scratch.run(&[&["--json"], arguments].concat());
    let failed: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    failed["error"]["code"].as_str().unwrap_or_else(|| panic!("{ran}")).to_owned()
}

/// Runs an operation in this process and returns its data.
pub fn run(context: &Context, command: &[&str], arguments: Value) -> Result<Value> {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.cli == command).expect("an operation");
    entry.from_agent(arguments)?.run(context).map(|reply| reply.data)
}
