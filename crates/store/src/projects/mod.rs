//! Stores the projects, the selection of a project, and the folders that projects are bound to.

use uuid::Uuid;

use super::engine::{Row, Unique, params, sql};
use super::page::{Page, Slice};
use super::tools::installs::{self, Scope};
use super::{Db, blobs, ignored, lists, search, targets};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

mod project;
mod selection;

pub use project::Project;
use project::{from_row, project_columns};
pub use selection::Selection;
pub(super) use selection::{resolved, resolved_id};

const NAME: Unique = Unique::new("project", &["name"]);

/// The reason why a project is the selected one for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The call names the project. This text says where, such as `--project` or `the access key`.
    Named(&'static str),
    /// The project is bound to this folder.
    Bound(String),
    Selected,
}

/// Returns the project that a call selects, if any.
///
/// # Errors
/// `E_NOT_FOUND` if the selection names a project that does not exist.
pub fn resolve(db: &Db<'_>, selection: &Selection) -> Result<Option<Project>> {
    let sql = sql!("SELECT ", project_columns!(), " FROM project WHERE id = ", resolved!());
    let found = db.one(sql, params![selection.named, selection.directory], from_row)?;
    match (&found, &selection.named) {
        (None, Some(name)) => Err(missing(db, name)?),
        _ => Ok(found),
    }
}

/// Returns the project that a server serves, if any. Returns `None` if the named project does not exist, whether it
/// was deleted or never existed.
pub fn served(db: &Db<'_>, selection: &Selection) -> Result<Option<Project>> {
    match resolve(db, selection) {
        Err(error) if error.code() == Code::NotFound => Ok(None),
        project => project,
    }
}

/// Returns the project that a call selects.
///
/// # Errors
/// `E_NO_PROJECT` if none is selected, `E_NOT_FOUND` if the named one does not exist.
pub fn require(db: &Db<'_>, selection: &Selection) -> Result<Project> {
    resolve(db, selection)?.ok_or_else(|| {
        Error::new(Code::NoProject, "No project is selected; select a project with `mcpkg project select NAME`")
            .hint("`mcpkg project create NAME` creates a project; the first project is selected automatically")
    })
}

/// Returns why `selection` selects its project. Call this only if it selects one.
pub fn reason(db: &Db<'_>, selection: &Selection) -> Result<Reason> {
    if selection.named.is_some() {
        return Ok(Reason::Named(selection.named_by));
    }
    Ok(bound(db, &selection.directory)?.map_or(Reason::Selected, Reason::Bound))
}

/// Returns the bound folder that applies to `directory`: the folder itself, or the nearest one above it.
fn bound(db: &Db<'_>, directory: &str) -> Result<Option<String>> {
    let sql = sql!(
        "SELECT path FROM directory
          WHERE path <= ?1 AND (path = ?1 OR substr(?1, 1, length(path) + 1) = path || '/')
          ORDER BY path DESC LIMIT 1"
    );
    db.one(sql, params![directory], |row| row.get(0))
}

/// Adds a project. The first project is selected automatically. Returns the project, and whether it was selected.
pub fn insert(db: &Db<'_>, uuid: Uuid, name: &str, now: Millis) -> Result<(Project, bool)> {
    let sql = sql!("INSERT INTO project (uuid, name, created_at) VALUES (?1, ?2, ?3) RETURNING id");
    let id = db.insert(sql, params![uuid, name, now]).map_err(|error| name_taken(error, name))?;
    let sql = sql!(
        "INSERT INTO selection (one, project_id)
         SELECT 1, CAST(?1 AS BIGINT) WHERE NOT EXISTS (SELECT 1 FROM project WHERE id <> ?1)
         ON CONFLICT (one) DO NOTHING"
    );
    let first = db.run(sql, params![id])?;
    Ok((Project { id, uuid, name: name.to_owned(), created_at: now }, first == 1))
}

pub fn get(db: &Db<'_>, name: &str) -> Result<Project> {
    let sql = sql!("SELECT ", project_columns!(), " FROM project WHERE name = ?1");
    match db.one(sql, params![name], from_row)? {
        Some(project) => Ok(project),
        None => Err(missing(db, name)?),
    }
}

/// Returns the project with this id, if it exists.
pub fn by_uuid(db: &Db<'_>, uuid: Uuid) -> Result<Option<Project>> {
    db.one(sql!("SELECT ", project_columns!(), " FROM project WHERE uuid = ?1"), params![uuid], from_row)
}

/// A project, and how much it contains.
#[derive(Clone, Debug)]
pub struct Summary {
    pub project: Project,
    pub prompts: i64,
    pub resources: i64,
    pub selected: bool,
}

/// The SELECT without its conditions; [`summary_from_row`] reads its rows.
macro_rules! summary {
    () => {
        concat!(
            "SELECT ",
            project_columns!(),
            ", (SELECT count(*) FROM prompt WHERE project_id = project.id),
               (SELECT count(*) FROM resource WHERE project_id = project.id),
               EXISTS (SELECT 1 FROM selection WHERE project_id = project.id)
             FROM project"
        )
    };
}

/// Returns a page of projects, ordered by name.
pub fn list(db: &Db<'_>, page: &Page) -> Result<Slice<Summary>> {
    let sql = sql!(summary!(), " WHERE name > ?1 ORDER BY name LIMIT ?2");
    Ok(page.slice(db.all(sql, params![page.after, page.fetch()], summary_from_row)?))
}

pub fn summary(db: &Db<'_>, project: Project) -> Result<Summary> {
    db.single(sql!(summary!(), " WHERE id = ?1"), params![project.id], summary_from_row)
}

fn summary_from_row(row: &Row<'_>) -> Result<Summary> {
    Ok(Summary { project: from_row(row)?, prompts: row.get(4)?, resources: row.get(5)?, selected: row.get(6)? })
}

/// Renames a project. Its contents and bindings stay, and it stays selected.
pub fn rename(db: &Db<'_>, name: &str, to: &str) -> Result<Project> {
    let mut project = get(db, name)?;
    let sql = sql!("UPDATE project SET name = ?2 WHERE id = ?1");
    if db.run(sql, params![project.id, to]).map_err(|error| name_taken(error, to))? == 0 {
        return Err(missing(db, name)?);
    }
    to.clone_into(&mut project.name);
    Ok(project)
}

/// Deletes a project with everything that belongs to it, and all content that nothing else uses. Events, deploy
/// locations, access keys and access rules stay.
pub fn delete(db: &Db<'_>, name: &str) -> Result<Project> {
    db.allow_long();
    let project = get(db, name)?;
    search::unindex_project(db, project.id)?;
    if db.run(sql!("DELETE FROM project WHERE id = ?1"), params![project.id])? == 0 {
        return Err(missing(db, name)?);
    }
    lists::forget(db, &project)?;
    ignored::forget(db, &project)?;
    targets::forget(db, targets::Of::Project(project.uuid))?;
    installs::remove_all(db, &Scope::Project(project.uuid))?;
    blobs::sweep(db)?;
    Ok(project)
}

/// Returns the project with this row id, if it exists.
pub fn by_key(db: &Db<'_>, id: i64) -> Result<Option<Project>> {
    db.one(sql!("SELECT ", project_columns!(), " FROM project WHERE id = ?1"), params![id], from_row)
}

/// Returns the selected project, regardless of folders.
pub fn selected(db: &Db<'_>) -> Result<Option<Project>> {
    let sql = sql!("SELECT ", project_columns!(), " FROM project WHERE id = (SELECT project_id FROM selection)");
    db.one(sql, params![], from_row)
}

/// Returns the project that this folder itself is bound to.
pub fn bound_to(db: &Db<'_>, directory: &str) -> Result<Option<Project>> {
    let sql = sql!(
        "SELECT ",
        project_columns!(),
        " FROM project WHERE id = (SELECT project_id FROM directory WHERE path = ?1)"
    );
    db.one(sql, params![directory], from_row)
}

/// Encodes a selection or a binding for the changes of an event: the project's id, or an empty text.
fn state(project: Option<&Project>) -> String {
    project.map(|project| project.uuid.to_string()).unwrap_or_default()
}

/// Deselects the selected project.
pub fn deselect(db: &Db<'_>) -> Result<()> {
    db.note("selection", "", state(selected(db)?.as_ref()), "");
    db.run(sql!("DELETE FROM selection"), params![]).map(drop)
}

pub fn select(db: &Db<'_>, name: &str) -> Result<Project> {
    let project = get(db, name)?;
    db.note("selection", "", state(selected(db)?.as_ref()), project.uuid);
    db.run(
        sql!(
            "INSERT INTO selection (one, project_id) VALUES (1, ?1)
             ON CONFLICT (one) DO UPDATE SET project_id = excluded.project_id"
        ),
        params![project.id],
    )?;
    Ok(project)
}

/// Binds a folder, and all folders below it, to a project.
pub fn bind(db: &Db<'_>, name: &str, directory: &str) -> Result<Project> {
    let project = get(db, name)?;
    db.note("binding", directory, state(bound_to(db, directory)?.as_ref()), project.uuid);
    db.run(
        sql!(
            "INSERT INTO directory (path, project_id) VALUES (?1, ?2)
             ON CONFLICT (path) DO UPDATE SET project_id = excluded.project_id"
        ),
        params![directory, project.id],
    )?;
    Ok(project)
}

/// Removes the binding of a folder, but not the bindings of folders above or below it. Returns the project of the
/// removed binding.
///
/// # Errors
/// `E_NOT_FOUND` if the folder itself is not bound.
pub fn unbind(db: &Db<'_>, directory: &str) -> Result<Project> {
    let Some(project) = bound_to(db, directory)? else {
        let error = Error::new(Code::NotFound, format!("The folder {directory} is not bound to a project"))
            .with_details(serde_json::json!({ "directory": directory }));
        return Err(match bound(db, directory)? {
            Some(above) => error.hint(format!("`mcpkg project unbind {above}` unbinds the bound parent folder")),
            None => error.hint("`mcpkg project show NAME` lists the folders bound to a project"),
        });
    };
    db.run(sql!("DELETE FROM directory WHERE path = ?1"), params![directory])?;
    Ok(project)
}

/// Returns the folders that are bound to a project, ordered by path.
pub fn bindings(db: &Db<'_>, project: i64) -> Result<Vec<String>> {
    let sql = sql!("SELECT path FROM directory WHERE project_id = ?1 ORDER BY path");
    db.all(sql, params![project], |row| row.get(0))
}

/// Whether there is any project.
pub fn is_any(db: &Db<'_>) -> Result<bool> {
    db.single(sql!("SELECT EXISTS (SELECT 1 FROM project)"), params![], |row| row.get(0))
}

fn name_taken(error: Error, name: &str) -> Error {
    if !NAME.is_violated_by(&error) {
        return error;
    }
    Error::new(Code::AlreadyExists, format!("Project '{name}' already exists"))
        .with_details(serde_json::json!({ "name": name }))
}

fn missing(db: &Db<'_>, name: &str) -> Result<Error> {
    let sql = sql!("SELECT name FROM project ORDER BY name LIMIT 1000");
    let names: Vec<String> = db.all(sql, params![], |row| row.get(0))?;
    let error = Error::new(Code::NotFound, format!("Project '{name}' does not exist"))
        .with_details(serde_json::json!({ "name": name }));
    Ok(error.suggest(name, names.iter().map(String::as_str), "`mcpkg project list` shows the existing projects"))
}
