//! Sources: content of repositories and folders, added, updated, locked and installed.

mod add;
mod lock;
mod marketplace;
mod takes;
mod terminal;
mod update;

use serde_json::Value;

use crate::support::{Scratch, Upstream, skill};

/// A repository with a skill of two files, a prompt, a subagent, instructions, a document, and what is left out.
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

/// The options with which a source takes all files: what no agent reads, and `AGENTS.md` at its root too.
const ALL: [&str; 4] = ["--only", "AGENTS.md", "--only", "*"];

/// A project with the source `kit`, of which all files were taken.
fn with_kit(upstream: &Upstream) -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&[&["source", "add", &upstream.url(), "--yes"], &ALL[..]].concat());
    scratch
}

/// Runs `source update`, which must succeed, and returns what it says of the one source.
fn update(scratch: &Scratch, arguments: &[&str]) -> Value {
    scratch.json(&[&["source", "update"], arguments].concat())["sources"][0].clone()
}

/// The text of a skill's file here.
fn text(scratch: &Scratch, uri: &str) -> String {
    scratch.ok(&["resource", "show", uri])
}

/// What is done with each file that is not kept.
fn done(updated: &Value) -> Vec<(String, String)> {
    let items = updated["items"].as_array().expect("items");
    items
        .iter()
        .map(|item| {
            (item["path"].as_str().expect("a path").to_owned(), item["done"].as_str().expect("a word").to_owned())
        })
        .collect()
}

/// The open proposals: what they would do, and for what.
fn proposals(scratch: &Scratch) -> Vec<(String, String)> {
    let listed = scratch.json(&["evolve", "list"]);
    let listed = listed["data"]["proposals"].as_array().expect("proposals").clone();
    let word = |proposal: &Value, key: &str| proposal[key].as_str().expect("a word").to_owned();
    let mut told: Vec<_> =
        listed.iter().map(|proposal| (word(proposal, "action"), word(proposal, "module_id"))).collect();
    told.sort();
    told
}
