//! Resources.

use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::blobs::{self, Blob, Verify};
use super::lists::{self, Difference};
use super::page::{Page, Slice};
use super::projects::{self, Project, Selection, resolved};
use super::revisions::{self, Author, Change, Kind, NewRevision, Revision};
use super::source::Source;
use super::sums::{self, DAMAGED};
use super::{Db, search, sqlite};
use crate::clock::Millis;
use crate::error::{Code, Error, Result};

mod row;

pub(super) use row::{QUERY, from_row};
use row::{REST, check, columns, placeholder, summed};

/// All of a resource that a user sets, but its name and content; what a revision keeps beside these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// Unique in its project.
    pub uri: String,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The MIME type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Whether the content is served as text; else as a base64 blob.
    pub text: bool,
    /// Whether the file it came from could be executed.
    #[serde(default)]
    pub executable: bool,
}

/// A resource's row.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The key inside the database.
    pub id: i64,
    /// The id that users see.
    pub uuid: Uuid,
    /// Unique in its project.
    pub name: String,
    /// What else a user set.
    pub attributes: Attributes,
    /// The key of its content.
    pub blob: i64,
    /// Bytes of its content.
    pub size: i64,
    /// How often it was written.
    pub revision: i64,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last written.
    pub updated_at: Millis,
}

/// What resources/list needs of a row, borrowed. Of a damaged row only name and URI, as far as they can be read, and a
/// description that says so.
#[derive(Debug)]
pub struct Line<'r> {
    /// The project's key.
    pub project: i64,
    /// The name.
    pub name: &'r str,
    /// The URI.
    pub uri: &'r str,
    /// The description.
    pub description: Option<&'r str>,
    /// The MIME type.
    pub mime_type: Option<&'r str>,
}

/// What resources/read needs of a row, borrowed.
#[derive(Debug)]
pub struct Body<'r> {
    /// The name.
    pub name: &'r str,
    /// The URI.
    pub uri: &'r str,
    /// The MIME type.
    pub mime_type: Option<&'r str>,
    /// Whether the content is text.
    pub text: bool,
    /// The content.
    pub content: Blob<'r>,
}

/// Hands `each` the resources of the project that applies, by name, and returns whether more follow the page. Takes two
/// statements, which have to see one moment.
///
/// # Errors
/// What `each` returns, or how the disk failed.
pub fn each(
    db: &Db<'_>,
    selection: &Selection,
    page: &Page,
    mut each: impl FnMut(&Line<'_>) -> Result<()>,
) -> Result<bool> {
    let Some(project) = projects::resolved_id(db, selection)? else { return Ok(false) };
    let mut statement = db.connection.prepare_cached(
        "SELECT r.name, r.uri, r.description, r.mime_type, r.listed_sum
           FROM resource r WHERE r.project_id = ?1 AND r.name > ?2 ORDER BY r.name LIMIT ?3",
    )?;
    let mut rows = statement.query(params![project, page.after, page.fetch()])?;
    let (mut seen, mut bytes) = (0, Vec::new());
    while let Some(row) = rows.next()? {
        if seen == page.limit {
            return Ok(true);
        }
        seen += 1;
        // Asking SQLite for a column costs as much as writing it as JSON, so that each is asked for once.
        let listed @ [name, uri, description, mime_type] =
            [row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?, row.get_ref(3)?];
        // With the project that was asked for: the index may lead to a row of another one.
        let values = std::iter::once(ValueRef::Integer(project)).chain(listed);
        if row.get_ref(4)? != ValueRef::Integer(sums::checksum_in(&mut bytes, values)) {
            let (name, uri) = (sums::legible(row, 0), sums::legible(row, 1));
            each(&Line { project, name: &name, uri: &uri, description: Some(DAMAGED), mime_type: None })?;
            continue;
        }
        each(&Line {
            project,
            name: name.as_str().map_err(rusqlite::Error::from)?,
            uri: uri.as_str().map_err(rusqlite::Error::from)?,
            description: description.as_str_or_null().map_err(rusqlite::Error::from)?,
            mime_type: mime_type.as_str_or_null().map_err(rusqlite::Error::from)?,
        })?;
    }
    Ok(false)
}

/// By which of its two unique columns a resource is meant.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    /// Its name.
    Name(&'a str),
    /// Its URI.
    Uri(&'a str),
}

impl Key<'_> {
    /// Where it stands in the rows of [`columns`].
    fn column(self) -> usize {
        match self {
            Key::Name(_) => 1,
            Key::Uri(_) => 2,
        }
    }
}

/// Hands `f` the resource `key` of the project that applies; `None` where there is none.
///
/// # Errors
/// What `f` returns, or how the disk failed.
pub fn with<T>(
    db: &Db<'_>,
    selection: &Selection,
    key: Key<'_>,
    f: impl FnOnce(&Body<'_>) -> Result<T>,
) -> Result<Option<T>> {
    macro_rules! by {
        ($column:literal) => {
            concat!(
                "SELECT ",
                summed!(),
                ", ",
                blobs::columns!(),
                // Joined so that the project is resolved once.
                ", resolved.id FROM (SELECT ",
                resolved!(),
                " AS id) AS resolved CROSS JOIN resource r ON r.project_id = resolved.id AND r.",
                $column,
                " = ?3 JOIN blob b ON b.id = r.blob_id"
            )
        };
    }
    let (sql, value) = match key {
        Key::Name(name) => (by!("name"), name),
        Key::Uri(uri) => (by!("uri"), uri),
    };
    let mut statement = db.connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![selection.named, selection.directory, value])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    check(row)?;
    if row.get_ref(0)? != row.get_ref(REST + blobs::COLUMNS)? || row.get_ref(key.column())?.as_str() != Ok(value) {
        return Err(Kind::Resource.damaged(value));
    }
    let body = Body {
        name: row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?,
        uri: row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?,
        mime_type: row.get_ref(4)?.as_str_or_null().map_err(rusqlite::Error::from)?,
        text: row.get(7)?,
        content: Blob::from_row(row, REST)?,
    };
    f(&body).map(Some)
}

/// Returns the names in a project that begin with `prefix`, at most `limit`.
///
/// # Errors
/// How the disk failed.
pub fn names(db: &Db<'_>, selection: &Selection, prefix: &str, limit: usize) -> Result<Vec<String>> {
    let mut statement = db.connection.prepare_cached(concat!(
        "SELECT name FROM resource WHERE project_id = ",
        resolved!(),
        " AND substr(name, 1, length(?3)) = ?3 AND name >= ?3 ORDER BY name LIMIT ?4"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![selection.named, selection.directory, prefix, limit], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns a page of a project's resources by name.
///
/// # Errors
/// `E_DAMAGED` that names the first one that is damaged, and how the disk failed.
pub fn list(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Resource>> {
    slice(db, project, page, from_row)
}

/// Returns a page of a project's resources by name, to be shown: a damaged one has a description that says so.
///
/// # Errors
/// How the disk failed.
pub fn overview(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Resource>> {
    slice(db, project, page, |row| from_row(row).or_else(|error| placeholder(row, error)))
}

fn slice(
    db: &Db<'_>,
    project: i64,
    page: &Page,
    from_row: impl FnMut(&Row<'_>) -> Result<Resource>,
) -> Result<Slice<Resource>> {
    let sql = concat!(columns!(), " WHERE r.project_id = ?1 AND r.name > ?2 ORDER BY r.name LIMIT ?3");
    Ok(page.slice(db.all(sql, params![project, page.after, page.fetch()], from_row)?))
}

/// Returns the resource `name` of a project.
///
/// # Errors
/// `E_NOT_FOUND`.
pub fn get(db: &Db<'_>, project: &Project, name: &str) -> Result<Resource> {
    find(db, project.id, Key::Name(name))?.ok_or_else(|| Kind::Resource.missing(db, project, name))
}

/// Returns the resource `key` of a project, if there is one.
///
/// # Errors
/// How the disk failed.
pub fn find(db: &Db<'_>, project: i64, key: Key<'_>) -> Result<Option<Resource>> {
    let (sql, value) = match key {
        Key::Name(name) => (concat!(columns!(), " WHERE r.project_id = ?1 AND r.name = ?2"), name),
        Key::Uri(uri) => (concat!(columns!(), " WHERE r.project_id = ?1 AND r.uri = ?2"), uri),
    };
    db.one(sql, params![project, value], |row| {
        let resource = from_row(row)?;
        // The index may lead to another row.
        let is_asked_for = row.get_ref(key.column())?.as_str() == Ok(value) && row.get::<_, i64>(0)? == project;
        if is_asked_for { Ok(resource) } else { Err(Kind::Resource.damaged(value)) }
    })
}

/// Returns a project's resources whose URI begins with `prefix`, by URI.
///
/// # Errors
/// How the disk failed.
pub fn below(db: &Db<'_>, project: i64, prefix: &str) -> Result<Vec<Resource>> {
    let below = " WHERE r.project_id = ?1 AND r.uri >= ?2 AND r.uri < ?2 || char(0x10ffff) ORDER BY r.uri";
    db.all(&[columns!(), below].concat(), params![project, prefix], from_row)
}

/// Returns the resource with the id `uuid` of a project, if there is one.
///
/// # Errors
/// How the disk failed.
pub fn by_uuid(db: &Db<'_>, project: i64, uuid: Uuid) -> Result<Option<Resource>> {
    let sql = concat!(columns!(), " WHERE r.uuid = ?2 AND r.project_id = ?1");
    let found = db.one(sql, params![project, uuid.as_bytes()], from_row)?;
    match found {
        Some(found) if found.uuid != uuid => Err(Kind::Resource.damaged(&found.name)),
        found => Ok(found),
    }
}

/// Adds a resource; one made under the name of a deleted one goes on with its id and history.
///
/// # Errors
/// `E_ALREADY_EXISTS` for the name or the URI.
pub fn insert(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    uuid: Uuid,
    name: &str,
    attributes: Attributes,
    content: &Source,
) -> Result<Resource> {
    let (uuid, number) = revisions::deleted(db, project.id, Kind::Resource, name)?.unwrap_or((uuid, 0));
    let resource = Resource {
        id: 0,
        uuid,
        name: name.to_owned(),
        attributes,
        blob: blobs::put_source(db, content)?,
        size: i64::try_from(content.size()).unwrap_or(i64::MAX),
        revision: number,
        created_at: author.now,
        updated_at: author.now,
    };
    write(db, author, project, resource, Change { action: "create", restored: None })
}

/// Writes a resource that was read before and changed since, with its new content if there is one; adds its revision. One
/// that is as it was stays so, without a new revision.
///
/// # Errors
/// `E_ALREADY_EXISTS` where a new name or URI is taken.
pub fn update(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut resource: Resource,
    action: &str,
    content: Option<&Source>,
) -> Result<Resource> {
    if let Some(content) = content {
        resource.blob = blobs::put_source(db, content)?;
        resource.size = i64::try_from(content.size()).unwrap_or(i64::MAX);
    }
    write(db, author, project, resource, Change { action, restored: None })
}

/// Deletes a resource; its revisions stay, and the deletion is one of them.
///
/// # Errors
/// `E_NOT_FOUND`.
pub fn delete(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str) -> Result<Resource> {
    let mut resource = get(db, project, name)?;
    resource.revision = revisions::next(resource.revision)?;
    let sha256 = blobs::sha256(db, resource.blob)?;
    keep_revision(db, author, project, &resource, &sha256, Change { action: "delete", restored: None })?;
    db.connection.prepare_cached("DELETE FROM resource WHERE id = ?1")?.execute([resource.id])?;
    search::unindex(db, Kind::Resource, resource.id)?;
    lists::changed(db, project, Kind::Resource)?;
    Ok(resource)
}

/// Brings back the state of `revision`: a live resource keeps its name, a deleted one gets `name`.
///
/// # Errors
/// `E_ALREADY_EXISTS` where another resource took the name or the URI meanwhile.
pub fn restore(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    name: &str,
    revision: &Revision,
) -> Result<Resource> {
    // A damaged row is made whole by what is brought back.
    let live = db.one(concat!(columns!(), " WHERE r.uuid = ?1"), [revision.item.as_bytes()], |row| {
        from_row(row).or_else(|error| Ok(Resource { name: name.to_owned(), ..placeholder(row, error)? }))
    })?;
    // What is damaged is not brought back as if it were good.
    blobs::stream_by_id(db, revision.blob, Verify::Sha256, |_| Ok(()))?;
    let attributes = attributes(&revision.attributes)?;
    let resource = Resource {
        id: live.as_ref().map_or(0, |live| live.id),
        uuid: revision.item,
        name: live.as_ref().map_or_else(|| name.to_owned(), |live| live.name.clone()),
        attributes,
        blob: revision.blob,
        size: revision.size,
        revision: revisions::newest(db, revision.item)?,
        created_at: live.as_ref().map_or(author.now, |live| live.created_at),
        updated_at: live.as_ref().map_or(author.now, |live| live.updated_at),
    };
    let change = Change { action: "restore", restored: Some(revision.number) };
    write(db, author, project, resource, change)
}

/// Returns the attributes a revision kept.
///
/// # Errors
/// `E_DAMAGED` where they cannot be read.
pub fn attributes(json: &str) -> Result<Attributes> {
    serde_json::from_str(json)
        .map_err(|error| blobs::damaged_value("a resource's attributes are malformed").with_source(error))
}

/// Inserts where `resource.id` is 0, else updates what differs from its row; keeps the next revision, indexes the words of a
/// text, and notes where the project's list shows something else. `resource.revision` is the one before.
fn write(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut resource: Resource,
    change: Change<'_>,
) -> Result<Resource> {
    let Attributes { uri, description, mime_type, text, executable } = &resource.attributes;
    let difference = if resource.id == 0 { Difference::Listed } else { difference(db, &resource)? };
    if difference == Difference::None {
        return Ok(resource);
    }
    resource.revision = revisions::next(resource.revision)?;
    resource.updated_at = author.now;
    let taken = |error: rusqlite::Error| {
        if sqlite::violates(&error, "resource.uri") {
            Error::new(
                Code::AlreadyExists,
                format!("Resource with URI '{uri}' already exists in project '{}'", project.name),
            )
            .with_details(serde_json::json!({ "uri": uri }))
        } else if sqlite::violates(&error, "resource.name") {
            Kind::Resource.taken(project, &resource.name)
        } else {
            error.into()
        }
    };
    let sha256 = blobs::sha256(db, resource.blob)?;
    let (listed_sum, row_sum) = row::sums(project.id, &resource, &sha256);
    if resource.id == 0 {
        db.connection
            .prepare_cached(
                "INSERT INTO resource (uuid, project_id, name, uri, description, mime_type, text, executable, blob_id,
                                       revision, created_at, updated_at, listed_sum, row_sum)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?
            .execute(params![
                resource.uuid.as_bytes(),
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
            ])
            .map_err(taken)?;
        resource.id = db.connection.last_insert_rowid();
    } else {
        db.connection
            .prepare_cached(
                "UPDATE resource SET name = ?2, uri = ?3, description = ?4, mime_type = ?5, text = ?6, executable = ?7,
                                     blob_id = ?8, revision = ?9, created_at = ?10, updated_at = ?11, listed_sum = ?12,
                                     row_sum = ?13 WHERE id = ?1",
            )?
            .execute(params![
                resource.id,
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
            ])
            .map_err(taken)?;
    }
    if difference == Difference::Listed {
        lists::changed(db, project, Kind::Resource)?;
    }
    keep_revision(db, author, project, &resource, &sha256, change)?;
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
    let mut statement = db.connection.prepare_cached(
        "SELECT name IS ?2 AND uri IS ?3 AND description IS ?4 AND mime_type IS ?5,
                text IS ?6 AND executable IS ?7 AND blob_id IS ?8 AND created_at = ?9 AND updated_at = ?10
           FROM resource WHERE id = ?1",
    )?;
    // Of a damaged row that is brought back the times are not known, so that it is always written anew.
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
    Ok(statement.query_row(item, |row| Ok(Difference::of(row.get(0)?, row.get(1)?)))?)
}

fn keep_revision(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    resource: &Resource,
    sha256: &[u8; 32],
    change: Change<'_>,
) -> Result<()> {
    let attributes = serde_json::to_string(&resource.attributes)
        .map_err(|error| Error::internal("a row cannot be written as JSON").with_source(error))?;
    revisions::insert(
        db,
        author,
        NewRevision {
            project: project.id,
            kind: Kind::Resource,
            item: resource.uuid,
            number: resource.revision,
            change,
            name: &resource.name,
            attributes: &attributes,
            blob: resource.blob,
            sha256,
        },
    )
}
