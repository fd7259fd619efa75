//! Applies the files of Enact, the program that contract 002 describes, to a server that runs in place of Enact
//! (`mcpkg serve --as enact`). The server does this at its start and whenever the files change. An agent can write
//! these files. Therefore a stricter rule applies at once, and a looser rule waits for a person at a terminal.

use super::home::Home;
use super::plan::Plan;
use super::{gather, widening, write};
use crate::trust::{self, Rules};
use mcpkg_base::clock::Clock;
use mcpkg_base::disk;
use mcpkg_base::disk::Stat;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Confirmation, Context, Finding, Health, Identity, Original};

/// How a server that runs in place of Enact follows Enact's files: `look` shows whether they changed, `take` applies
/// them.
pub const ORIGINAL: Original = Original { identity: Identity::Enact, look, take };

/// The files in `.enact` to watch.
const FILES: [&str; 2] = ["mcp.json", "config.yaml"];

/// Returns the file metadata that shows whether the files changed. Returns `None` if a file was modified so
/// recently that another change could go unnoticed.
fn look() -> Option<Vec<Option<Stat>>> {
    let Ok(home) = disk::home() else { return Some(Vec::new()) };
    let now = Clock::system().now();
    // Follow links, because reading the files follows them too.
    let stat = |name: &str| match std::fs::metadata(home.join(".enact").join(name)) {
        Ok(metadata) => disk::stat(&metadata).filter(|stat| disk::tells_changes(stat, now)).map(Some),
        Err(_) => Some(None),
    };
    FILES.into_iter().map(stat).collect()
}

/// Applies the rules that are stricter than the current ones. Returns messages about changes that wait for a person's
/// approval, and about files that cannot be read. Earlier rules from an unreadable file stay in force.
fn take(context: &Context) -> Result<Vec<String>> {
    let Some(home) = home()? else { return Ok(Vec::new()) };
    let (mut plan, failed) = gather::of_server(context, &home)?;
    let now = context.store.read(|db| trust::rules(db, context))?;
    let mut told = lines(&failed);
    let waiting = waiting(&now, &plan);
    told.extend(waiting.iter().map(|waiting| {
        format!(
            "~/.enact contains settings that you have not approved ({waiting}); to approve them, run `mcpkg tool import` at a terminal"
        )
    }));
    // A server never adds a registry; the user adds it with `mcpkg tool import`.
    plan.registry = None;
    // A program started this server, so there is no person to ask.
    widening::decide(&Context { confirmation: Confirmation::Nobody, ..context.clone() }, &now, &mut plan)?;
    if plan.changes_a_server() {
        write::tighten(context, &plan)?;
        write::write(context, &plan, &home.own.display().to_string())?;
    }
    Ok(told)
}

/// Reports for `doctor` which file cannot be read, and what waits for a person's approval.
pub fn look_over(context: &Context, area: &'static str) -> Result<Vec<Finding>> {
    let Some(home) = home()? else { return Ok(Vec::new()) };
    let (plan, failed) = gather::of_server(context, &home)?;
    let now = context.store.read(|db| trust::rules(db, context))?;
    let broken = lines(&failed).into_iter().map(|what| Finding::new(area, Health::Problem, what));
    let waiting = waiting(&now, &plan).into_iter().map(|waiting| {
        Finding::new(area, Health::Note, format!("~/.enact contains settings that you have not approved: {waiting}"))
            .action("mcpkg tool import")
    });
    Ok(broken.chain(waiting).collect())
}

/// Returns this user's `.enact` folder if it exists.
fn home() -> Result<Option<Home>> {
    match Home::of_user(None) {
        Err(error) if matches!(error.code(), Code::NotFound | Code::RootRequired) => Ok(None),
        home => home.map(Some),
    }
}

fn lines(failed: &[Error]) -> Vec<String> {
    let sentence = |error: &Error| {
        format!("{}; `mcpkg serve --as enact` continues with what it last read from this file", error.message())
    };
    failed.iter().map(sentence).collect()
}

/// Lists the parts of the plan that allow more than the current rules do.
fn waiting(now: &Rules, plan: &Plan) -> Vec<String> {
    let registry = plan.registry.iter().map(|place| format!("registry {}", place.location));
    widening::lines(now, plan).into_iter().map(|(line, _)| line).chain(registry).collect()
}
