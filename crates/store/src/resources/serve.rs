//! Serves resources to clients. A resource, or a page of the list, takes one statement, and its fields are borrowed
//! from rows.

use super::resource::Key;
use super::row::{REST, check, resource_listed, resource_summed};
use crate::Db;
use crate::blobs::{self, Blob, blob_columns};
use crate::engine::{Value, params, sql};
use crate::names::legible;
use crate::page::Page;
use crate::projects::{Selection, resolved};
use crate::revisions::Kind;
use crate::sums::{Checksums, DAMAGED};
use mcpkg_base::error::Result;

/// The part of a row that resources/list needs, borrowed. Texts are bytes. They are valid UTF-8, because they were
/// written as UTF-8 and the checksum matches. A damaged row has only its name and URI, as far as they are legible, and
/// a description that reports the damage.
#[derive(Debug)]
pub struct Line<'r> {
    pub project: i64,
    pub name: &'r [u8],
    pub uri: &'r [u8],
    pub description: Option<&'r [u8]>,
    pub mime_type: Option<&'r [u8]>,
}

/// The columns that resources/read needs, borrowed from a row.
#[derive(Debug)]
pub struct Body<'r> {
    pub name: &'r str,
    pub uri: &'r str,
    pub mime_type: Option<&'r str>,
    pub text: bool,
    pub content: Blob<'r>,
}

/// Passes a page of the selected project's resources to `each`, ordered by name, with one statement. Returns whether
/// more resources follow after the page.
pub fn each(
    db: &Db<'_>,
    selection: &Selection,
    page: &Page,
    mut each: impl FnMut(&Line<'_>) -> Result<()>,
) -> Result<bool> {
    let sql = sql!(
        "SELECT r.name, r.uri, r.description, r.mime_type, r.listed_sum, (SELECT ",
        resolved!(),
        ") FROM resource r WHERE r.project_id = (SELECT ",
        resolved!(),
        ") AND r.name > ?3 ORDER BY r.name LIMIT ?4"
    );
    let (mut seen, mut of_project) = (0, None);
    db.each(sql, params![selection.named, selection.directory, page.after, page.fetch()], |row| {
        seen += 1;
        if seen > page.limit {
            return Ok(());
        }
        // Include the requested project in the checksum, because a damaged index may lead to a row of another
        // project.
        let (project, sums) = Checksums::of_project(&mut of_project, row, 5)?;
        // Read each column only once: getting one from SQLite costs as much as writing it as JSON.
        let listed @ [name, uri, description, mime_type]: [Value<'_>; 4] =
            [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
        let is_intact = row.get::<Value<'_>>(4)? == Value::Integer(sums.next(&listed));
        if !is_intact {
            let (name, uri) = (legible(row, 0), legible(row, 1));
            let (name, uri, description) = (name.as_bytes(), uri.as_bytes(), Some(DAMAGED.as_bytes()));
            return each(&Line { project, name, uri, description, mime_type: None });
        }
        each(&Line {
            project,
            name: name.text(0)?.unwrap_or_default(),
            uri: uri.text(1)?.unwrap_or_default(),
            description: description.text(2)?,
            mime_type: mime_type.text(3)?,
        })
    })?;
    Ok(seen > page.limit)
}

/// Passes the resource `key` of the selected project to `f`; `None` if there is none.
pub fn with<T>(
    db: &Db<'_>,
    selection: &Selection,
    key: Key<'_>,
    f: impl FnOnce(&Body<'_>) -> Result<T>,
) -> Result<Option<T>> {
    macro_rules! body {
        () => {
            concat!(
                "SELECT ",
                resource_summed!(),
                ", ",
                blob_columns!(),
                // Join the project, so that it is resolved only once.
                ", resolved.id FROM (SELECT ",
                resolved!(),
                " AS id) AS resolved JOIN resource r ON r.project_id = resolved.id JOIN blob b ON b.id = r.blob_id"
            )
        };
    }
    let (sql, value) = match key {
        Key::Name(name) => (sql!(body!(), " AND r.name = ?3"), name),
        Key::Uri(uri) => (sql!(body!(), " AND r.uri = ?3"), uri),
    };
    db.one(sql, params![selection.named, selection.directory, value], |row| {
        check(row)?;
        let is_asked_for =
            row.get::<Value<'_>>(0)? == row.get(REST + blobs::COLUMNS)? && row.get::<&str>(key.column())? == value;
        if !is_asked_for {
            return Err(Kind::Resource.damaged(value));
        }
        f(&Body {
            name: row.get(1)?,
            uri: row.get(2)?,
            mime_type: row.get(4)?,
            text: row.get(7)?,
            content: Blob::from_row(row, REST)?,
        })
    })
}
