//! The MCP resource `mcpkg://command/{id}`: the spec of a command.

use super::GROUP;
use super::answer::VERSION;
use super::commands::reachable;
use super::show::{Detail, command_data};
use super::source::{Commands, Resolved};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, ListedIn, Live, Resource, Values};

pub const RESOURCES: &[Resource] = &[COMMAND];

const COMMAND: Resource = Resource {
    uri: "mcpkg://command/{id}",
    name: "command",
    title: "Command",
    description: "What a command takes, returns and does, as get_command_spec returns it",
    mime_type: Some("application/json"),
    shown: ListedIn::Template,
    live: Some(Live { group: GROUP, read, names, looked_at_again: true }),
    ..Resource::EMPTY
};

fn read(context: &Context, values: &Values) -> Result<Option<String>> {
    let Resolved::One(spec) = reachable(context).resolve(values.get("id"))? else { return Ok(None) };
    let mut text = serde_json::json!({ "schema_version": VERSION });
    if let (Some(text), Some(told)) = (text.as_object_mut(), command_data(&spec, Detail::Compact)?.as_object()) {
        text.extend(told.clone());
    }
    Ok(Some(text.to_string()))
}

fn names(context: &Context) -> Result<Vec<String>> {
    let commands = reachable(context);
    let indexes = commands.indexes(None)?;
    let mut ids: Vec<String> =
        commands.search(&indexes, "", |_| true).into_iter().map(|found| found.brief.id.clone()).collect();
    ids.sort_unstable();
    Ok(ids)
}
