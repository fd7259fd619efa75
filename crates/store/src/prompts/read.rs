//! Reads prompts by name and in pages.

use uuid::Uuid;

use super::prompt::{Attributes, Prompt};
use super::row::{from_row, placeholder, prompt_columns, prompt_listed, prompt_summed};
use crate::blobs::{Blob, blob_columns};
use crate::engine::{Row, params, sql};
use crate::page::{Page, Slice};
use crate::projects::{Project, Selection};
use crate::revisions::Kind;
use crate::{Db, items};
use mcpkg_base::error::Result;

/// Returns a page of a project's prompts, ordered by name.
///
/// # Errors
/// `E_DAMAGED` with the name of the first damaged prompt.
pub fn list(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Prompt>> {
    slice(db, project, page, from_row)
}

/// Returns a page of a project's prompts for display, ordered by name. A damaged prompt has a description that says so.
pub fn overview(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Prompt>> {
    slice(db, project, page, |row| from_row(row).or_else(|error| placeholder(row, error)))
}

fn slice(
    db: &Db<'_>,
    project: i64,
    page: &Page,
    from_row: impl FnMut(&Row<'_>) -> Result<Prompt>,
) -> Result<Slice<Prompt>> {
    let sql = sql!(prompt_columns!(), " WHERE p.project_id = ?1 AND p.name > ?2 ORDER BY p.name LIMIT ?3");
    Ok(page.slice(db.all(sql, params![project, page.after, page.fetch()], from_row)?))
}

pub fn get(db: &Db<'_>, project: &Project, name: &str) -> Result<Prompt> {
    find(db, project.id, name)?.ok_or_else(|| Kind::Prompt.missing(db, project, name))
}

/// Returns the prompt `name` of a project, if there is one.
pub fn find(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Prompt>> {
    let sql = sql!(prompt_columns!(), " WHERE p.project_id = ?1 AND p.name = ?2");
    db.one(sql, params![project, name], |row| {
        let prompt = from_row(row)?;
        // A damaged index may lead to another row.
        let is_asked_for = prompt.name == name && row.get::<i64>(0)? == project;
        if is_asked_for { Ok(prompt) } else { Err(Kind::Prompt.damaged(name)) }
    })
}

/// Returns the prompt with the id `uuid` of a project, if there is one.
pub fn by_uuid(db: &Db<'_>, project: i64, uuid: Uuid) -> Result<Option<Prompt>> {
    let sql = sql!(prompt_columns!(), " WHERE p.uuid = ?2 AND p.project_id = ?1");
    match db.one(sql, params![project, uuid], from_row)? {
        Some(found) if found.uuid != uuid => Err(Kind::Prompt.damaged(&found.name)),
        found => Ok(found),
    }
}

/// Returns at most `limit` names in the selected project that begin with `prefix`.
pub fn names(db: &Db<'_>, selection: &Selection, prefix: &str, limit: usize) -> Result<Vec<String>> {
    items::names(db, selection, Kind::Prompt, prefix, limit)
}

/// Passes the Jinja templates of all projects to `each`: the names of the project and the prompt, the arguments as
/// stored, and the content.
///
/// # Errors
/// Errors of `each`.
pub fn each_template(
    db: &Db<'_>,
    mut each: impl FnMut(&str, &str, Option<&str>, Blob<'_>) -> Result<()>,
) -> Result<()> {
    let sql = sql!(
        "SELECT project.name, p.name, p.arguments, ",
        blob_columns!(),
        " FROM prompt p JOIN project ON project.id = p.project_id JOIN blob b ON b.id = p.blob_id
          WHERE p.template = 1 AND p.dialect IS NULL ORDER BY 1, 2"
    );
    db.each(sql, params![], |row| each(row.get(0)?, row.get(1)?, row.get(2)?, Blob::from_row(row, 3)?))
}

/// Returns the attributes stored in a revision.
pub fn attributes(json: &str) -> Result<Attributes> {
    items::attributes(json)
}
