//! Reads workflows by name and in pages.

use uuid::Uuid;

use super::row::{damaged, from_row, placeholder, workflow_columns};
use super::workflow::Workflow;
use crate::Db;
use crate::blobs::{Blob, blob_columns};
use crate::engine::{params, sql};
use crate::page::{Page, Slice};
use crate::projects::{self, Project, Selection, resolved};
use mcpkg_base::error::{Code, Error, Result};

/// Returns a page of a project's workflows, ordered by name. A damaged workflow is included, with a description that
/// says so.
pub fn list(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Workflow>> {
    let sql = sql!(workflow_columns!(), " WHERE w.project_id = ?1 AND w.name > ?2 ORDER BY w.name LIMIT ?3");
    let rows = db.all(sql, params![project, page.after, page.fetch()], |row| {
        from_row(row).or_else(|error| placeholder(row, error))
    })?;
    Ok(page.slice(rows))
}

/// Returns the workflow `name` of a project.
///
/// # Errors
/// `E_NOT_FOUND` with the name that was probably meant.
pub fn get(db: &Db<'_>, project: &Project, name: &str) -> Result<Workflow> {
    find(db, project.id, name)?.ok_or_else(|| missing(db, project, name))
}

/// Returns the workflow `name` of a project, if there is one.
pub fn find(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Workflow>> {
    let sql = sql!(workflow_columns!(), " WHERE w.project_id = ?1 AND w.name = ?2");
    db.one(sql, params![project, name], |row| {
        let workflow = from_row(row)?;
        // A damaged index may lead to another row.
        let is_asked_for = workflow.name == name && row.get::<i64>(0)? == project;
        if is_asked_for { Ok(workflow) } else { Err(damaged(name)) }
    })
}

/// Returns the workflow with the id `uuid` of a project, if there is one.
pub fn by_uuid(db: &Db<'_>, project: i64, uuid: Uuid) -> Result<Option<Workflow>> {
    let sql = sql!(workflow_columns!(), " WHERE w.uuid = ?2 AND w.project_id = ?1");
    match db.one(sql, params![project, uuid], from_row)? {
        Some(found) if found.uuid != uuid => Err(damaged(&found.name)),
        found => Ok(found),
    }
}

/// Passes the text of the workflow `name` of the selected project to `f`. Returns `None` if there is no such workflow.
///
/// # Errors
/// Errors of `f`.
pub fn with<T>(
    db: &Db<'_>,
    selection: &Selection,
    name: &str,
    f: impl FnOnce(Blob<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let Some(project) = projects::resolved_id(db, selection)? else { return Ok(None) };
    let Some(workflow) = find(db, project, name)? else { return Ok(None) };
    let sql = sql!("SELECT ", blob_columns!(), " FROM blob b WHERE b.id = ?1");
    db.one(sql, params![workflow.blob], |row| f(Blob::from_row(row, 0)?))
}

/// Returns at most `limit` names in the selected project that begin with `prefix`.
pub fn names(db: &Db<'_>, selection: &Selection, prefix: &str, limit: usize) -> Result<Vec<String>> {
    let sql = sql!(
        "SELECT name FROM workflow WHERE project_id = ",
        resolved!(),
        " AND substr(name, 1, length(?3)) = ?3 AND name >= ?3 ORDER BY name LIMIT ?4"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    db.all(sql, params![selection.named, selection.directory, prefix, limit], |row| row.get(0))
}

/// Returns the SHA-256 of the text of the workflow `name` of the selected project; `None` if there is none.
pub fn validator(db: &Db<'_>, selection: &Selection, name: &str) -> Result<Option<[u8; 32]>> {
    let sql = sql!(
        "SELECT b.sha256 FROM workflow w JOIN blob b ON b.id = w.blob_id WHERE w.name = ?3 AND w.project_id = ",
        resolved!()
    );
    db.one(sql, params![selection.named, selection.directory, name], |row| row.get(0))
}

/// Returns the error for a name that no workflow of the project has, with the name that was probably meant.
pub fn missing(db: &Db<'_>, project: &Project, name: &str) -> Error {
    let what = format!("Workflow '{name}' does not exist in project '{}'", project.name);
    let error = Error::new(Code::NotFound, what).with_details(serde_json::json!({ "name": name }));
    let sql = sql!("SELECT name FROM workflow WHERE project_id = ?1 ORDER BY name LIMIT 1000");
    // Ignore errors here: they only concern the hint.
    let names: Vec<String> = db.all(sql, params![project.id], |row| row.get(0)).unwrap_or_default();
    error.suggest(name, names.iter().map(String::as_str), "`mcpkg workflow list` shows the existing workflows")
}
