//! Collects the files of a plugin while it is exported, and remarks about what the plugin lacks.

use std::collections::HashSet;

use serde_json::Value;

use super::remark::{self, Kind, Remark};
use crate::export::layout::{Layout, is_safe};
use crate::item::{Entry, server::Server};
use mcpkg_agents::agents;
use mcpkg_base::error::{Error, Result};
use mcpkg_store::blobs::NewContent;

pub(super) const CLAUDE: &str = "claude_code";
pub(super) const CODEX: &str = "codex";
pub(super) const COPILOT: &str = "copilot";
pub(super) const GEMINI: &str = "gemini";

/// The content of a project that may become part of a plugin.
#[derive(Debug, Default)]
pub struct Content {
    pub project: String,
    pub items: Vec<(Entry, NewContent)>,
    pub servers: Vec<Server>,
    /// Remarks about modules that are disabled, or that are only for other agents.
    pub remarks: Vec<Remark>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFile {
    /// The path below the plugin's folder, with `/` separators.
    pub path: String,
    pub bytes: Vec<u8>,
    pub executable: bool,
}

/// The item that an import should restore from a file of the plugin.
pub(super) struct Expected {
    pub path: String,
    /// The item's index in the project's items.
    pub at: usize,
    /// The kind and name that people know the item by, such as `("skill", "pdf")` for a file of that skill.
    pub of: (&'static str, String),
}

/// The files and remarks of a plugin that is being exported.
pub(super) struct Making {
    pub layout: Layout,
    pub files: Vec<PluginFile>,
    pub expected: Vec<Expected>,
    /// The number of servers in the plugin.
    pub servers: usize,
    pub remarks: Vec<Remark>,
}

impl Making {
    pub fn holds(&self) -> Vec<(&'static str, usize)> {
        let words = [word::COMMAND, word::SKILL, word::SUBAGENT, word::AGENT_FILE];
        let count = |word: &'static str| {
            let names: HashSet<&str> = self
                .expected
                .iter()
                .filter(|expected| expected.of.0 == word)
                .map(|expected| expected.of.1.as_str())
                .collect();
            (word, names.len())
        };
        let all = words.into_iter().map(count).chain([(word::SERVER, self.servers)]);
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// Adds a file. Returns false if its path is taken or not valid on every file system.
    pub fn put(&mut self, path: &str, bytes: Vec<u8>, executable: bool) -> bool {
        let is_free = is_safe(path) && self.layout.claim(path);
        if is_free {
            self.files.push(PluginFile { path: path.to_owned(), bytes, executable });
        }
        is_free
    }

    pub fn json(&mut self, path: &str, value: &Value) -> Result<()> {
        let bytes = json_bytes(value)?;
        self.put(path, bytes, false);
        Ok(())
    }

    pub fn expect(&mut self, path: &str, at: usize, word: &'static str, name: &str) {
        self.expected.push(Expected { path: path.to_owned(), at, of: (word, name.to_owned()) });
    }

    /// Notes that some agents, or all if `agents` is empty, do not get an item.
    pub fn left_out(&mut self, agents: &[&'static str], word: &'static str, name: &str, why: &str) {
        remark::add(&mut self.remarks, Kind::LeftOut, agents, word, name, why);
    }

    /// Notes that some agents, or all if `agents` is empty, get an item in a changed form.
    pub fn changed(&mut self, agents: &[&'static str], word: &'static str, name: &str, why: &str) {
        remark::add(&mut self.remarks, Kind::Changed, agents, word, name, why);
    }

    pub fn renamed(&mut self, word: &'static str, name: &str, to: &str, why: &str) {
        remark::add(&mut self.remarks, Kind::Renamed, &[], word, &format!("{name} -> {to}"), why);
    }
}

/// Returns a path in the folder that only Copilot reads, `com.github.copilot`.
pub(super) fn of_copilot(path: &str) -> String {
    let folder = agents::with_id(COPILOT).and_then(|agent| agent.imports.namespace).unwrap_or_default();
    format!("{folder}/{path}")
}

pub(super) fn json_bytes(value: &Value) -> Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::internal("a plugin's file cannot be written as JSON").with_source(error))?;
    json.push(b'\n');
    Ok(json)
}

/// Returns the first of `name`, `name-2`, `name-3` and so on that is free.
pub(super) fn numbered(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let others = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(others).find(|name| is_free(name)).unwrap_or_default()
}

/// The words for a project's content, as `mcpkg import` counts it.
pub(super) mod word {
    pub const COMMAND: &str = "command";
    pub const SKILL: &str = "skill";
    pub const SUBAGENT: &str = "subagent";
    pub const RULE: &str = "rule";
    pub const DOCUMENT: &str = "document";
    pub const SERVER: &str = "MCP server";
    pub const AGENT_FILE: &str = "agent's file";
}
