//! Where commands come from, and how a check of a text finds them.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::running::{Answered, Failed, Running};
use super::spec::{CommandEffect, CommandSpec, ProviderContract, SourceKind};
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

/// One source of commands. Asking it loads, starts and connects nothing but rows of the database.
pub trait CommandSource: Sync {
    /// Which one it is.
    fn kind(&self) -> SourceKind;

    /// The group of all its commands, where it is one.
    fn group(&self) -> Option<&'static str> {
        None
    }

    /// Returns a text that differs whenever any of its briefs or specs does, for this caller.
    fn validator(&self, context: &Context) -> Result<String>;

    /// Returns all its commands in short, for the index.
    fn briefs(&self, context: &Context) -> Result<Vec<Brief>>;

    /// Returns the command of this id, where there is one.
    fn spec(&self, context: &Context, id: &str) -> Result<Option<CommandSpec>>;

    /// Returns what a command would do with these arguments, a line each, where a person cannot read it off them.
    ///
    /// # Errors
    /// What keeps it from being run.
    fn foresee(&self, _context: &Context, _spec: &CommandSpec, _with: &Map<String, Value>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Runs one of its commands, under the rights of the caller.
    ///
    /// # Errors
    /// What keeps it from being run, or what it answers where it fails.
    fn run(&self, context: &Context, running: &Running<'_>) -> Result<Answered, Failed>;
}

/// A command in short: what the index keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Its id, `group:name`.
    pub id: String,
    /// What it does, in one line.
    pub summary: String,
    /// The names of its arguments and what else it is found by, with spaces between.
    pub words: String,
    /// Other ids that find it, such as an operationId or `METHOD /path`.
    pub aliases: Vec<String>,
    /// What it does to what is there.
    pub effect: CommandEffect,
    /// Whether it is no longer to be used.
    pub deprecated: bool,
    /// Whether its answer is a list, so that it is a provider.
    pub lists: bool,
    /// Whether agents run it through `execute` alone: it is not a tool, and does more than read mcpkg's own data.
    pub executed: bool,
}

impl Brief {
    /// Returns a command in short.
    pub fn of(spec: &CommandSpec) -> Self {
        let flags = spec.flags.iter().map(|flag| flag.name.as_str());
        let arguments: Vec<&str> =
            spec.positionals.iter().map(|argument| argument.name.as_str()).chain(flags).collect();
        let by_path = spec.method.iter().zip(&spec.path).map(|(method, path)| format!("{method} {path}"));
        Self {
            id: spec.id.clone(),
            summary: spec.summary.clone(),
            words: arguments.join(" "),
            aliases: spec.aliases.iter().cloned().chain(by_path).collect(),
            effect: spec.effect,
            deprecated: spec.deprecated,
            lists: spec.is_provider(),
            executed: matches!(spec.source, SourceKind::Catalogs | SourceKind::Plugins),
        }
    }
}

/// The commands that a caller may reach: what a text is checked against.
pub trait Commands {
    /// Returns what an id, or another way to write it, stands for.
    fn resolve(&self, typed: &str) -> Result<Resolved>;

    /// Returns the contract of a provider, where a command of this id is one.
    fn provider(&self, id: &str) -> Result<Option<Arc<ProviderContract>>>;

    /// Returns whether any command of a group can be reached. A source that does not know its groups answers yes.
    fn has_group(&self, _group: &str) -> Result<bool> {
        Ok(true)
    }

    /// Returns whether it is said where the secrets of a command are kept; of several that are alternatives one is enough. Who does
    /// not know says yes.
    fn has_secrets(&self, _command: &CommandSpec) -> Result<bool> {
        Ok(true)
    }

    /// Returns the value of a variable that the project allows workflows to use; never of the process's own environment.
    fn variable(&self, _name: &str) -> Result<Option<String>> {
        Ok(None)
    }
}

/// What an id, or another way to write it, stands for.
#[derive(Clone, Debug)]
pub enum Resolved {
    One(Arc<CommandSpec>),
    /// Several, by their ids: it is ambiguous.
    Several(Vec<String>),
    /// None; these are the nearest, three at most.
    None(Vec<String>),
}
