//! `mcpkg client`: the agents' own configuration, written, taken back, and tried.

mod checks;
mod entries;
mod refusals;
mod round_trips;

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{BINARY, Ground, Ran};

/// The agents with the user's file, the project's, and the key that holds the servers.
const FILES: [(&str, &str, Option<&str>, &str); 9] = [
    ("claude-code", ".claude.json", Some(".mcp.json"), "mcpServers"),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", None, "mcpServers"),
    ("codex", ".codex/config.toml", Some(".codex/config.toml"), "mcp_servers"),
    ("cursor", ".cursor/mcp.json", Some(".cursor/mcp.json"), "mcpServers"),
    ("vscode", ".config/Code/User/mcp.json", Some(".vscode/mcp.json"), "servers"),
    ("windsurf", ".codeium/windsurf/mcp_config.json", None, "mcpServers"),
    ("gemini", ".gemini/settings.json", Some(".gemini/settings.json"), "mcpServers"),
    ("copilot", ".copilot/mcp-config.json", Some(".github/mcp.json"), "mcpServers"),
    ("opencode", ".config/opencode/opencode.json", Some("opencode.json"), "mcp"),
];

/// An agent with one of its files.
struct Case {
    agent: &'static str,
    scope: &'static str,
    /// Below the ground.
    file: String,
    /// The key that holds the servers.
    key: &'static str,
}

fn cases() -> Vec<Case> {
    let user =
        FILES.iter().map(|(agent, file, _, key)| Case { agent, scope: "user", file: format!("home/{file}"), key });
    let project = FILES.iter().filter_map(|(agent, _, file, key)| {
        Some(Case { agent, scope: "project", file: format!("root/{}", (*file)?), key })
    });
    user.chain(project).collect()
}

impl Case {
    fn path(&self, ground: &Ground) -> PathBuf {
        ground.path().join(&self.file)
    }

    fn put(&self, ground: &Ground, content: impl AsRef<[u8]>) -> PathBuf {
        ground.scratch.file(&format!("ground/{}", self.file), content)
    }

    fn is_toml(&self) -> bool {
        self.agent == "codex"
    }
}

/// The binary, with no agent on PATH.
fn command(ground: &Ground) -> Command {
    let mut command = ground.command();
    command.env("PATH", ground.scratch.path().join("bin")).arg("client");
    // Copies of agents' files are kept there, not among what the tests compare.
    command.env("XDG_DATA_HOME", ground.scratch.path().join("data"));
    command
}

fn run(ground: &Ground, arguments: &[&str]) -> Ran {
    ground.scratch.finish(command(ground).args(arguments))
}

#[track_caller]
fn ok(ground: &Ground, arguments: &[&str]) -> String {
    let ran = run(ground, arguments);
    assert_eq!(ran.status, 0, "mcpkg client {}\n{ran}", arguments.join(" "));
    ran.stdout
}

#[track_caller]
fn data(ground: &Ground, arguments: &[&str]) -> Value {
    // As it is, with this machine's paths.
    let output = command(ground).args(arguments).arg("--json").output().expect("mcpkg starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "mcpkg client {}: {said}", arguments.join(" "));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn scoped<'a>(verb: &'a str, case: &Case) -> Vec<&'a str> {
    vec![verb, case.agent, "--scope", case.scope]
}

/// A text with this machine's paths taken out.
fn plain(ground: &Ground, text: &str) -> String {
    text.replace(BINARY, "<MCPKG>").replace(&*ground.scratch.path().to_string_lossy(), "<SCRATCH>")
}
