//! `mcpkg export --plugin`: lays a project out as one folder that Claude Code, Codex, Copilot CLI and Gemini CLI install.
//!
//! [`files`] is a pure function from a project's [`Content`] to the files of the plugin. Everything is in the agents'
//! default folders, because they read lists in manifests differently:
//!
//! | file | read by |
//! | --- | --- |
//! | `.claude-plugin/plugin.json`, `.mcp.json`, `commands/*.md`, `agents/*.md` | Claude Code |
//! | `plugin.json`, `mcp.json` (Agent Plugins 1.0) | Codex, Copilot CLI |
//! | `com.github.copilot/` | Copilot CLI |
//! | `gemini-extension.json`, `commands/*.toml` | Gemini CLI |
//! | `skills/` | all four |
//! | `hooks/` | Claude Code; Gemini CLI has other events |

mod about;
mod check;
mod command;
mod commands;
mod hooks;
pub mod marketplace;
mod portable;
mod read;
mod remark;
mod servers;
mod skills;
mod subagents;

use std::collections::HashSet;

use serde_json::Value;

use super::layout::{Layout, is_safe};
use crate::item::{Entry, server::Server};
use mcpkg_agents::agents;
use mcpkg_base::error::{Error, Result};
use mcpkg_store::Db;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::projects::Project;

pub use about::{About, Wish};
pub use command::AsPlugin;
pub use read::named;
pub use remark::{Kind, Remark};

const CLAUDE: &str = "claude_code";
const CODEX: &str = "codex";
const COPILOT: &str = "copilot";
const GEMINI: &str = "gemini";

/// What a project holds that may be in a plugin.
#[derive(Debug, Default)]
pub struct Content {
    /// The name of the project.
    pub project: String,
    pub items: Vec<(Entry, NewContent)>,
    pub servers: Vec<Server>,
    /// The modules that are switched off, or that are for other agents only.
    pub remarks: Vec<Remark>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFile {
    /// The path below the plugin's folder, with `/` separators.
    pub path: String,
    pub bytes: Vec<u8>,
    pub executable: bool,
}

#[derive(Debug)]
pub struct Plugin {
    /// The name of the project.
    pub project: String,
    pub about: About,
    /// How many things of each kind the plugin contains, by the word for them.
    pub holds: Vec<(&'static str, usize)>,
    /// The files, by path.
    pub files: Vec<PluginFile>,
    /// What the plugin does not hold, or holds in a changed form. One remark is about all items of one kind.
    pub remarks: Vec<Remark>,
}

/// Returns a project as a plugin.
pub fn of_project(db: &Db<'_>, project: &Project, wish: &Wish) -> Result<Plugin> {
    let content = Content::read(db, project)?;
    let about = About::new(wish, &content)?;
    files(content, about)
}

/// Lays the content out as the files of a plugin.
pub fn files(content: Content, about: About) -> Result<Plugin> {
    let Content { project, items, servers, remarks } = content;
    let mut making = Making { layout: Layout::default(), files: Vec::new(), expected: Vec::new(), servers: 0, remarks };
    for (path, json) in about.manifests() {
        making.json(path, &json)?;
    }
    let skills = skills::add(&mut making, &items)?;
    commands::add(&mut making, &items, &skills)?;
    subagents::add(&mut making, &items)?;
    let named = servers::add(&mut making, &about, &servers)?;
    hooks::add(&mut making, &items, named)?;
    check::add_remarks(&mut making, &items, &servers)?;
    let holds = making.holds();
    let Making { mut files, remarks, .. } = making;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Plugin { project, about, holds, files, remarks })
}

/// The item that an import should restore from a file of the plugin.
struct Expected {
    path: String,
    /// The item's index among those of the project.
    at: usize,
    /// The word and the name of the thing that the item belongs to, such as a skill.
    of: (&'static str, String),
}

/// A plugin in the making.
struct Making {
    layout: Layout,
    files: Vec<PluginFile>,
    expected: Vec<Expected>,
    /// The number of servers in the plugin.
    servers: usize,
    remarks: Vec<Remark>,
}

impl Making {
    fn holds(&self) -> Vec<(&'static str, usize)> {
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
    fn put(&mut self, path: &str, bytes: Vec<u8>, executable: bool) -> bool {
        let is_free = is_safe(path) && self.layout.claim(path);
        if is_free {
            self.files.push(PluginFile { path: path.to_owned(), bytes, executable });
        }
        is_free
    }

    fn json(&mut self, path: &str, value: &Value) -> Result<()> {
        let bytes = json_bytes(value)?;
        self.put(path, bytes, false);
        Ok(())
    }

    fn expect(&mut self, path: &str, at: usize, word: &'static str, name: &str) {
        self.expected.push(Expected { path: path.to_owned(), at, of: (word, name.to_owned()) });
    }

    /// Notes that some agents, or all if `agents` is empty, do not get an item.
    fn left_out(&mut self, agents: &[&'static str], word: &'static str, name: &str, why: &str) {
        remark::add(&mut self.remarks, Kind::LeftOut, agents, word, name, why);
    }

    /// Notes that some agents, or all if `agents` is empty, get an item in a changed form.
    fn changed(&mut self, agents: &[&'static str], word: &'static str, name: &str, why: &str) {
        remark::add(&mut self.remarks, Kind::Changed, agents, word, name, why);
    }

    fn renamed(&mut self, word: &'static str, name: &str, to: &str, why: &str) {
        remark::add(&mut self.remarks, Kind::Renamed, &[], word, &format!("{name} -> {to}"), why);
    }
}

/// Returns a path in the folder that only Copilot reads, `com.github.copilot`.
fn of_copilot(path: &str) -> String {
    let folder = agents::with_id(COPILOT).and_then(|agent| agent.imports.namespace).unwrap_or_default();
    format!("{folder}/{path}")
}

fn json_bytes(value: &Value) -> Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::internal("a plugin's file cannot be written as JSON").with_source(error))?;
    json.push(b'\n');
    Ok(json)
}

/// Returns the first of `name`, `name-2`, `name-3` and so on that is free.
fn numbered(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let others = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(others).find(|name| is_free(name)).unwrap_or_default()
}

/// The words for a project's content, as `mcpkg import` counts it.
mod word {
    pub const COMMAND: &str = "command";
    pub const SKILL: &str = "skill";
    pub const SUBAGENT: &str = "subagent";
    pub const RULE: &str = "rule";
    pub const DOCUMENT: &str = "document";
    pub const SERVER: &str = "MCP server";
    pub const AGENT_FILE: &str = "agent's file";
}
