//! Changes resources. Each change adds a revision.

use super::read::get;
use super::resource::{Attributes, Resource};
use super::row::{self, from_row, placeholder, resource_columns, resource_listed, resource_summed};
use crate::blobs::NewContent;
use crate::blobs::{self, Verify};
use crate::engine::{Unique, params, sql};
use crate::items::{self, Ids};
use crate::lists::{self, Difference};
use crate::projects::Project;
use crate::revisions::{self, Author, Change, Kind, Revision};
use crate::{Db, search};
use mcpkg_base::error::{Code, Error, Result};

const NAME: Unique = Unique::new("resource", &["project_id", "name"]);
const URI: Unique = Unique::new("resource", &["project_id", "uri"]);

/// Adds a resource. If a deleted resource had the same name, the new one keeps its id and continues its history.
///
/// # Errors
/// `E_ALREADY_EXISTS` if the name or the URI is taken.
pub fn insert(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    ids: impl Into<Ids>,
    name: &str,
    attributes: Attributes,
    content: &NewContent,
) -> Result<Resource> {
    let Ids { uuid, indexed } = ids.into();
    let blob = blobs::put_source(db, content)?;
    let resource = items::new(db, author, project, uuid, name, attributes, (blob, content.size(), content.sha256()))?;
    write(db, author, project, resource, Change { action: "create", restored: None }, indexed)
}

/// Writes a changed resource, with its new content if there is one, and adds a revision. An unchanged resource gets no new
/// revision.
///
/// # Errors
/// `E_ALREADY_EXISTS` if a new name or URI is taken.
pub fn update(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut resource: Resource,
    action: &str,
    content: Option<&NewContent>,
) -> Result<Resource> {
    if let Some(content) = content {
        resource.blob = blobs::put_source(db, content)?;
        resource.sha256 = content.sha256();
        resource.size = i64::try_from(content.size()).unwrap_or(i64::MAX);
    }
    write(db, author, project, resource, Change { action, restored: None }, None)
}

/// Deletes a resource. Its revisions stay, and a new last revision records the deletion.
pub fn delete(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str) -> Result<Resource> {
    items::delete(db, author, project, get(db, project, name)?)
}

/// Restores the state of `revision`. An existing resource keeps its name; a deleted one gets `name`.
///
/// # Errors
/// `E_ALREADY_EXISTS` if another resource has taken the name or the URI since that revision.
pub fn restore(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    name: &str,
    revision: &Revision,
) -> Result<Resource> {
    // Restoring a revision also repairs a damaged row.
    let live = db.one(sql!(resource_columns!(), " WHERE r.uuid = ?1"), params![revision.item], |row| {
        from_row(row).or_else(|error| Ok(Resource { name: name.to_owned(), ..placeholder(row, error)? }))
    })?;
    // Damaged content must not be restored as if it were intact.
    blobs::stream_by_id(db, revision.blob, Verify::Sha256, |_| Ok(()))?;
    let resource = items::restored(db, author, name, revision, live)?;
    let change = Change { action: "restore", restored: Some(revision.number) };
    write(db, author, project, resource, change, None)
}

/// Inserts the resource if `resource.id` is 0, or else updates its row if anything differs. Adds the next revision,
/// indexes the words of a text, and notes whether the project's list has changed. `resource.revision` is the previous
/// number. If `indexed` is `Some(id)`, a new resource gets this id, under which its words are already indexed.
fn write(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut resource: Resource,
    change: Change<'_>,
    indexed: Option<i64>,
) -> Result<Resource> {
    let Attributes { uri, description, mime_type, text, executable } = &resource.attributes;
    let difference = if resource.id == 0 { Difference::Listed } else { difference(db, &resource)? };
    if difference == Difference::None {
        return Ok(resource);
    }
    resource.revision = revisions::next(resource.revision)?;
    resource.updated_at = author.now;
    let taken = |error: Error| {
        if URI.is_violated_by(&error) {
            Error::new(
                Code::AlreadyExists,
                format!("Resource with URI '{uri}' already exists in project '{}'", project.name),
            )
            .with_details(serde_json::json!({ "uri": uri }))
        } else if NAME.is_violated_by(&error) {
            Kind::Resource.name_taken(project, &resource.name)
        } else {
            error
        }
    };
    let (listed_sum, row_sum) = row::sums(project.id, &resource);
    let columns = params![
        resource.uuid,
        project.id,
        resource.name,
        uri,
        description,
        mime_type,
        text,
        executable,
        resource.blob,
        resource.revision,
        resource.created_at,
        resource.updated_at,
        listed_sum,
        row_sum
    ];
    let id = if resource.id == 0 {
        macro_rules! columns {
            () => {
                "uuid, project_id, name, uri, description, mime_type, text, executable, blob_id, revision, created_at, updated_at,
                 listed_sum, row_sum"
            };
        }
        macro_rules! values {
            () => {
                "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14"
            };
        }
        let inserted = match indexed {
            None => db
                .insert(sql!("INSERT INTO resource (", columns!(), ") VALUES (", values!(), ") RETURNING id"), columns),
            // Do not use RETURNING: SQLite would store the returned values in a temporary table, which costs as much as updating
            // two of the indexes.
            Some(id) => db
                .run(
                    sql!("INSERT INTO resource (", columns!(), ", id) VALUES (", values!(), ", ?15)"),
                    &[&columns[..], params![id]].concat(),
                )
                .map(|_| id),
        };
        inserted.map_err(taken)?
    } else {
        let sql = sql!(
            "UPDATE resource SET project_id = ?2, name = ?3, uri = ?4, description = ?5, mime_type = ?6, text = ?7,
                                 executable = ?8, blob_id = ?9, revision = ?10, created_at = ?11, updated_at = ?12,
                                 listed_sum = ?13, row_sum = ?14
              WHERE uuid = ?1"
        );
        if db.run(sql, columns).map_err(taken)? == 0 {
            return Err(Kind::Resource.missing(db, project, &resource.name));
        }
        resource.id
    };
    resource.id = id;
    if difference == Difference::Listed {
        lists::changed(db, project, Kind::Resource)?;
    }
    items::keep_revision(db, author, project, &resource, change)?;
    if indexed.is_some() {
        return Ok(resource);
    }
    if resource.attributes.text {
        let description = resource.attributes.description.as_deref();
        let body = blobs::beginning(db, resource.blob, search::INDEXED as i64)?;
        let body = String::from_utf8_lossy(&body);
        search::index(db, Kind::Resource, resource.id, project.id, &resource.name, description, &body)?;
    } else {
        search::unindex(db, Kind::Resource, resource.id)?;
    }
    Ok(resource)
}

/// Returns how a resource differs from its row.
fn difference(db: &Db<'_>, resource: &Resource) -> Result<Difference> {
    let Attributes { uri, description, mime_type, text, executable } = &resource.attributes;
    let sql = sql!(
        "SELECT name = ?2 AND uri = ?3 AND description IS NOT DISTINCT FROM ?4 AND mime_type IS NOT DISTINCT FROM ?5,
                text = ?6 AND executable = ?7 AND blob_id = ?8 AND created_at = ?9 AND updated_at = ?10
           FROM resource WHERE id = ?1"
    );
    // Compare the times too: a damaged row is read with the times 0, so it always differs and a restore rewrites it.
    let item = params![
        resource.id,
        resource.name,
        uri,
        description,
        mime_type,
        text,
        executable,
        resource.blob,
        resource.created_at,
        resource.updated_at
    ];
    db.single(sql, item, |row| Ok(Difference::of(row.get(0)?, row.get(1)?)))
}
