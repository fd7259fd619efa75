//! Projected tools: rows of a domain, such as installed tools, that are each offered as an MCP tool.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Audience, Context, Effect, Reply, Shape, Validator};
use mcpkg_base::error::Result;
use mcpkg_store::Db;

/// A projected tool: data that is offered as an MCP tool.
#[derive(Clone)]
pub struct Projected {
    /// The name for calls: at most 64 characters of `[A-Za-z0-9_-]`, and different from the names of all operations.
    pub name: String,
    /// The tool's id as a command without the prefix `tool:`. It consists of the tool's own name and, if the tool has
    /// several actions, the action.
    pub command: String,
    /// A title for people.
    pub title: Option<String>,
    pub description: String,
    pub input_schema: Arc<Map<String, Value>>,
    /// The JSON Schema of the tool's data, if known.
    pub output_schema: Option<Arc<Map<String, Value>>>,
    pub effect: Effect,
    /// The hints from the tool's own manifest. They override the hints that follow from its effect.
    pub hints: Hints,
    /// Whether the tool reaches anything outside this machine.
    pub open_world: bool,
    /// Whether a call may take minutes, like [`super::Operation::LONG`].
    pub long: bool,
    /// Whether the tool runs commands, and asks a person about each plan itself, like [`super::Operation::RUNS_COMMANDS`].
    pub runs_commands: bool,
    /// If a call may need consent, the name of the operation that the person is asked about.
    pub consent: Option<&'static str>,
    /// An entry for `_meta` in the list: a key and its value.
    pub meta: Option<(&'static str, Value)>,
    pub group: &'static str,
    pub shape: Shape,
    /// Runs the tool with the caller's arguments.
    pub run: Arc<Run>,
}

/// Hints about a tool's behavior, which become MCP's annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Whether the tool changes nothing.
    pub read_only: Option<bool>,
    /// Whether the tool may destroy existing data.
    pub destructive: Option<bool>,
    /// Whether repeating a call has no further effect.
    pub idempotent: Option<bool>,
    /// Whether the tool reaches anything outside this machine.
    pub open_world: Option<bool>,
}

impl Projected {
    /// Runs the tool as an operation. A tool that only reads gets a database handle that cannot write.
    ///
    /// # Errors
    /// The tool's own errors.
    pub fn call(&self, context: &Context, arguments: Value) -> Result<Reply> {
        match self.effect.reads() {
            true => (self.run)(&context.reading(), arguments),
            false => (self.run)(context, arguments),
        }
    }
}

/// Runs the tool. It fails with the same errors as an operation.
pub type Run = dyn Fn(&Context, Value) -> Result<Reply> + Send + Sync;

/// Lists and finds the projected tools of one domain ([`Projected`]).
#[derive(Clone, Copy)]
pub struct Projections {
    /// Returns at most this many tools, sorted by name, beginning after the given name.
    pub list: fn(&Db<'_>, &Audience<'_>, &str, usize) -> Result<Vec<Projected>>,
    /// Returns the tool with this name.
    pub find: fn(&Db<'_>, &Audience<'_>, &str) -> Result<Option<Projected>>,
    /// Returns a validator that changes whenever the list of tools changes.
    pub validator: fn(&Db<'_>, &Audience<'_>) -> Result<Validator>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;
    use mcpkg_store::Store;
    use mcpkg_store::projects::Selection;

    #[test]
    fn a_tool_that_reads_runs_on_a_handle_that_cannot_write() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a.db")).unwrap();
        let context = Context::shell(crate::op::Domains::NONE, store, Selection::default());
        let tool = |effect| Projected {
            name: "installed".to_owned(),
            command: "installed".to_owned(),
            title: None,
            description: "An installed tool".to_owned(),
            input_schema: Arc::default(),
            output_schema: None,
            effect,
            hints: Hints::default(),
            open_world: false,
            long: false,
            runs_commands: false,
            consent: None,
            meta: None,
            group: "registry",
            shape: Shape::Json(None),
            run: Arc::new(|context: &Context, arguments| {
                context.write_project("project.select", "p", |_| Ok(()))?;
                Ok(Reply::sentence("wrote", arguments))
            }),
        };
        let refused = tool(Effect::Read).call(&context, Value::Null).unwrap_err();
        assert_eq!(refused.code(), Code::MayOnlyRead);
        assert!(tool(Effect::Write).call(&context, Value::Null).is_ok());
    }
}
