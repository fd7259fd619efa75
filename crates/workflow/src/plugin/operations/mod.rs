//! `mcpkg plugin ...`: adds and manages plugins. These commands exist only in the shell: agents must not decide which programs
//! run or which servers mcpkg trusts.

mod add;
mod check;
mod import;
mod list;
mod remove;
mod set;

use serde_json::{Value, json};

use super::listing;
use super::model::Plugin;
use super::runtime::Limits;
use super::standing::Health;
use super::tool::{self, Listing, News};
use super::{session, supervise};
use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Changes, Context, Entry, Names};
use mcpkg_store::plugins::{self, ToolRow};

pub const OPS: &[Entry] = &[
    Entry::of::<add::Add>(),
    Entry::of::<import::Import>(),
    Entry::of::<list::List>(),
    Entry::of::<set::Set>(),
    Entry::of::<check::Check>(),
    Entry::of::<remove::Remove>(),
];

/// Changing a plugin does not change any list that MCP clients see.
const CHANGES: Changes = Changes::NO_LIST;

const PLUGINS: Names = Names::Stored(|typed| {
    let Some(project) = typed.project()? else { return Ok(Vec::new()) };
    Ok(typed.matching(plugins::names(typed.db, project.id)?))
});

/// Returns a plugin of the project. If there is none, the error suggests a similar name.
fn get(context: &Context, name: &str) -> Result<Plugin> {
    let found = context.read(|db, project| match plugins::find(db, project.id, name)? {
        Some(row) => Ok(Ok(row)),
        None => Ok(Err((plugins::names(db, project.id)?, project.name.clone()))),
    })?;
    found.map_or_else(
        |(names, project)| {
            let why = format!("There is no plugin '{}' in project '{project}'", name.escape_debug());
            let names = names.iter().map(String::as_str);
            Err(Error::new(Code::NotFound, why).suggest(name, names, "`mcpkg plugin list` lists the plugins"))
        },
        Plugin::of,
    )
}

/// The report of a plugin that was started for a check.
struct Tried {
    listing: Listing,
    era: super::connection::Era,
}

/// Starts a plugin, lists its tools, and ends it.
fn try_out(context: &Context, plugin: &Plugin) -> Result<Tried> {
    (context.step_aside)();
    let limits = Limits::new(plugin.timeout, &context.cancelled);
    let connection = session::open(plugin, &supervise::keeping(context, plugin), &limits)?;
    let listed = listing::ask(&connection, &limits);
    connection.close();
    connection.wait(session::END);
    let listing = listed.map_err(|broken| session::unavailable(plugin, &broken))?;
    Ok(Tried { listing, era: connection.era() })
}

/// Returns the state of a plugin as one word.
fn state(plugin: &Plugin, tools: &[ToolRow], is_approved: bool, now: Millis) -> &'static str {
    if !plugin.server.enabled {
        return "disabled";
    }
    match plugin.standing.health(now) {
        _ if !is_approved => "unapproved",
        Health::Failed(_) => "failed",
        Health::BackingOff(_) => "backing_off",
        Health::Well if tools.iter().any(|row| tool::news(row) != News::Same) => "changed",
        Health::Well => "well",
    }
}

fn data(context: &Context, plugin: &Plugin, tools: &[ToolRow]) -> Result<Value> {
    let is_approved = plugin.is_approved(context)?;
    let named = |news: News| -> Vec<&str> {
        tools.iter().filter(|row| tool::news(row) == news).map(|row| row.name.as_str()).collect()
    };
    let mut data = json!({
        "project": plugin.project,
        "name": plugin.name(),
        "id": plugin.server.uuid.to_string(),
        "state": state(plugin, tools, is_approved, context.clock.now()),
        "approved": is_approved,
        "enabled": plugin.server.enabled,
        "transport": plugin.server.definition.transport.word(),
        "trusted": plugin.trusted,
        "private": plugin.private,
        "timeout_s": plugin.timeout.as_secs(),
        "idle_s": plugin.idle.as_secs(),
        "tools": tools.iter().filter(|row| row.listed.is_some()).count(),
        "changed": { "added": named(News::New), "changed": named(News::Changed), "removed": named(News::Gone) },
        "providers": plugin.providers,
    });
    if let Some(at) = plugin.listed_at {
        data["listed_at"] = json!(rfc3339(at));
    }
    if let Some(era) = plugin.era {
        data["era"] = json!(era.word());
    }
    if let Some(reason) = &plugin.standing.reason {
        data["last_failure"] = json!(reason);
    }
    Ok(data)
}

/// Returns a warning for each skipped tool.
fn left_out(listing: &Listing) -> impl Iterator<Item = String> {
    listing.left_out.iter().map(|why| format!("Skipped a tool: {why}"))
}
