//! `mcpkg client`: the agents' own configuration, written, taken back, and tried.

mod checks;
mod entries;
mod refusals;
mod round_trips;

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{BINARY, Ground, Ran};

/// The agents with the user's file and the project's.
const FILES: [(&str, &str, Option<&str>); 9] = [
    ("claude-code", ".claude.json", Some(".mcp.json")),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", None),
    ("codex", ".codex/config.toml", Some(".codex/config.toml")),
    ("cursor", ".cursor/mcp.json", Some(".cursor/mcp.json")),
    ("vscode", ".config/Code/User/mcp.json", Some(".vscode/mcp.json")),
    ("windsurf", ".codeium/windsurf/mcp_config.json", None),
    ("gemini", ".gemini/settings.json", Some(".gemini/settings.json")),
    ("copilot", ".copilot/mcp-config.json", Some(".github/mcp.json")),
    ("opencode", ".config/opencode/opencode.json", Some("opencode.json")),
];

/// An agent with one of its files.
struct Case {
    agent: &'static str,
    scope: &'static str,
    /// Below the ground.
    file: String,
}

fn cases() -> Vec<Case> {
    let user = FILES.iter().map(|(agent, file, _)| Case { agent, scope: "user", file: format!("home/{file}") });
    let project = FILES
        .iter()
        .filter_map(|(agent, _, file)| Some(Case { agent, scope: "project", file: format!("root/{}", (*file)?) }));
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

    /// The key that holds the servers.
    fn key(&self) -> &'static str {
        match self.agent {
            "vscode" => "servers",
            "opencode" => "mcp",
            "codex" => "mcp_servers",
            _ => "mcpServers",
        }
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
