//! A project's own templates for workflows.

use crate::engine::{Row, params, sql};
use crate::projects::{Selection, resolved};
use crate::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub name: String,
    /// The title that the template's text contains.
    pub title: Option<String>,
    /// The description that the template's text contains.
    pub description: Option<String>,
    pub blob: i64,
    pub set_at: Millis,
}

/// A template to store.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    pub name: &'a str,
    /// The title that the template's text contains.
    pub title: Option<&'a str>,
    /// The description that the template's text contains.
    pub description: Option<&'a str>,
    pub text: &'a str,
    pub now: Millis,
}

macro_rules! templates {
    () => {
        concat!(
            "SELECT name, title, description, blob_id, set_at FROM workflow_template WHERE project_id = ",
            resolved!()
        )
    };
}

/// Returns the templates of the selected project, ordered by name; empty without a project.
pub fn list(db: &Db<'_>, selection: &Selection) -> Result<Vec<Template>> {
    db.all(sql!(templates!(), " ORDER BY name"), params![selection.named, selection.directory], from_row)
}

/// Returns the template with this name in the selected project, if there is one.
pub fn find(db: &Db<'_>, selection: &Selection, name: &str) -> Result<Option<Template>> {
    db.one(sql!(templates!(), " AND name = ?3"), params![selection.named, selection.directory, name], from_row)
}

/// Stores a template. Does not write it again if the stored one has the same text.
pub fn set(db: &Db<'_>, project: i64, new: New<'_>) -> Result<()> {
    let blob = blobs::put(db, new.text.as_bytes())?;
    let sql = sql!(
        "INSERT INTO workflow_template (project_id, name, title, description, blob_id, set_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (project_id, name) DO UPDATE SET title = excluded.title, description = excluded.description,
                                                      blob_id = excluded.blob_id, set_at = excluded.set_at
          WHERE workflow_template.blob_id <> excluded.blob_id"
    );
    db.run(sql, params![project, new.name, new.title, new.description, blob, new.now]).map(drop)
}

/// Removes a template. Returns whether it existed.
pub fn remove(db: &Db<'_>, project: i64, name: &str) -> Result<bool> {
    let sql = sql!("DELETE FROM workflow_template WHERE project_id = ?1 AND name = ?2");
    Ok(db.run(sql, params![project, name])? == 1)
}

fn from_row(row: &Row<'_>) -> Result<Template> {
    Ok(Template {
        name: row.get(0)?,
        title: row.get(1)?,
        description: row.get(2)?,
        blob: row.get(3)?,
        set_at: row.get(4)?,
    })
}
