//! Resources.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::blobs::{self, Blob, Verify, blob_columns};
use super::engine::{Row, Unique, Value, params, sql};
use super::items::{self, Item};
use super::lists::{self, Difference};
use super::page::{Page, Slice};
use super::projects::{self, Project, Selection, resolved};
use super::revisions::{self, Author, Change, Kind, Revision};
use super::source::Source;
use super::sums::{self, DAMAGED};
use super::{Db, search};
use crate::error::{Code, Error, Result};

pub(super) mod row;

pub(super) use row::from_row;
use row::{REST, check, placeholder, resource_columns, resource_listed, resource_summed};

const NAME: Unique = Unique::new("resource", &["project_id", "name"]);
const URI: Unique = Unique::new("resource", &["project_id", "uri"]);

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
pub type Resource = Item<Attributes>;

impl items::Attributes for Attributes {
    const KIND: Kind = Kind::Resource;
}

/// What resources/list needs of a row, borrowed: texts as bytes, which are UTF-8, since they were written as that and their
/// checksum holds. Of a damaged row only name and URI, as far as they can be read, and a
/// description that says so.
#[derive(Debug)]
pub struct Line<'r> {
    /// The project's key.
    pub project: i64,
    /// The name.
    pub name: &'r [u8],
    /// The URI.
    pub uri: &'r [u8],
    /// The description.
    pub description: Option<&'r [u8]>,
    /// The MIME type.
    pub mime_type: Option<&'r [u8]>,
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
/// What `each` returns, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn each(
    db: &Db<'_>,
    selection: &Selection,
    page: &Page,
    mut each: impl FnMut(&Line<'_>) -> Result<()>,
) -> Result<bool> {
    let Some(project) = projects::resolved_id(db, selection)? else { return Ok(false) };
    let sql = sql!(
        "SELECT r.name, r.uri, r.description, r.mime_type, r.listed_sum
           FROM resource r WHERE r.project_id = ?1 AND r.name > ?2 ORDER BY r.name LIMIT ?3"
    );
    let (mut seen, mut bytes) = (0, Vec::new());
    db.each(sql, params![project, page.after, page.fetch()], |row| {
        seen += 1;
        if seen > page.limit {
            return Ok(());
        }
        // Asking SQLite for a column costs as much as writing it as JSON, so that each is asked for once.
        let listed @ [name, uri, description, mime_type]: [Value<'_>; 4] =
            [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
        // With the project that was asked for: the index may lead to a row of another one.
        let sum = sums::checksum_in(&mut bytes, std::iter::once(Value::Integer(project)).chain(listed));
        if row.get::<Value<'_>>(4)? != Value::Integer(sum) {
            let (name, uri) = (sums::legible(row, 0), sums::legible(row, 1));
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

/// By which of its two unique columns a resource is meant.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    /// Its name.
    Name(&'a str),
    /// Its URI.
    Uri(&'a str),
}

impl Key<'_> {
    /// Its column in the rows of `resource_columns!`.
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
/// What `f` returns, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
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
                // Joined so that the project is resolved once.
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

/// Returns the names in a project that begin with `prefix`, at most `limit`.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn names(db: &Db<'_>, selection: &Selection, prefix: &str, limit: usize) -> Result<Vec<String>> {
    items::names(db, selection, Kind::Resource, prefix, limit)
}

/// Returns a page of a project's resources by name.
///
/// # Errors
/// `E_DAMAGED` that names the first one that is damaged; `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn list(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Resource>> {
    slice(db, project, page, from_row)
}

/// Returns a page of a project's resources by name, to be shown: a damaged one has a description that says so.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
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
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn find(db: &Db<'_>, project: i64, key: Key<'_>) -> Result<Option<Resource>> {
    let (sql, value) = match key {
        Key::Name(name) => (sql!(resource_columns!(), " WHERE r.project_id = ?1 AND r.name = ?2"), name),
        Key::Uri(uri) => (sql!(resource_columns!(), " WHERE r.project_id = ?1 AND r.uri = ?2"), uri),
    };
    db.one(sql, params![project, value], |row| {
        let resource = from_row(row)?;
        // The index may lead to another row.
        let is_asked_for = row.get::<&str>(key.column())? == value && row.get::<i64>(0)? == project;
        if is_asked_for { Ok(resource) } else { Err(Kind::Resource.damaged(value)) }
    })
}

/// Returns a project's resources whose URI begins with `prefix`, by URI.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn below(db: &Db<'_>, project: i64, prefix: &str) -> Result<Vec<Resource>> {
    let sql = sql!(resource_columns!(), " WHERE r.project_id = ?1 AND r.uri >= ?2 AND r.uri < ?3 ORDER BY r.uri");
    // No URI holds the last character there is.
    db.all(sql, params![project, prefix, format!("{prefix}\u{10ffff}")], from_row)
}

/// Returns the resource with the id `uuid` of a project, if there is one.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn by_uuid(db: &Db<'_>, project: i64, uuid: Uuid) -> Result<Option<Resource>> {
    let sql = sql!(resource_columns!(), " WHERE r.uuid = ?2 AND r.project_id = ?1");
    match db.one(sql, params![project, uuid], from_row)? {
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
    let blob = blobs::put_source(db, content)?;
    let resource = items::new(db, author, project, uuid, name, attributes, (blob, content.size()))?;
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
    items::delete(db, author, project, get(db, project, name)?)
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
    let live = db.one(sql!(resource_columns!(), " WHERE r.uuid = ?1"), params![revision.item], |row| {
        from_row(row).or_else(|error| Ok(Resource { name: name.to_owned(), ..placeholder(row, error)? }))
    })?;
    // What is damaged is not brought back as if it were good.
    blobs::stream_by_id(db, revision.blob, Verify::Sha256, |_| Ok(()))?;
    let resource = items::restored(db, author, name, revision, live)?;
    let change = Change { action: "restore", restored: Some(revision.number) };
    write(db, author, project, resource, change)
}

/// Returns the attributes a revision kept.
///
/// # Errors
/// `E_DAMAGED` where they cannot be read.
pub fn attributes(json: &str) -> Result<Attributes> {
    items::attributes(json)
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
    let taken = |error: Error| {
        if URI.is_violated_by(&error) {
            Error::new(
                Code::AlreadyExists,
                format!("Resource with URI '{uri}' already exists in project '{}'", project.name),
            )
            .with_details(serde_json::json!({ "uri": uri }))
        } else if NAME.is_violated_by(&error) {
            Kind::Resource.taken(project, &resource.name)
        } else {
            error
        }
    };
    let sha256 = blobs::sha256(db, resource.blob)?;
    let (listed_sum, row_sum) = row::sums(project.id, &resource, &sha256);
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
        let sql = sql!(
            "INSERT INTO resource (uuid, project_id, name, uri, description, mime_type, text, executable, blob_id,
                                   revision, created_at, updated_at, listed_sum, row_sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) RETURNING id"
        );
        db.insert(sql, columns).map_err(taken)?
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
    items::keep_revision(db, author, project, &resource, &sha256, change)?;
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
    db.single(sql, item, |row| Ok(Difference::of(row.get(0)?, row.get(1)?)))
}
