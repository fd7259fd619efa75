//! Adds, changes and deletes MCP servers.

use uuid::Uuid;

use super::read::get;
use super::row::Columns;
use super::server::{Definition, Origin, Server};
use crate::engine::{Unique, Value, params, sql};
use crate::projects::Project;
use crate::{Db, revisions};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

const NAME: Unique = Unique::new("mcp_server", &["project_id", "name"]);

#[expect(clippy::too_many_arguments, reason = "all of a row, each column with its own word")]
pub fn insert(
    db: &Db<'_>,
    project: &Project,
    uuid: Uuid,
    name: &str,
    definition: Definition,
    origin: Origin,
    enabled: bool,
    now: Millis,
) -> Result<Server> {
    let name = name.to_owned();
    let mut server =
        Server { id: 0, uuid, name, definition, origin, enabled, revision: 1, created_at: now, updated_at: now };
    let sql = sql!(
        "INSERT INTO mcp_server (project_id, uuid, name, transport, command, args, env, cwd, url, headers, inputs, extra,
                                 description, agent, path, entry, enabled, revision, created_at, updated_at, row_sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
         RETURNING id"
    );
    server.id = Columns::of(&server.definition)?
        .with(project.id, &server, |values, sum| db.insert(sql, &[values, &[Value::Integer(sum)]].concat()))
        .map_err(|error| name_taken(error, project, &server.name))?;
    db.note("mcp", &server.name, "", server.revision);
    Ok(server)
}

/// Writes a changed server, and returns its new state. An unchanged server is not written.
///
/// # Errors
/// `E_ALREADY_EXISTS` if a new name is taken; `E_NOT_FOUND` if the server no longer exists.
pub fn update(db: &Db<'_>, project: &Project, before: &Server, mut server: Server, now: Millis) -> Result<Server> {
    if *before == server {
        return Ok(server);
    }
    server.revision = revisions::next(before.revision)?;
    server.updated_at = now;
    let sql = sql!(
        "UPDATE mcp_server SET name = ?3, transport = ?4, command = ?5, args = ?6, env = ?7, cwd = ?8, url = ?9,
                               headers = ?10, inputs = ?11, extra = ?12, description = ?13, agent = ?14, path = ?15,
                               entry = ?16, enabled = ?17, revision = ?18, created_at = ?19, updated_at = ?20,
                               row_sum = ?21
          WHERE project_id = ?1 AND uuid = ?2"
    );
    let changed = Columns::of(&server.definition)?
        .with(project.id, &server, |values, sum| db.run(sql, &[values, &[Value::Integer(sum)]].concat()))
        .map_err(|error| name_taken(error, project, &server.name))?;
    db.note("mcp", &server.name, before.revision, server.revision);
    match changed {
        0 => get(db, project, &server.name),
        _ => Ok(server),
    }
}

pub fn delete(db: &Db<'_>, project: &Project, name: &str) -> Result<Server> {
    let server = get(db, project, name)?;
    db.run(sql!("DELETE FROM mcp_server WHERE id = ?1"), params![server.id])?;
    db.note("mcp", &server.name, server.revision, "");
    Ok(server)
}

fn name_taken(error: Error, project: &Project, name: &str) -> Error {
    if !NAME.is_violated_by(&error) {
        return error;
    }
    let message = format!("MCP server '{name}' already exists in project '{}'", project.name);
    Error::new(Code::AlreadyExists, message)
        .with_details(serde_json::json!({ "name": name }))
        .hint(format!("`mcpkg mcp set {name}` changes the server"))
}
