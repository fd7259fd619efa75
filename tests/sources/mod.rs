//! Tests of sources: adding, updating, locking and installing content of repositories and folders.

mod add;
mod lock;
mod marketplace;
mod takes;
mod terminal;
mod update;

use serde_json::Value;

use crate::support::{Scratch, Upstream, skill};

/// Returns a repository with two skills, a prompt, a subagent, instructions, a document, and files that are skipped.
fn kit() -> Upstream {
    let upstream = Upstream::new(&[
        ("skills/pdf/SKILL.md", &skill("pdf", "one\n\ntwo\n\nthree\n")),
        ("skills/pdf/scripts/run.sh", "#!/bin/sh\ntouch \"$HOME/ran\"\n"),
        ("skills/xlsx/SKILL.md", &skill("xlsx", "sheets\n")),
        ("commands/commit.md", "---\ndescription: Commit\n---\nCommit $ARGUMENTS\n"),
        (".claude/agents/rev.md", "---\nname: rev\ndescription: Reviews\n---\nReview.\n"),
        ("AGENTS.md", "Be brief.\n"),
        ("README.md", "# Kit\n"),
        ("LICENSE", "MIT\n"),
        (".mcp.json", "{\"mcpServers\": {}}\n"),
        (".gitignore", "skills/\n"),
    ]);
    upstream.git(&["update-index", "--chmod=+x", "skills/pdf/scripts/run.sh"]);
    set_executable(&upstream.tree().join("skills/pdf/scripts/run.sh"));
    upstream.commit(&[]);
    upstream
}

#[cfg(unix)]
fn set_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[cfg(not(unix))]
fn set_executable(_: &std::path::Path) {}

/// The options with which a source takes all files, including those that no agent reads and the root's `AGENTS.md`.
const ALL: [&str; 4] = ["--only", "AGENTS.md", "--only", "*"];

/// Returns a project with all files of the source `kit`.
fn with_kit(upstream: &Upstream) -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&[&["source", "add", &upstream.url(), "--yes"], &ALL[..]].concat());
    scratch
}

/// Runs `source update`, which must succeed, and returns its data about the only source.
fn update(scratch: &Scratch, arguments: &[&str]) -> Value {
    scratch.json(&[&["source", "update"], arguments].concat())["sources"][0].clone()
}

/// Returns the text of a skill's file in the project.
fn text(scratch: &Scratch, uri: &str) -> String {
    scratch.ok(&["resource", "show", uri])
}

/// Returns what an update did with each file that changed.
fn done(updated: &Value) -> Vec<(String, String)> {
    let items = updated["items"].as_array().expect("items");
    items
        .iter()
        .map(|item| {
            (item["path"].as_str().expect("a path").to_owned(), item["done"].as_str().expect("a word").to_owned())
        })
        .collect()
}

/// Returns the action and the item of each open proposal.
fn proposals(scratch: &Scratch) -> Vec<(String, String)> {
    let listed = scratch.json(&["evolve", "list"]);
    let listed = listed["data"]["proposals"].as_array().expect("proposals").clone();
    let word = |proposal: &Value, key: &str| proposal[key].as_str().expect("a word").to_owned();
    let mut told: Vec<_> =
        listed.iter().map(|proposal| (word(proposal, "action"), word(proposal, "module_id"))).collect();
    told.sort();
    told
}
