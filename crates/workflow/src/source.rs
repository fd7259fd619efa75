//! Interfaces for sources of commands, and for looking commands up while a workflow is checked.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::running::{Answered, Failed, Running};
use super::spec::{CommandEffect, CommandSpec, ProviderContract, SourceKind};
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

/// A source of commands. Looking commands up only queries the database, and never starts a program or opens a connection.
pub trait CommandSource: Sync {
    fn kind(&self) -> SourceKind;

    /// Returns the group of all commands of the source, if they share one.
    fn group(&self) -> Option<&'static str> {
        None
    }

    /// Returns a text that changes whenever one of the source's commands changes for this caller.
    fn validator(&self, context: &Context) -> Result<String>;

    /// Returns all commands of the source in the short form that is indexed.
    fn briefs(&self, context: &Context) -> Result<Vec<Brief>>;

    fn spec(&self, context: &Context, id: &str) -> Result<Option<CommandSpec>>;

    /// Returns lines that predict what a command would do with these arguments. Returns no lines if the arguments alone make
    /// that clear.
    ///
    /// Fails if something prevents the command from running.
    fn foresee(&self, _context: &Context, _spec: &CommandSpec, _with: &Map<String, Value>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Runs one of the source's commands with the permissions of the caller.
    fn run(&self, context: &Context, running: &Running<'_>) -> Result<Answered, Failed>;
}

/// The short form of a command that the index keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The id, `group:name`.
    pub id: String,
    pub summary: String,
    /// Names of arguments and other search words, separated by spaces.
    pub words: String,
    /// Other ids that find the command, such as an operationId or `METHOD /path`.
    pub aliases: Vec<String>,
    pub effect: CommandEffect,
    pub deprecated: bool,
    /// Whether the command returns a list, so that it can be a provider.
    pub lists: bool,
    /// Whether agents need `execute` to run the command, because it is not a tool and does more than read mcpkg's own data.
    pub executed: bool,
}

impl Brief {
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

/// The commands that a caller may use, for checking a workflow against them.
pub trait Commands {
    /// Resolves an id or another spelling of it.
    fn resolve(&self, typed: &str) -> Result<Resolved>;

    fn provider(&self, id: &str) -> Result<Option<Arc<ProviderContract>>>;

    /// Returns whether the caller may use any command of a group. The default is true, for implementations that do not know the
    /// groups.
    fn has_group(&self, _group: &str) -> Result<bool> {
        Ok(true)
    }

    /// Returns whether the secrets that a command needs are configured. Of several alternative secrets, one is enough. The
    /// default is true, for implementations that do not know the secrets.
    fn has_secrets(&self, _command: &CommandSpec) -> Result<bool> {
        Ok(true)
    }

    /// Returns the value of a variable that the project allows workflows to read. mcpkg's own environment is never read.
    fn variable(&self, _name: &str) -> Result<Option<String>> {
        Ok(None)
    }
}

/// The result of resolving an id.
#[derive(Clone, Debug)]
pub enum Resolved {
    One(Arc<CommandSpec>),
    /// The text is ambiguous: the ids of all matching commands.
    Several(Vec<String>),
    /// No command matches. Holds at most three similar ids.
    None(Vec<String>),
}
