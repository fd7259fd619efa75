//! Which tools there are: tools/list, and the operation behind the name of one.

mod call;

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{Tool, ToolAnnotations};

use super::Config;
use crate::op::{Effect, Entry};

pub(super) use call::call;

/// Returns the tools that are served, in documentation order.
pub(super) fn list(config: &Config) -> Vec<Tool> {
    listed(config.groups.as_deref(), config.read_only)
}

/// The tools that were listed already: making them takes as long as the rest of a start.
#[derive(Default)]
pub(super) struct Lists(Mutex<Vec<Listed>>);

/// The tools of those who may reach the same; there are four kinds of them at most.
struct Listed {
    groups: Option<Vec<String>>,
    read_only: bool,
    tools: Vec<Tool>,
}

impl Lists {
    /// Returns the tools that a client sees, those of other programs too.
    pub(super) fn of(&self, config: &Config) -> Vec<Tool> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |kept: &&Listed| kept.groups == config.groups && kept.read_only == config.read_only;
        if let Some(kept) = lists.iter().find(same) {
            return kept.tools.clone();
        }
        let mut tools = list(config);
        tools.extend(config.extended.0.iter().flat_map(|extension| extension.tools()));
        let (groups, read_only) = (config.groups.clone(), config.read_only);
        lists.push(Listed { groups, read_only, tools: tools.clone() });
        tools
    }
}

/// Returns the tools of these groups, those that change something only where they are served too.
pub(super) fn listed(groups: Option<&[String]>, read_only: bool) -> Vec<Tool> {
    crate::operations().filter(|entry| serves(entry, groups, read_only)).map(tool).collect()
}

/// Returns the operation behind the name of a tool that is served.
pub(super) fn find(name: &str, config: &Config) -> Option<&'static Entry> {
    named(name).filter(|entry| serves(entry, config.groups.as_deref(), config.read_only))
}

/// Whether calling the tool `name` may change the database; an unknown one changes nothing.
pub(super) fn writes(name: &str) -> bool {
    named(name).is_some_and(|entry| entry.effect.changes())
}

fn named(name: &str) -> Option<&'static Entry> {
    crate::operations().find(|entry| entry.tool == name && entry.faces.tool())
}

fn serves(entry: &Entry, groups: Option<&[String]>, read_only: bool) -> bool {
    entry.faces.tool()
        && groups.is_none_or(|names| names.iter().any(|name| name == entry.group))
        && !(read_only && entry.effect.changes())
}

fn tool(entry: &'static Entry) -> Tool {
    let mut tool = Tool::new(entry.tool, entry.about, Arc::new(entry.input_schema()));
    tool.title = Some(entry.title.to_owned());
    tool.output_schema = entry.output_schema().map(Arc::new);
    let mut hints = ToolAnnotations::new().read_only(!entry.effect.changes()).open_world(false);
    if entry.effect.changes() {
        // Both hints speak of tools that change something. A change that is made twice is made once.
        let changes = matches!(entry.effect, Effect::Write | Effect::Destroy);
        hints = hints.destructive(changes).idempotent(changes);
    }
    tool.annotations = Some(hints);
    tool
}
