//! Tests that a rollback takes back everything that a deploy wrote, whatever was there before.

mod sequences;
mod servers;
mod trees;

use std::sync::Arc;

use mcpkg_base::error::Result;
use mcpkg_core::op::{Confirmation, Context};
use mcpkg_store::projects::Selection;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Ground, set_mode};

/// Returns the context of a shell in the root. Its user consents to everything.
fn context(ground: &Ground) -> Context {
    let directory = ground.root().canonicalize().expect("a root").to_string_lossy().into_owned();
    let mut context =
        Context::shell(mcpkg::DOMAINS, ground.scratch.store(), Selection { directory, ..Selection::default() });
    context.ask = Arc::new(|_, _| Ok(()));
    context.confirmation = Confirmation::Given;
    context.approved = ground.scratch.approved();
    context
}

/// Runs an operation in this process, and returns its data.
fn run(context: &Context, tool: &str, arguments: Value) -> Result<Value> {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.tool == tool).expect("an operation");
    entry.from_agent(arguments)?.run(context).map(|reply| reply.data)
}

fn deploy(context: &Context, target: &str) -> Result<Value> {
    run(context, "deploy_shell", json!({ "apply": true, "adopt": true, "target": target }))
}

/// Rolls back. Files that a user changed since the deploy are included only with `adopt`.
fn rollback(context: &Context, to: &str, adopt: bool) -> Result<Value> {
    run(context, "rollback", json!({ "to": to, "adopt": adopt }))
}

/// Generates a line of text, which may be one that a deploy treats specially.
fn line() -> impl Strategy<Value = String> {
    let special = [
        "---",
        "<!-- mcpkg:begin -->",
        "<!-- mcpkg:end -->",
        "<!-- /agentpack -->",
        "<!-- agentpack:module=x -->",
        "",
        "  ",
        "# Ünïcode 🎉",
        "@AGENTS.md",
        "description: x",
        "<!-- \\mcpkg:end -->",
        "\tindented",
    ];
    prop_oneof![
        4 => "[a-c]{1,8}( [a-c]{1,8})?",
        3 => proptest::sample::select(special.to_vec()).prop_map(str::to_owned),
    ]
}

/// Generates a text that is not empty. It may have front matter, either kind of line ending, and a line ending at its
/// end.
fn text() -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec(line(), 0..6);
    let front = proptest::option::weighted(0.3, "[a-z]{1,6}");
    (front, lines, any::<bool>(), any::<bool>(), "[a-z]{1,4}").prop_map(|(front, lines, crlf, newline, last)| {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = front.map_or(String::new(), |it| format!("---{end}description: {it}{end}---{end}"));
        lines.iter().for_each(|line| text += &format!("{line}{end}"));
        text + &last + if newline { end } else { "" }
    })
}

/// A file of an agent's folder.
#[derive(Clone, Debug)]
enum Piece {
    Command(u8, String),
    Skill(u8, String, Vec<u8>, bool),
    Rule(u8, String),
    Instructions(String),
}

fn piece() -> impl Strategy<Value = Piece> {
    let bytes = proptest::collection::vec(any::<u8>(), 1..40);
    prop_oneof![
        3 => (0..4_u8, text()).prop_map(|(n, text)| Piece::Command(n, text)),
        2 => (0..3_u8, text(), bytes, any::<bool>()).prop_map(|(n, text, bytes, runs)| Piece::Skill(n, text, bytes, runs)),
        2 => (0..3_u8, text()).prop_map(|(n, text)| Piece::Rule(n, text)),
        2 => text().prop_map(Piece::Instructions),
    ]
}

/// Writes the pieces to an agent's folder, and imports it.
fn import(ground: &Ground, context: &Context, pieces: &[Piece]) {
    let folder = ground.scratch.path().join("from");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("a folder");
    for piece in pieces {
        match piece {
            Piece::Command(n, text) => drop(ground.scratch.file(&format!("from/.claude/commands/c{n}.md"), text)),
            Piece::Skill(n, text, bytes, runs) => {
                let matter = format!("---\nname: s{n}\ndescription: A skill\n---\n{text}");
                ground.scratch.file(&format!("from/.claude/skills/s{n}/SKILL.md"), matter);
                let program = ground.scratch.file(&format!("from/.claude/skills/s{n}/a folder/rün.sh"), bytes);
                set_mode(&program, if *runs { 0o755 } else { 0o644 });
            }
            Piece::Rule(n, text) => drop(ground.scratch.file(&format!("from/.claude/rules/r{n}.md"), text)),
            Piece::Instructions(text) => drop(ground.scratch.file("from/CLAUDE.md", text)),
        }
    }
    run(context, "import_files", json!({ "paths": [folder], "update": true })).expect("an import");
}
