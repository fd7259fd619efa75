//! Workflows that a project keeps, and drafts of them.

mod crud;
mod drafts;
mod hostile;
mod import;
mod resources;
mod settings;
mod together;

use mcpkg_core::op::{Body, Confirmation, Context};
use serde_json::Value;

use crate::support::{Client, Scratch, at_a_terminal, skipped};

/// A workflow of mcpkg's own commands, as a person writes it.
pub(crate) const NOTE: &str = "\
# Keeps what is said.
workflow: keep_note
description: Keeps a note   # for later
inputs:
  text:
    description: What it says
steps:
  - id: look
    run: mcpkg:prompt:list
  - id: keep
    run: mcpkg:prompt:create
    depends_on: [look]
    with:
      name: note
      content: ${{ inputs.text }}
";

/// A project that keeps [`NOTE`].
fn kept() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("note.yaml", NOTE);
    scratch.ok(&["workflow", "import", "note.yaml"]);
    scratch
}

/// Proposes a text as an agent does, and returns the draft's id.
#[track_caller]
fn propose(scratch: &Scratch, arguments: Value) -> String {
    let mut client = Client::start(scratch, &[]).shake_hands("2025-11-25");
    let (text, failed) = client.call("propose_workflow", arguments);
    client.finish();
    assert!(!failed, "{text}");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(answer["schema_version"], "1.0");
    answer["id"].as_str().expect("an id").to_owned()
}

/// Runs a command at a terminal where `answer` is typed, and returns what it showed and whether it was done; `None` where
/// there is no terminal to be had.
fn answered(scratch: &Scratch, arguments: &[&str], answer: &str) -> Option<(String, bool)> {
    let done = at_a_terminal(scratch.command().args(arguments), answer);
    if done.is_none() {
        skipped("there is no script(1)");
    }
    done
}

/// A shell's context at a terminal whose person says yes.
fn agreeing(scratch: &Scratch) -> Context {
    asking(scratch, |_| {})
}

/// The same, with something that happens while the person reads.
fn asking(scratch: &Scratch, meanwhile: impl Fn(&Body) + Send + Sync + 'static) -> Context {
    let ask = move |body: Body, _: &str| {
        meanwhile(&body);
        Ok(())
    };
    Context { confirmation: Confirmation::Ask, ask: std::sync::Arc::new(ask), ..scratch.context() }
}

/// Runs a command of the table in this process.
fn run(context: &Context, command: &[&str], arguments: Value) -> mcpkg_base::error::Result<Value> {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.cli == command).expect("an operation");
    entry.from_agent(arguments)?.run(context).map(|reply| reply.data)
}
