//! Tools that are data: rows of a domain's, such as installed tools, each shown as an MCP tool of its own.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Audience, Context, Effect, Reply, Shape, Validator};
use mcpkg_base::error::Result;
use mcpkg_store::Db;

/// A tool that is data.
#[derive(Clone)]
pub struct Projected {
    /// The name that it is called by: within 64 characters of `[A-Za-z0-9_-]`, and no operation's.
    pub name: String,
    /// The rest of its id as a command, after `tool:`: its own name, and its action where it has several.
    pub command: String,
    /// A title for people.
    pub title: Option<String>,
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Arc<Map<String, Value>>,
    /// The JSON Schema of its data, where it is known.
    pub output_schema: Option<Arc<Map<String, Value>>>,
    /// What it does to what is there.
    pub effect: Effect,
    /// What its own manifest says of it, instead of what its effect says.
    pub hints: Hints,
    /// Whether it reaches what lies outside of this machine.
    pub open_world: bool,
    /// Whether it may take minutes, as [`super::Operation::LONG`].
    pub long: bool,
    /// Whether it runs commands, and asks a person about each plan itself, as [`super::Operation::RUNS_COMMANDS`].
    pub runs_commands: bool,
    /// The operation under which a person is asked, where a call may need consent.
    pub consent: Option<&'static str>,
    /// What is known also, for `_meta` in the list: a key and its value.
    pub meta: Option<(&'static str, Value)>,
    /// The group that it belongs to.
    pub group: &'static str,
    /// How its reply looks.
    pub shape: Shape,
    /// Does it, with the arguments that the caller gave.
    pub run: Arc<Run>,
}

/// What is said of a tool besides its effect: MCP's annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Whether it changes nothing.
    pub read_only: Option<bool>,
    /// Whether it may destroy what is there.
    pub destructive: Option<bool>,
    /// Whether calling it twice does no more than calling it once.
    pub idempotent: Option<bool>,
    /// Whether it reaches what lies outside of this machine.
    pub open_world: Option<bool>,
}

impl Projected {
    /// Runs the tool: on a handle that cannot write where it reads, as an operation.
    ///
    /// # Errors
    /// What the tool answers.
    pub fn call(&self, context: &Context, arguments: Value) -> Result<Reply> {
        match self.effect.reads() {
            true => (self.run)(&context.reading(), arguments),
            false => (self.run)(context, arguments),
        }
    }
}

/// Runs a tool that is data; fails as an operation does.
pub type Run = dyn Fn(&Context, Value) -> Result<Reply> + Send + Sync;

/// The tools that are data of one domain.
#[derive(Clone, Copy)]
pub struct Projections {
    /// Returns as many as the number says of those whose names come after the one given, by name.
    pub list: fn(&Db<'_>, &Audience<'_>, &str, usize) -> Result<Vec<Projected>>,
    /// Returns the one of this name.
    pub find: fn(&Db<'_>, &Audience<'_>, &str) -> Result<Option<Projected>>,
    /// Returns what differs whenever the list does.
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
