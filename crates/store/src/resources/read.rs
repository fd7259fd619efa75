//! Reads resources by name, by URI and in pages.

use uuid::Uuid;

use super::resource::{Attributes, Key, Resource};
use super::row::{from_row, listed_sum, placeholder, resource_columns, resource_listed, resource_summed, row_sum};
use crate::engine::{Row, Value, params, sql};
use crate::page::{Page, Slice};
use crate::projects::{Project, Selection};
use crate::revisions::Kind;
use crate::{Db, items};
use mcpkg_base::error::Result;

/// Returns at most `limit` names in the selected project that begin with `prefix`.
pub fn names(db: &Db<'_>, selection: &Selection, prefix: &str, limit: usize) -> Result<Vec<String>> {
    items::names(db, selection, Kind::Resource, prefix, limit)
}

/// Returns a page of a project's resources, ordered by name.
///
/// # Errors
/// `E_DAMAGED` with the name of the first damaged resource.
pub fn list(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Resource>> {
    slice(db, project, page, from_row)
}

/// Returns a page of a project's resources, ordered by name, to show them. A damaged resource has a description that says so.
pub fn overview(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Resource>> {
    slice(db, project, page, |row| from_row(row).or_else(|error| placeholder(row, error)))
}

fn slice(
    db: &Db<'_>,
    project: i64,
    page: &Page,
    from_row: impl FnMut(&Row<'_>) -> Result<Resource>,
) -> Result<Slice<Resource>> {
    let sql = sql!(resource_columns!(), " WHERE r.project_id = ?1 AND r.name > ?2 ORDER BY r.name LIMIT ?3");
    Ok(page.slice(db.all(sql, params![project, page.after, page.fetch()], from_row)?))
}

pub fn get(db: &Db<'_>, project: &Project, name: &str) -> Result<Resource> {
    find(db, project.id, Key::Name(name))?.ok_or_else(|| Kind::Resource.missing(db, project, name))
}

/// Returns the resource `key` of a project, if there is one.
pub fn find(db: &Db<'_>, project: i64, key: Key<'_>) -> Result<Option<Resource>> {
    let (sql, value) = match key {
        Key::Name(name) => (sql!(resource_columns!(), " WHERE r.project_id = ?1 AND r.name = ?2"), name),
        Key::Uri(uri) => (sql!(resource_columns!(), " WHERE r.project_id = ?1 AND r.uri = ?2"), uri),
    };
    db.one(sql, params![project, value], |row| {
        let resource = from_row(row)?;
        // A damaged index may lead to another row.
        let is_asked_for = row.get::<&str>(key.column())? == value && row.get::<i64>(0)? == project;
        if is_asked_for { Ok(resource) } else { Err(Kind::Resource.damaged(value)) }
    })
}

/// Returns the key and the id of the resource `name` of a project if it has exactly these attributes and content with this
/// SHA-256. Returns `None` if anything differs, or if the resource is damaged or missing. The content is not read: its key is
/// found by its SHA-256, which the resource's checksum covers.
pub fn unchanged(
    db: &Db<'_>,
    project: i64,
    name: &str,
    attributes: &Attributes,
    sha256: &[u8; 32],
) -> Result<Option<(i64, Uuid)>> {
    let sql = sql!(
        "SELECT ",
        resource_listed!(),
        ", r.text, r.executable, r.id, r.uuid, r.revision, r.created_at, r.updated_at, r.row_sum
           FROM resource r
          WHERE r.project_id = ?1 AND r.name = ?2 AND r.blob_id = (SELECT b.id FROM blob b WHERE b.sha256 = ?3)"
    );
    let same = |row: &Row<'_>| {
        let Attributes { uri, description, mime_type, text, executable } = attributes;
        let listed_sum = listed_sum(project, name, attributes);
        let given = params![project, name, uri, description, mime_type, listed_sum, text, executable];
        for (column, value) in given.iter().enumerate() {
            if row.get::<Value<'_>>(column)? != *value {
                return Ok(None);
            }
        }
        let (uuid, times) = (row.get(9)?, (row.get(11)?, row.get(12)?));
        let row_sum = row_sum(listed_sum, uuid, attributes, sha256, row.get(10)?, times);
        Ok((row.get::<i64>(13)? == row_sum).then_some((row.get(8)?, uuid)))
    };
    Ok(db.one(sql, params![project, name, *sha256], same)?.flatten())
}

/// Returns a project's resources whose URI begins with `prefix`, ordered by URI.
pub fn below(db: &Db<'_>, project: i64, prefix: &str) -> Result<Vec<Resource>> {
    let sql = sql!(resource_columns!(), " WHERE r.project_id = ?1 AND r.uri >= ?2 AND r.uri < ?3 ORDER BY r.uri");
    // U+10FFFF is the greatest character, and no URI contains it.
    db.all(sql, params![project, prefix, format!("{prefix}\u{10ffff}")], from_row)
}

/// Returns the resource with the id `uuid` of a project, if there is one.
pub fn by_uuid(db: &Db<'_>, project: i64, uuid: Uuid) -> Result<Option<Resource>> {
    let sql = sql!(resource_columns!(), " WHERE r.uuid = ?2 AND r.project_id = ?1");
    match db.one(sql, params![project, uuid], from_row)? {
        Some(found) if found.uuid != uuid => Err(Kind::Resource.damaged(&found.name)),
        found => Ok(found),
    }
}

/// Returns the attributes stored in a revision.
pub fn attributes(json: &str) -> Result<Attributes> {
    items::attributes(json)
}
