//! Tests of saved workflows and drafts.

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

/// A workflow that calls mcpkg's own commands, formatted as a person would write it.
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

/// Returns a project that contains [`NOTE`].
fn kept() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("note.yaml", NOTE);
    scratch.ok(&["workflow", "import", "note.yaml"]);
    scratch
}

/// Proposes a workflow as an agent. Returns the draft's id.
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

/// Runs a command at a terminal where a person types `answer`. Returns the output and whether the command succeeded;
/// `None` if there is no terminal.
fn answered(scratch: &Scratch, arguments: &[&str], answer: &str) -> Option<(String, bool)> {
    let done = at_a_terminal(scratch.command().args(arguments), answer);
    if done.is_none() {
        skipped("there is no script(1)");
    }
    done
}

/// Returns the context of a person at a terminal who answers every question with yes.
fn agreeing(scratch: &Scratch) -> Context {
    asking(scratch, |_| {})
}

/// Like [`agreeing`], but calls `meanwhile` while the person reads the question.
fn asking(scratch: &Scratch, meanwhile: impl Fn(&Body) + Send + Sync + 'static) -> Context {
    let ask = move |body: Body, _: &str| {
        meanwhile(&body);
        Ok(())
    };
    Context { confirmation: Confirmation::Ask, ask: std::sync::Arc::new(ask), ..scratch.context() }
}

/// Runs an operation in this process.
fn run(context: &Context, command: &[&str], arguments: Value) -> mcpkg_base::error::Result<Value> {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.cli == command).expect("an operation");
    entry.from_agent(arguments)?.run(context).map(|reply| reply.data)
}
