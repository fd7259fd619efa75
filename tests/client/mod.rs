//! Tests of `mcpkg client`: adding mcpkg to an agent's own configuration, removing it again, and checking that the server
//! works.

mod checks;
mod entries;
mod refusals;
mod round_trips;

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{AgentFixture, BINARY, Ground, Ran, agents};

/// An agent and one of its configuration files.
struct Case {
    agent: &'static str,
    scope: &'static str,
    /// The file's path, relative to the ground.
    file: String,
    /// The key that holds the servers.
    key: &'static str,
    is_toml: bool,
}

fn cases() -> Vec<Case> {
    let case = |agent: &'static AgentFixture, scope: &'static str, file: String| Case {
        agent: agent.name,
        scope,
        file,
        key: &agent.key,
        is_toml: agent.is_toml(),
    };
    let user = agents().iter().map(|agent| case(agent, "user", format!("home/{}", agent.user_file)));
    let project = agents()
        .iter()
        .filter_map(|agent| Some(case(agent, "project", format!("root/{}", agent.project_file.as_ref()?))));
    user.chain(project).collect()
}

impl Case {
    fn path(&self, ground: &Ground) -> PathBuf {
        ground.path().join(&self.file)
    }

    fn put(&self, ground: &Ground, content: impl AsRef<[u8]>) -> PathBuf {
        ground.scratch.file(&format!("ground/{}", self.file), content)
    }
}

/// Returns `mcpkg client` with a PATH on which there are no agents.
fn command(ground: &Ground) -> Command {
    let mut command = ground.command();
    command.env("PATH", ground.scratch.path().join("bin")).arg("client");
    // Copies of agents' files are kept in the data folder, outside of the files that the tests compare.
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
    // Unlike `Scratch::finish`, `output` does not replace this machine's paths.
    let output = command(ground).args(arguments).arg("--json").output().expect("mcpkg starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "mcpkg client {}: {said}", arguments.join(" "));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn scoped<'a>(verb: &'a str, case: &Case) -> Vec<&'a str> {
    vec![verb, case.agent, "--scope", case.scope]
}

/// Returns a text with placeholders instead of this machine's paths.
fn plain(ground: &Ground, text: &str) -> String {
    text.replace(BINARY, "<MCPKG>").replace(&*ground.scratch.path().to_string_lossy(), "<SCRATCH>")
}
