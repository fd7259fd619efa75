//! Finds a tool by its name.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::mcp::Config;
use crate::mcp::provider::{self, Answer, Projected};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Effect, Entry};
use mcpkg_store::Db;

/// A tool that can be called.
#[derive(Clone)]
pub(in crate::mcp) enum Tool {
    Operation(&'static Entry),
    /// A data tool: its provider is a domain, which stores the tool in a row, or an embedding program.
    Projected(Box<Projected>),
}

impl Tool {
    pub(in crate::mcp) fn effect(&self) -> Effect {
        match self {
            Tool::Operation(entry) => entry.effect,
            Tool::Projected(tool) => tool.effect,
        }
    }

    /// Returns the operation, if the tool is one.
    pub(in crate::mcp) fn entry(&self) -> Option<&'static Entry> {
        match self {
            Tool::Operation(entry) => Some(entry),
            Tool::Projected(_) => None,
        }
    }

    pub(in crate::mcp) fn name(&self) -> &str {
        match self {
            Tool::Operation(entry) => entry.tool,
            Tool::Projected(tool) => &tool.listed.name,
        }
    }

    pub(in crate::mcp) fn is_long(&self) -> bool {
        match self {
            Tool::Operation(entry) => entry.long,
            Tool::Projected(tool) => matches!(&tool.answer, Answer::Run(tool) if tool.long),
        }
    }

    /// Returns the operation name to use in consent requests, or `None` if no call of the tool needs consent.
    pub(in crate::mcp) fn consent(&self, config: &Config) -> Option<&str> {
        let may_need_consent = match self {
            Tool::Operation(entry) => entry.may_need_consent,
            Tool::Projected(tool) => matches!(&tool.answer, Answer::Run(tool) if tool.consent.is_some()),
        };
        (may_need_consent || config.asks_before_destructive && self.is_destructive()).then(|| self.asks_as())
    }

    /// Returns the operation name to use in consent requests about this tool.
    pub(in crate::mcp) fn asks_as(&self) -> &str {
        match self {
            Tool::Projected(tool) => match &tool.answer {
                Answer::Run(tool) => tool.consent.unwrap_or(&tool.name),
                Answer::Talk(_) | Answer::Task(_) => self.name(),
            },
            Tool::Operation(entry) => entry.tool,
        }
    }

    /// Returns whether tools/list declares that the tool may destroy existing data.
    pub(in crate::mcp) fn is_destructive(&self) -> bool {
        let destructive = match self {
            Tool::Operation(entry) => provider::hints(entry.effect, entry.open_world).destructive_hint,
            Tool::Projected(tool) => tool.listed.annotations.as_ref().and_then(|hints| hints.destructive_hint),
        };
        destructive == Some(true)
    }

    /// Returns whether the tool runs commands and itself asks for the consent that they need.
    pub(in crate::mcp) fn asks_itself(&self) -> bool {
        match self {
            Tool::Operation(entry) => entry.runs_commands,
            Tool::Projected(tool) => tool.runs_commands(),
        }
    }

    /// Returns the operation whose rate limit a call counts towards. A tool that is an operation has its own limit. Another
    /// tool that runs commands counts towards the operation that its consent requests name.
    pub(in crate::mcp) fn counts_as(&self) -> Option<&'static Entry> {
        match self {
            Tool::Operation(entry) => Some(entry),
            Tool::Projected(tool) if tool.runs_commands() => named(self.asks_as()),
            Tool::Projected(_) => None,
        }
    }

    /// Returns whether a server runs the tool only once at a time for each requester.
    pub(in crate::mcp) fn one_at_a_time(&self) -> bool {
        matches!(self, Tool::Operation(entry) if entry.one_at_a_time)
    }
}

/// Returns the tool with this name if it is served, whether it is listed or not. Operations take precedence over data
/// tools.
pub(in crate::mcp) fn find(db: &Db<'_>, config: &Config, name: &str) -> Result<Option<Tool>> {
    if named(name).is_some() {
        return Ok(operation(name, config).map(Tool::Operation));
    }
    for provider in config.providers.all() {
        if let Some(tool) = provider.tool(db, &config.audience(), name)? {
            return Ok(config.surface.serves(name, tool.group, tool.effect).then(|| Tool::Projected(Box::new(tool))));
        }
    }
    Ok(None)
}

/// Returns the operation with this name if it is served. Does not need the database.
pub(in crate::mcp) fn operation(name: &str, config: &Config) -> Option<&'static Entry> {
    named(name).filter(|entry| config.serves(entry))
}

/// Returns whether calling the tool `name` may change the database. Does not query the database, so every tool from a
/// provider counts as one that may change it.
pub(in crate::mcp) fn may_write(name: &str, config: &Config) -> bool {
    match named(name) {
        Some(entry) => entry.effect.changes(),
        None => config.providers.all().next().is_some(),
    }
}

/// Returns whether the tool `name` is an operation that changes something.
pub(in crate::mcp) fn writes(name: &str) -> bool {
    named(name).is_some_and(|entry| entry.effect.changes())
}

/// The operations that are tools, by name. This is a map, because building a list looks up every tool in it.
static NAMED: LazyLock<HashMap<&'static str, &'static Entry>> = LazyLock::new(|| {
    crate::DOMAINS.operations().filter(|entry| entry.faces.tool()).map(|entry| (entry.tool, entry)).collect()
});

pub(super) fn named(name: &str) -> Option<&'static Entry> {
    NAMED.get(name).copied()
}
