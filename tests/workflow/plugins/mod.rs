//! Tests of plugins, which are MCP servers that mcpkg runs. `tests/support/plugin.rs` contains the plugin of these
//! tests.

mod called;
mod changes;
mod faults;
mod listed;
mod network;
mod shell;

use std::sync::Arc;

use mcpkg_base::error::Error;
use mcpkg_core::op::{Confirmation, Context};
use mcpkg_workflow::commands::{self, reachable};
use mcpkg_workflow::running::{Answered, Failed, Running};
use serde_json::{Value, json};

use crate::support::Scratch;
use crate::support::plugin::{Play, tool};

/// A database with a project and the plugin `toy`, whose behavior `play` controls.
pub struct Ground {
    pub scratch: Scratch,
    pub play: Play,
}

/// Returns the tools that the plugin lists.
pub fn tools() -> Value {
    let text = json!({ "text": { "type": "string" } });
    json!([
        tool("add_note", "Adds a note.\nFor good.", text.clone()),
        tool("add", "Adds numbers", json!({ "a": { "type": "integer" } })),
        tool("list_notes", "Lists the notes", json!({})),
    ])
}

impl Ground {
    pub fn new() -> Self {
        Self::playing(json!({ "tools": tools() }))
    }

    /// Adds the plugin while it behaves as `what` describes.
    pub fn playing(what: Value) -> Self {
        let scratch = Scratch::with_project_here();
        let play = Play::new(scratch.path(), &what);
        let ground = Self { scratch, play };
        ground.add().expect("it is added");
        ground
    }

    fn add(&self) -> Result<Value, Error> {
        let mut given = self.play.given();
        given["name"] = json!("toy");
        self.person_runs(&["plugin", "add"], given)
    }

    /// Returns the context of a person at a terminal who answers every question with yes.
    pub fn person(&self) -> Context {
        person(&self.scratch)
    }

    /// Runs an operation of mcpkg as [`Ground::person`].
    pub fn person_runs(&self, cli: &[&str], arguments: Value) -> Result<Value, Error> {
        person_runs(&self.scratch, cli, arguments)
    }

    /// Calls a command as [`Ground::person`], with consent.
    pub fn call(&self, id: &str, with: Value) -> Result<Answered, Failed> {
        call(&self.person(), id, with)
    }

    /// Calls a command that must fail. Returns the error's code and message, and whether the call may have had its
    /// effect.
    #[track_caller]
    pub fn fails(&self, id: &str) -> (String, String, bool) {
        let failed = self.call(id, json!({})).expect_err("a failure");
        (failed.error.code().name().to_owned(), failed.error.message().to_owned(), failed.may_be_done)
    }

    /// Returns the plugin as `plugin list` shows it.
    pub fn listed(&self) -> Value {
        self.scratch.json(&["plugin", "list"])["plugins"][0].clone()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // The test may have started the plugin in this process; removing the plugin stops it.
        let _ = self.person_runs(&["plugin", "remove"], json!({ "name": "toy" }));
    }
}

/// Returns the context of a person at a terminal who answers every question with yes.
pub fn person(scratch: &Scratch) -> Context {
    Context { confirmation: Confirmation::Ask, ask: Arc::new(|_, _| Ok(())), ..scratch.context() }
}

/// Runs an operation of mcpkg as [`person`].
pub fn person_runs(scratch: &Scratch, cli: &[&str], arguments: Value) -> Result<Value, Error> {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.cli == cli).expect("an operation");
    entry.from_agent(arguments).expect("a call").run(&person(scratch)).map(|reply| reply.into_value())
}

pub fn call(context: &Context, id: &str, with: Value) -> Result<Answered, Failed> {
    let spec = reachable(context).spec(id).expect("commands").expect("the command");
    let with = with.as_object().expect("arguments").clone();
    commands::run(context, &Running { spec: &spec, with: &with, body: None, key: None })
}
