//! Plugins: MCP servers of a project that mcpkg runs itself, with the tools that each of them listed last.
//!
//! Parts that this crate does not interpret (declared providers, times of failures, tools) are stored as JSON.

use super::Db;
use super::engine::{Row, params, sql};
use super::projects::{self, Selection};
use super::servers::{self, Server};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

/// A person's decisions about running a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether mcpkg trusts the plugin's own hints about its tools.
    pub trusted: bool,
    /// Whether requests may go to addresses that are not public.
    pub private: bool,
    /// The time limit for a call, in milliseconds.
    pub timeout_ms: i64,
    /// How long the plugin keeps running without a call, in milliseconds.
    pub idle_ms: i64,
    /// The tools that a person declared to return lists, as JSON.
    pub providers: String,
}

/// A plugin's row, joined with the row of its MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginRow {
    pub server: Server,
    pub project: String,
    pub facts: Facts,
    /// How the last successful session was started: `handshake` or `discover`.
    pub era: Option<String>,
    /// The times of the plugin's failures, as JSON.
    pub failures: String,
    pub reason: Option<String>,
    /// When the plugin last listed its tools.
    pub listed_at: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRow {
    pub name: String,
    /// The server's current description of the tool, as JSON; `None` if the server no longer lists it.
    pub listed: Option<String>,
    /// The server's description of the tool when a person last looked at it, as JSON.
    pub accepted: Option<String>,
}

/// Makes a project's server a plugin.
pub fn insert(db: &Db<'_>, server: &Server, facts: &Facts, now: Millis) -> Result<()> {
    if is_plugin(db, server.id)? {
        return Err(already(&server.name));
    }
    let Facts { trusted, private, timeout_ms, idle_ms, providers } = facts;
    let sql = sql!(
        "INSERT INTO plugin (server_id, trusted, private, timeout_ms, idle_ms, providers, failures, changes, added_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, '[]', 0, ?7)"
    );
    db.run(sql, params![server.id, trusted, private, timeout_ms, idle_ms, providers, now]).map(drop)
}

/// Returns the error for a server that is already a plugin.
pub fn already(name: &str) -> Error {
    Error::new(Code::AlreadyExists, format!("MCP server '{name}' already provides commands"))
        .hint(format!("`mcpkg plugin set {name}` changes the plugin"))
}

/// Updates a person's decisions about a plugin.
pub fn update(db: &Db<'_>, id: i64, facts: &Facts) -> Result<()> {
    let Facts { trusted, private, timeout_ms, idle_ms, providers } = facts;
    let sql = sql!(
        "UPDATE plugin SET trusted = ?2, private = ?3, timeout_ms = ?4, idle_ms = ?5, providers = ?6, changes = changes + 1
          WHERE server_id = ?1"
    );
    db.run(sql, params![id, trusted, private, timeout_ms, idle_ms, providers]).map(drop)
}

/// Removes a plugin. Its MCP server stays in the project.
pub fn delete(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("DELETE FROM plugin WHERE server_id = ?1"), params![id]).map(drop)
}

/// Returns the plugins of a project, ordered by name.
pub fn list(db: &Db<'_>, project: i64) -> Result<Vec<PluginRow>> {
    let names = names(db, project)?;
    let rows = names.iter().map(|name| find(db, project, name));
    Ok(rows.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Returns the plugins of the selected project, ordered by name; empty without a project.
pub fn of_selection(db: &Db<'_>, selection: &Selection) -> Result<Vec<PluginRow>> {
    match projects::resolve(db, selection)? {
        Some(project) => list(db, project.id),
        None => Ok(Vec::new()),
    }
}

/// Returns the plugin with this name, if there is one.
pub fn find(db: &Db<'_>, project: i64, name: &str) -> Result<Option<PluginRow>> {
    let Some(server) = servers::find(db, project, name)? else { return Ok(None) };
    let sql = sql!(
        "SELECT p.trusted, p.private, p.timeout_ms, p.idle_ms, p.providers, p.era, p.failures, p.reason, p.listed_at, o.name
           FROM plugin p, project o
          WHERE p.server_id = ?1 AND o.id = ?2"
    );
    db.one(sql, params![server.id, project], |row| {
        Ok(PluginRow {
            server: server.clone(),
            facts: Facts {
                trusted: row.get(0)?,
                private: row.get(1)?,
                timeout_ms: row.get(2)?,
                idle_ms: row.get(3)?,
                providers: row.get(4)?,
            },
            era: row.get(5)?,
            failures: row.get(6)?,
            reason: row.get(7)?,
            listed_at: row.get(8)?,
            project: row.get(9)?,
        })
    })
}

pub fn names(db: &Db<'_>, project: i64) -> Result<Vec<String>> {
    let sql = sql!(
        "SELECT s.name FROM plugin p JOIN mcp_server s ON s.id = p.server_id WHERE s.project_id = ?1 ORDER BY s.name"
    );
    db.all(sql, params![project], |row| row.get(0))
}

/// Whether any project has a plugin with this name.
pub fn has_name(db: &Db<'_>, name: &str) -> Result<bool> {
    let sql = sql!("SELECT 1 FROM plugin p JOIN mcp_server s ON s.id = p.server_id WHERE s.name = ?1 LIMIT 1");
    Ok(db.one(sql, params![name], |row| row.get::<i64>(0))?.is_some())
}

pub fn is_plugin(db: &Db<'_>, server: i64) -> Result<bool> {
    let sql = sql!("SELECT 1 FROM plugin WHERE server_id = ?1");
    Ok(db.one(sql, params![server], |row| row.get::<i64>(0))?.is_some())
}

/// Returns a text that changes whenever the index of commands would show the project's plugins differently.
pub fn validator(db: &Db<'_>, project: i64) -> Result<String> {
    let sql = sql!(
        "SELECT s.uuid, s.revision, p.added_at, p.changes FROM plugin p JOIN mcp_server s ON s.id = p.server_id
          WHERE s.project_id = ?1 ORDER BY s.name"
    );
    let mut validator = String::new();
    db.each(sql, params![project], |row| {
        let (uuid, revision, added, changes): (uuid::Uuid, i64, Millis, i64) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        validator.push_str(&format!("{}.{revision}.{added}.{changes};", uuid.simple()));
        Ok(())
    })?;
    Ok(validator)
}

/// Returns the values that a running plugin depends on: the id and revision of its MCP server, and `private`. If they
/// change, the plugin must be started again. `None` if the plugin was removed.
pub fn standing(db: &Db<'_>, id: i64) -> Result<Option<(uuid::Uuid, i64, bool)>> {
    let sql = sql!(
        "SELECT s.uuid, s.revision, p.private FROM plugin p JOIN mcp_server s ON s.id = p.server_id WHERE p.server_id = ?1"
    );
    db.one(sql, params![id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// Stores how the plugin's session was started; see [`PluginRow::era`].
pub fn set_era(db: &Db<'_>, id: i64, era: &str) -> Result<()> {
    db.run(sql!("UPDATE plugin SET era = ?2 WHERE server_id = ?1"), params![id, era]).map(drop)
}

/// Returns the times of a plugin's failures, as JSON; `None` if the plugin is gone.
pub fn failures(db: &Db<'_>, id: i64) -> Result<Option<String>> {
    db.one(sql!("SELECT failures FROM plugin WHERE server_id = ?1"), params![id], |row| row.get(0))
}

/// Stores when a plugin failed, and the reason for the last failure.
pub fn set_failures(db: &Db<'_>, id: i64, failures: &str, reason: Option<&str>) -> Result<()> {
    let sql = sql!("UPDATE plugin SET failures = ?2, reason = ?3 WHERE server_id = ?1");
    db.run(sql, params![id, failures, reason]).map(drop)
}

/// Returns the tools of a plugin, ordered by name, including those that it no longer lists.
pub fn tools(db: &Db<'_>, id: i64) -> Result<Vec<ToolRow>> {
    db.all(sql!("SELECT name, listed, accepted FROM plugin_tool WHERE server_id = ?1 ORDER BY name"), params![id], tool)
}

/// Stores the tools that a plugin lists now. Returns whether they have changed.
pub fn set_listed(db: &Db<'_>, id: i64, listed: &[(String, String)], now: Millis) -> Result<bool> {
    let before = tools(db, id)?;
    let mut changed = false;
    for (name, said) in listed {
        let known = before.iter().find(|tool| tool.name == *name);
        if known.is_some_and(|known| known.listed.as_ref() == Some(said)) {
            continue;
        }
        let sql = sql!(
            "INSERT INTO plugin_tool (server_id, name, listed) VALUES (?1, ?2, ?3)
             ON CONFLICT (server_id, name) DO UPDATE SET listed = excluded.listed"
        );
        db.run(sql, params![id, name, said])?;
        changed = true;
    }
    for gone in before.iter().filter(|tool| !listed.iter().any(|(name, _)| *name == tool.name)) {
        let sql = match gone.accepted {
            // No person has accepted this tool yet, so its row is not needed.
            None => sql!("DELETE FROM plugin_tool WHERE server_id = ?1 AND name = ?2"),
            Some(_) => sql!("UPDATE plugin_tool SET listed = NULL WHERE server_id = ?1 AND name = ?2"),
        };
        changed |= gone.listed.is_some();
        db.run(sql, params![id, gone.name])?;
    }
    let more = i64::from(changed);
    let sql = sql!("UPDATE plugin SET changes = changes + ?2, listed_at = ?3 WHERE server_id = ?1");
    db.run(sql, params![id, more, now])?;
    Ok(changed)
}

/// Records that a person has looked at everything that a plugin lists.
pub fn accept(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("DELETE FROM plugin_tool WHERE server_id = ?1 AND listed IS NULL"), params![id])?;
    db.run(sql!("UPDATE plugin_tool SET accepted = listed WHERE server_id = ?1"), params![id])?;
    db.run(sql!("UPDATE plugin SET changes = changes + 1 WHERE server_id = ?1"), params![id]).map(drop)
}

fn tool(row: &Row<'_>) -> Result<ToolRow> {
    Ok(ToolRow { name: row.get(0)?, listed: row.get(1)?, accepted: row.get(2)? })
}
