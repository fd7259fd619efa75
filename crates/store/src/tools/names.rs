//! The MCP names of installed tools. A name never changes its meaning, so that an agent that remembers it never calls a
//! different tool.

use super::installs::Scope;
use super::session::SessionInstalls;
use crate::Db;
use crate::engine::{Row, params, sql};
use mcpkg_base::error::Result;

/// An MCP name, and the tool and action that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub mcp_name: String,
    pub tool: String,
    /// The action; empty for the tool's main one.
    pub action: String,
}

/// Returns the name of a tool's action. If the action has no name yet, assigns the first free name of `wanted`.
/// Returns `None` if no name is free.
pub fn give(db: &Db<'_>, tool: &str, action: &str, wanted: &[String]) -> Result<Option<String>> {
    if let Some(known) = of(db, tool, action)? {
        return Ok(Some(known));
    }
    for name in wanted {
        let insert = sql!(
            "INSERT INTO tool_name (mcp_name, tool, action) VALUES (?1, ?2, ?3) ON CONFLICT (mcp_name) DO NOTHING"
        );
        if db.run(insert, params![name, tool, action])? == 1 {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

/// Returns the name of an action of a tool, if it has one.
pub fn of(db: &Db<'_>, tool: &str, action: &str) -> Result<Option<String>> {
    let sql = sql!("SELECT mcp_name FROM tool_name WHERE tool = ?1 AND action = ?2");
    db.one(sql, params![tool, action], |row| row.get(0))
}

/// Returns the tool and action that a name stands for.
pub fn find(db: &Db<'_>, mcp_name: &str) -> Result<Option<Named>> {
    let sql = sql!("SELECT mcp_name, tool, action FROM tool_name WHERE mcp_name = ?1");
    db.one(sql, params![mcp_name], |row| Ok(Named { mcp_name: row.get(0)?, tool: row.get(1)?, action: row.get(2)? }))
}

/// A name, and the version of its tool that is installed in a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    pub named: Named,
    pub version: String,
    /// The SHA-256 of the installed archive.
    pub sha256: [u8; 32],
}

/// Returns at most `limit` names after `after`, in order, of tools that are installed in a scope.
pub fn after(db: &Db<'_>, scope: &Scope, after: &str, limit: usize) -> Result<Vec<Installed>> {
    if let Scope::Session(session) = scope {
        return of_session(db, session, after, limit);
    }
    let sql = sql!(
        "SELECT n.mcp_name, n.tool, n.action, i.version, p.sha256
           FROM tool_name AS n JOIN tool_install AS i ON i.scope = ?1 AND i.name = n.tool AND i.active = 1
                JOIN tool_package AS p ON p.id = i.package_id
          WHERE n.mcp_name > ?2 ORDER BY n.mcp_name LIMIT ?3"
    );
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    db.all(sql, params![scope.key(), after, limit], from_row)
}

/// Like [`after`], for the installs of a session. These are few, so each is looked up separately.
fn of_session(db: &Db<'_>, session: &SessionInstalls, after: &str, limit: usize) -> Result<Vec<Installed>> {
    let mut found = Vec::new();
    for one in session.installs().iter().filter(|one| one.active) {
        let sql = sql!(
            "SELECT n.mcp_name, n.tool, n.action, p.version, p.sha256
               FROM tool_name AS n JOIN tool_package AS p ON p.id = ?1 AND p.name = n.tool AND p.version = ?3
              WHERE n.tool = ?2 AND n.mcp_name > ?4"
        );
        found.extend(db.all(sql, params![one.package, one.name, one.version, after], from_row)?);
    }
    found.sort_by(|one, other| one.named.mcp_name.cmp(&other.named.mcp_name));
    found.truncate(limit);
    Ok(found)
}

fn from_row(row: &Row<'_>) -> Result<Installed> {
    let named = Named { mcp_name: row.get(0)?, tool: row.get(1)?, action: row.get(2)? };
    Ok(Installed { named, version: row.get(3)?, sha256: row.get(4)? })
}
