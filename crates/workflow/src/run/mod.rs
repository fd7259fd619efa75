//! Runs commands and workflows: checks and consent before a run, and reports about runs.

mod arguments;
mod ask;
pub mod called;
mod changes;
mod command;
mod control;
mod defaults;
mod effects;
mod execute;
pub mod gates;
mod list;
mod once;
mod plan;
mod resource;
mod resume;
mod start;
mod step;
mod stored_definition;
mod wanted;
mod workflow;

use uuid::Uuid;

use super::runner::resume::missing;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Entry, Name, Names};
use mcpkg_store::page::Page;
use mcpkg_store::runs::{self, Run};
use mcpkg_store::{Db, projects};

pub use resource::RESOURCES;

pub const OPS: &[Entry] = &[
    Entry::of::<command::Run>(),
    Entry::of::<execute::Execute>(),
    Entry::of::<workflow::Run>(),
    Entry::of::<list::Runs>(),
    Entry::of::<control::Pause>(),
    Entry::of::<resume::Resume>(),
    Entry::of::<control::Cancel>(),
];

/// The tool that runs commands. It is not itself a command.
pub const EXECUTE: &str = "execute";

/// Shell completion for the ids of the project's runs.
pub const RUNS: Names = Names::Stored(|typed| {
    let project = typed.project()?.map(|project| project.id);
    let found = runs::list(typed.db, project, &Page::first(typed.limit))?.rows;
    let named = found.into_iter().map(|run| {
        let about = format!("{} {}", run.name, run.state.word());
        Name { name: run.uuid.to_string(), about: Some(about) }
    });
    Ok(named.filter(|named| named.name.starts_with(typed.prefix)).collect())
});

/// Returns the run with this id, or the only run whose id ends with this text. The run must belong to the selected
/// project. A run without a project is found only by the requester that started it, or by a person at the shell or in
/// the console.
pub fn named(context: &Context, id: &str) -> Result<Run> {
    context.store.read(|db| find(db, context, id.trim()))
}

fn find(db: &Db<'_>, context: &Context, id: &str) -> Result<Run> {
    let absent = || missing(id);
    let project = projects::resolve(db, &context.selection)?.map(|project| project.id);
    let run = match Uuid::try_parse(id) {
        Ok(uuid) => runs::get(db, uuid)?.ok_or_else(absent)?,
        Err(_) => by_end(db, project, id)?.ok_or_else(absent)?,
    };
    let is_seen = match run.project {
        Some(own) => project == Some(own),
        None => context.is_shell() || run.asker == context.caller.asker(),
    };
    if is_seen { Ok(run) } else { Err(absent()) }
}

/// Minimum length of an abbreviated run id.
const SHORTEST: usize = 4;

/// How many of the newest runs are searched for an abbreviated id.
const NEWEST: usize = 1_000;

fn by_end(db: &Db<'_>, project: Option<i64>, end: &str) -> Result<Option<Run>> {
    if end.len() < SHORTEST {
        return Ok(None);
    }
    let mut found = runs::list(db, project, &Page::first(NEWEST))?.rows;
    found.retain(|run| run.uuid.to_string().ends_with(&end.to_ascii_lowercase()));
    let only = found.pop();
    Ok(only.filter(|_| found.is_empty()))
}
