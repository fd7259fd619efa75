//! Which tools there are: tools/list, and the operation behind the name of one.

mod call;
mod hot;

use std::sync::{Arc, LazyLock};

use rmcp::model::{Tool, ToolAnnotations};

use super::Config;
use super::era::Era;
use super::methods::not_a_cursor;
use crate::error::{Error, Result};
use crate::op::{Effect, Entry};

pub(super) use call::{call, context};
pub(super) use hot::{HotCall, log_again};

/// The operations that are tools, as they are listed. Made once, when they are first asked for: it takes as long as the rest
/// of a start.
static OPERATIONS: LazyLock<Vec<(&'static Entry, Tool)>> = LazyLock::new(|| {
    crate::operations().filter(|entry| entry.faces.tool()).map(|entry| (entry, tool(entry))).collect()
});

/// Returns the tools that are served, in documentation order.
pub(super) fn list(config: &Config) -> Vec<Tool> {
    listed(config.groups.as_deref(), config.read_only)
}

/// Appends the result of tools/list: the operations, and the tools of other programs.
///
/// # Errors
/// `E_INVALID_ARGUMENT` for a cursor: there is one page.
pub(super) fn push_list(config: &Config, cursor: Option<&str>, era: Era, out: &mut Vec<u8>) -> Result<()> {
    if let Some(cursor) = cursor {
        return Err(not_a_cursor(cursor));
    }
    let mut tools = list(config);
    tools.extend(config.extended.0.iter().flat_map(|extension| extension.tools()));
    era.open(out);
    out.extend_from_slice(b"\"tools\":");
    serde_json::to_writer(&mut *out, &tools)
        .map_err(|error| Error::internal("the tools cannot be written as JSON").with_source(error))?;
    era.close_lasting(out);
    Ok(())
}

/// Returns the tools of these groups, those that change something only where they are served too.
pub(super) fn listed(groups: Option<&[String]>, read_only: bool) -> Vec<Tool> {
    OPERATIONS.iter().filter(|(entry, _)| serves(entry, groups, read_only)).map(|(_, tool)| tool.clone()).collect()
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
