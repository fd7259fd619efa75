//! The gate of a workspace, which tests ONNX models: its models, and the routes from endpoints to them.

use super::blobs::NewContent;
use super::engine::{Row as Found, params, sql};
use super::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub name: String,
    pub blob: i64,
    pub sha256: [u8; 32],
    pub size: i64,
    /// The header of the model's file, as JSON.
    pub header: String,
    pub registered_at: Millis,
}

/// A model to register.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    pub workspace: i64,
    pub name: &'a str,
    pub content: &'a NewContent,
    /// The header of the model's file, as JSON.
    pub header: &'a str,
    pub now: Millis,
}

/// A route from an endpoint to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub model: String,
    pub endpoint: String,
    /// Whether the route is in use.
    pub active: bool,
}

macro_rules! models {
    () => {
        "SELECT m.name, m.blob_id, b.sha256, b.size, m.header, m.registered_at
           FROM gate_model m JOIN blob b ON b.id = m.blob_id"
    };
}

/// Registers a model. Returns false, and changes nothing, if the name is taken.
///
/// # Errors
/// `E_FILE_FAILED` if its file cannot be read or has changed.
pub fn add(db: &Db<'_>, new: &New<'_>) -> Result<bool> {
    if find(db, new.workspace, new.name)?.is_some() {
        return Ok(false);
    }
    let blob = blobs::put_source(db, new.content)?;
    let sql = sql!(
        "INSERT INTO gate_model (workspace_id, name, blob_id, header, registered_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (workspace_id, name) DO NOTHING"
    );
    Ok(db.run(sql, params![new.workspace, new.name, blob, new.header, new.now])? == 1)
}

/// Returns the models of a workspace, by name.
pub fn list(db: &Db<'_>, workspace: i64) -> Result<Vec<Model>> {
    db.all(sql!(models!(), " WHERE m.workspace_id = ?1 ORDER BY m.name"), params![workspace], model)
}

pub fn find(db: &Db<'_>, workspace: i64, name: &str) -> Result<Option<Model>> {
    db.one(sql!(models!(), " WHERE m.workspace_id = ?1 AND m.name = ?2"), params![workspace, name], model)
}

/// Removes a model with its routes. Returns whether there was one.
pub fn remove(db: &Db<'_>, workspace: i64, name: &str) -> Result<bool> {
    let sql = sql!("DELETE FROM gate_model WHERE workspace_id = ?1 AND name = ?2 RETURNING blob_id");
    let Some(blob) = db.one(sql, params![workspace, name], |row| row.get(0))? else { return Ok(false) };
    blobs::take_back(db, blob)?;
    Ok(true)
}

/// Returns the names of all workspaces' models, without duplicates, for completion in a shell.
pub fn names(db: &Db<'_>) -> Result<Vec<String>> {
    db.all(sql!("SELECT DISTINCT name FROM gate_model ORDER BY name"), params![], |row| row.get(0))
}

/// Returns the routes of a workspace, ordered by endpoint.
pub fn routes(db: &Db<'_>, workspace: i64) -> Result<Vec<Route>> {
    let sql = sql!(
        "SELECT m.name, r.endpoint, r.active FROM gate_route r JOIN gate_model m ON m.id = r.model_id
          WHERE r.workspace_id = ?1 ORDER BY r.endpoint"
    );
    db.all(sql, params![workspace], |row| Ok(Route { model: row.get(0)?, endpoint: row.get(1)?, active: row.get(2)? }))
}

/// Assigns an endpoint to a model. Returns whether the model exists.
pub fn set_route(db: &Db<'_>, workspace: i64, route: &Route) -> Result<bool> {
    let sql = sql!(
        "INSERT INTO gate_route (workspace_id, endpoint, model_id, active)
         SELECT m.workspace_id, ?3, m.id, ?4 FROM gate_model m WHERE m.workspace_id = ?1 AND m.name = ?2
         ON CONFLICT (workspace_id, endpoint) DO UPDATE SET model_id = excluded.model_id, active = excluded.active"
    );
    Ok(db.run(sql, params![workspace, route.model, route.endpoint, route.active])? == 1)
}

fn model(row: &Found<'_>) -> Result<Model> {
    Ok(Model {
        name: row.get(0)?,
        blob: row.get(1)?,
        sha256: row.get(2)?,
        size: row.get(3)?,
        header: row.get(4)?,
        registered_at: row.get(5)?,
    })
}
