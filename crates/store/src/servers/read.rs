//! Reads a project's MCP servers, by name or all of them.

use super::row::{from_row, server_columns};
use super::server::Server;
use crate::Db;
use crate::engine::{params, sql};
use crate::projects::Project;
use mcpkg_base::error::{Code, Error, Result};

/// Returns a project's servers, ordered by name.
pub fn all(db: &Db<'_>, project: i64) -> Result<Vec<Server>> {
    db.all(sql!(server_columns!(), " WHERE project_id = ?1 ORDER BY name"), params![project], from_row)
}

/// Returns the server `name` of a project, if there is one.
pub fn find(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Server>> {
    db.one(sql!(server_columns!(), " WHERE project_id = ?1 AND name = ?2"), params![project, name], from_row)
}

/// Returns the server `name` of a project.
///
/// # Errors
/// `E_NOT_FOUND` with the name that was probably meant.
pub fn get(db: &Db<'_>, project: &Project, name: &str) -> Result<Server> {
    if let Some(found) = find(db, project.id, name)? {
        return Ok(found);
    }
    let names = names(db, project.id)?;
    let error = Error::new(Code::NotFound, format!("MCP server '{name}' does not exist in project '{}'", project.name))
        .with_details(serde_json::json!({ "name": name }));
    Err(error.suggest(name, names.iter().map(String::as_str), "`mcpkg mcp list` shows the existing servers"))
}

pub fn names(db: &Db<'_>, project: i64) -> Result<Vec<String>> {
    db.all(sql!("SELECT name FROM mcp_server WHERE project_id = ?1 ORDER BY name"), params![project], |row| row.get(0))
}

/// Returns a value that changes whenever one of the project's servers does. No content is read.
pub fn fingerprint(db: &Db<'_>, project: i64) -> Result<Vec<(uuid::Uuid, i64)>> {
    let sql = sql!("SELECT uuid, revision FROM mcp_server WHERE project_id = ?1 ORDER BY uuid");
    db.all(sql, params![project], |row| Ok((row.get(0)?, row.get(1)?)))
}
