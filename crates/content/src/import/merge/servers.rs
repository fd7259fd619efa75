//! Merges the MCP servers of an import into a project.

use serde_json::{Value, json};

use crate::import::place::servers::{ServerInFile, covers};
use crate::item::server::Server;
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::servers::{self, Definition};

/// What an import does with a server.
#[derive(Clone, Debug)]
pub enum Action {
    Create,
    /// Replaces the stored server.
    Update(Box<servers::Server>),
    /// Does nothing, because the stored server has the same settings.
    Unchanged,
    /// Does nothing, because a different server has the same name.
    Conflict,
}

impl Action {
    pub const fn word(&self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Update(_) => "update",
            Action::Unchanged => "unchanged",
            Action::Conflict => "conflict",
        }
    }
}

/// Returns the action for each server. A server that differs is updated if `update` is set; otherwise it is a conflict.
pub fn plan(db: &Db<'_>, project: &Project, found: &[ServerInFile], update: bool) -> Result<Vec<Action>> {
    let action = |ServerInFile { server, .. }: &ServerInFile| {
        let Some(there) = servers::find(db, project.id, &server.name)? else { return Ok(Action::Create) };
        let known = Server {
            name: there.name.clone(),
            definition: Definition { description: server.definition.description.clone(), ..there.definition.clone() },
            origin: there.origin.clone(),
            enabled: there.enabled,
        };
        Ok(match (covers(&known, server), update) {
            (true, _) => Action::Unchanged,
            (false, true) => Action::Update(Box::new(there)),
            (false, false) => Action::Conflict,
        })
    };
    found.iter().map(action).collect()
}

/// Fails with `E_IMPORT_CONFLICT` if the plan has conflicts, and lists all of them.
pub fn refuse_conflicts(found: &[ServerInFile], actions: &[Action]) -> Result<()> {
    let conflicts = found.iter().zip(actions).filter(|(_, action)| matches!(action, Action::Conflict));
    let named: Vec<String> = conflicts
        .map(|(found, _)| format!("MCP server '{}' ({}): it differs", found.server.name, found.file))
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    let message =
        format!("The import would change existing MCP servers; nothing was imported:\n  {}", named.join("\n  "));
    Err(Error::new(Code::ImportConflict, message).with_details(json!({ "conflicts": named })).hint(
        "`--update` replaces the existing servers with the servers in the files; `--dry-run` shows what would happen",
    ))
}

pub fn apply(
    db: &Db<'_>,
    project: &Project,
    clock: &Clock,
    now: Millis,
    found: &[ServerInFile],
    actions: &[Action],
) -> Result<()> {
    for (ServerInFile { server, .. }, action) in found.iter().zip(actions) {
        let Server { name, definition, origin, enabled } = server.clone();
        match action {
            Action::Create => {
                servers::insert(db, project, clock.uuid(), &name, definition, origin, enabled, now)?;
            }
            Action::Update(there) => {
                let description = definition.description.clone().or_else(|| there.definition.description.clone());
                let definition = Definition { description, ..definition };
                let after = servers::Server { definition, origin, ..(**there).clone() };
                servers::update(db, project, there, after, now)?;
            }
            Action::Unchanged => {}
            Action::Conflict => return Err(Error::internal("a server with a conflict was about to be written")),
        }
    }
    Ok(())
}

/// Counts the written servers, for a sentence; `None` if there are none.
pub fn sentence(actions: &[Action]) -> Option<String> {
    let written = actions.iter().filter(|action| matches!(action, Action::Create | Action::Update(_))).count();
    (written > 0).then(|| plural::count(written, "MCP server"))
}

/// The word for a server in lines of output.
pub const WORD: &str = "mcp server";

/// Returns a line about a server: its file, and what would happen to it.
pub fn line(found: &ServerInFile, action: &Action) -> String {
    format!("{}: {} {WORD} {}", found.file, action.word(), found.server.name)
}

pub fn data(found: &[ServerInFile], actions: &[Action]) -> Value {
    let one = |(ServerInFile { server, file }, action): (&ServerInFile, &Action)| {
        json!({
            "action": action.word(),
            "name": server.name,
            "path": file,
            "agent": server.origin.agent,
            "enabled": server.enabled,
        })
    };
    found.iter().zip(actions).map(one).collect()
}
