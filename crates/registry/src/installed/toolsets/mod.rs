//! `mcpkg toolset ...`: named sets of installed tools. Agents see and call only the tools in the active set.

mod activate;
mod change;
mod create;
mod exchange;
mod items;
mod list;

use serde_json::{Value, json};

use crate::alias;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Entry, Names, Reach};
use mcpkg_store::Db;
use mcpkg_store::tools::installs;
use mcpkg_store::tools::toolsets::{self, Toolset};

pub use create::check_name;

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[
    Entry::of::<create::Create>(),
    Entry::of::<list::List>(),
    Entry::of::<list::Show>(),
    Entry::of::<activate::Use>(),
    Entry::of::<items::Add>(),
    Entry::of::<items::Remove>(),
    Entry::of::<change::Rename>(),
    Entry::of::<change::Delete>(),
    Entry::of::<exchange::Export>(),
    Entry::of::<exchange::Import>(),
];

/// A toolset can change the tools that every client sees.
const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };

/// The names of all toolsets, for shell completion.
const TOOLSETS: Names =
    Names::Stored(|typed| Ok(typed.matching(toolsets::list(typed.db)?.into_iter().map(|set| set.name))));

/// Runs `f` in one write transaction. If any row changed, appends an event of this kind about the toolset `name`.
fn write<T>(context: &Context, kind: &str, name: &str, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
    let author = context.author();
    context.store.write(|db| {
        let before = db.changed_rows();
        let value = f(db)?;
        if db.changed_rows() != before {
            context.event(db, author, None, kind, name)?;
        }
        Ok(value)
    })
}

/// Returns the names of the installed tools in all scopes, since a toolset applies to all clients.
fn installed(db: &Db<'_>) -> Result<Vec<String>> {
    installs::names(db)
}

/// Adds tools to a set and returns the new ones; each tool must be installed.
fn add(context: &Context, db: &Db<'_>, id: i64, tools: &[String]) -> Result<Vec<String>> {
    let known = installed(db)?;
    let mut added = Vec::new();
    for tool in tools {
        let tool = &alias::expanded_in(db, context, tool)?;
        if !known.contains(tool) {
            let error = Error::new(Code::ToolNotFound, format!("Tool '{tool}' is not installed"));
            let otherwise = "`mcpkg tool list` lists the installed tools".to_owned();
            return Err(error.suggest(tool, known.iter().map(String::as_str), otherwise));
        }
        if toolsets::add(db, id, tool)? {
            added.push(tool.clone());
        }
    }
    Ok(added)
}

/// Returns a toolset as JSON.
fn data(db: &Db<'_>, set: &Toolset) -> Result<Value> {
    Ok(json!({
        "name": set.name,
        "active": set.active,
        "created_at": rfc3339(set.created_at),
        "tools": toolsets::tools(db, set.id)?,
    }))
}
