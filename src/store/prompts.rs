//! Prompts.

use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::blobs::{self, Blob};
use super::lists::{self, Difference};
use super::page::{Page, Slice};
use super::projects::{self, Project, Selection, resolved};
use super::revisions::{self, Author, Change, Kind, NewRevision, Revision};
use super::sums::{self, DAMAGED};
use super::{Db, search, skills, sqlite};
use crate::clock::Millis;
use crate::error::{Error, Result};

mod dialect;
mod row;

pub use dialect::Dialect;
pub(super) use row::{QUERY, from_row};
use row::{REST, check, columns, is_plain_json, placeholder, summed};

/// An argument of a prompt template, in MCP's form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// The name the template uses.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether prompts/get refuses to go without it.
    #[serde(default)]
    pub required: bool,
}

/// All of a prompt that a user sets, but its name and content; what a revision keeps beside these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the content is rendered; a plain prompt goes out byte for byte.
    #[serde(default)]
    pub template: bool,
    /// Whose placeholders the content has, where it is rendered; `None` for Jinja's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// The template's arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    /// What stood before the text in the file it was imported from, the lines of `---` too; `None` where what mcpkg
    /// writes by itself says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front_matter: Option<String>,
    /// The path of that file below the folder of commands, where it is not `NAME.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A prompt's row.
#[derive(Clone, Debug)]
pub struct Prompt {
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

/// What prompts/list needs of a row, borrowed. Of a damaged row only the name, as far as it can be read, and a
/// description that says so.
#[derive(Debug)]
pub struct Line<'r> {
    /// The project's key.
    pub project: i64,
    /// The name.
    pub name: &'r str,
    /// The description.
    pub description: Option<&'r str>,
    /// The arguments, as a JSON array in MCP's form.
    pub arguments: Option<&'r str>,
}

/// What prompts/get needs of a row, borrowed.
#[derive(Debug)]
pub struct Body<'r> {
    /// The description.
    pub description: Option<&'r str>,
    /// Whether the content is rendered.
    pub template: bool,
    /// Whose placeholders the content has, where it is rendered; `None` for Jinja's.
    pub dialect: Option<Dialect>,
    /// The arguments, as a JSON array.
    pub arguments: Option<&'r str>,
    /// What stood before the text in the file it was imported from.
    pub front_matter: Option<&'r str>,
    /// The content.
    pub content: Blob<'r>,
}

/// Hands `each` the prompts of the project that applies, by name, and returns whether more follow the page. Takes two
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
        "SELECT p.name, p.description, p.arguments, p.listed_sum
           FROM prompt p WHERE p.project_id = ?1 AND p.name > ?2 ORDER BY p.name LIMIT ?3",
    )?;
    let mut rows = statement.query(params![project, page.after, page.fetch()])?;
    let (mut seen, mut bytes) = (0, Vec::new());
    while let Some(row) = rows.next()? {
        if seen == page.limit {
            return Ok(true);
        }
        seen += 1;
        // Asking SQLite for a column costs as much as writing it as JSON, so that each is asked for once.
        let [name, description, arguments] = [row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?];
        // With the project that was asked for: the index may lead to a row of another one.
        let sum = sums::checksum_in(&mut bytes, [ValueRef::Integer(project), name, description, arguments]);
        if row.get_ref(3)? != ValueRef::Integer(sum) || !is_plain_json(arguments) {
            let name = sums::legible(row, 0);
            each(&Line { project, name: &name, description: Some(DAMAGED), arguments: None })?;
            continue;
        }
        each(&Line {
            project,
            name: name.as_str().map_err(rusqlite::Error::from)?,
            description: description.as_str_or_null().map_err(rusqlite::Error::from)?,
            arguments: arguments.as_str_or_null().map_err(rusqlite::Error::from)?,
        })?;
    }
    Ok(false)
}

/// Hands `f` the prompt `name` of the project that applies; `None` where there is none.
///
/// # Errors
/// What `f` returns, or how the disk failed.
pub fn with<T>(
    db: &Db<'_>,
    selection: &Selection,
    name: &str,
    f: impl FnOnce(&Body<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut statement = db.connection.prepare_cached(concat!(
        "SELECT ",
        summed!(),
        ", ",
        blobs::columns!(),
        // Joined so that the project is resolved once.
        ", resolved.id FROM (SELECT ",
        resolved!(),
        " AS id) AS resolved CROSS JOIN prompt p ON p.project_id = resolved.id AND p.name = ?3
          JOIN blob b ON b.id = p.blob_id"
    ))?;
    let mut rows = statement.query(params![selection.named, selection.directory, name])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    check(row)?;
    if row.get_ref(0)? != row.get_ref(REST + blobs::COLUMNS)? || row.get_ref(1)?.as_str() != Ok(name) {
        return Err(Kind::Prompt.damaged(name));
    }
    let body = Body {
        description: row.get_ref(2)?.as_str_or_null().map_err(rusqlite::Error::from)?,
        template: row.get(6)?,
        dialect: Dialect::from_row(row, 13)?,
        arguments: row.get_ref(3)?.as_str_or_null().map_err(rusqlite::Error::from)?,
        front_matter: row.get_ref(8)?.as_str_or_null().map_err(rusqlite::Error::from)?,
        content: Blob::from_row(row, REST)?,
    };
    f(&body).map(Some)
}

/// Hands `each` the templates of all projects: the names of project and prompt, and the content.
///
/// # Errors
/// What `each` returns, or how the disk failed.
pub fn each_template(db: &Db<'_>, mut each: impl FnMut(&str, &str, Blob<'_>) -> Result<()>) -> Result<()> {
    let mut statement = db.connection.prepare_cached(concat!(
        "SELECT project.name, p.name, ",
        blobs::columns!(),
        " FROM prompt p JOIN project ON project.id = p.project_id JOIN blob b ON b.id = p.blob_id
          WHERE p.template = 1 AND p.dialect IS NULL ORDER BY 1, 2"
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
        each(name(0)?, name(1)?, Blob::from_row(row, 2)?)?;
    }
    Ok(())
}

/// Returns a page of a project's prompts by name.
///
/// # Errors
/// `E_DAMAGED` that names the first one that is damaged, and how the disk failed.
pub fn list(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Prompt>> {
    slice(db, project, page, from_row)
}

/// Returns a page of a project's prompts by name, to be shown: a damaged one has a description that says so.
///
/// # Errors
/// How the disk failed.
pub fn overview(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Prompt>> {
    slice(db, project, page, |row| from_row(row).or_else(|error| placeholder(row, error)))
}

fn slice(
    db: &Db<'_>,
    project: i64,
    page: &Page,
    from_row: impl FnMut(&Row<'_>) -> Result<Prompt>,
) -> Result<Slice<Prompt>> {
    let sql = concat!(columns!(), " WHERE p.project_id = ?1 AND p.name > ?2 ORDER BY p.name LIMIT ?3");
    Ok(page.slice(db.all(sql, params![project, page.after, page.fetch()], from_row)?))
}

/// Returns the prompt `name` of a project.
///
/// # Errors
/// `E_NOT_FOUND`.
pub fn get(db: &Db<'_>, project: &Project, name: &str) -> Result<Prompt> {
    find(db, project.id, name)?.ok_or_else(|| Kind::Prompt.missing(db, project, name))
}

/// Returns the prompt `name` of a project, if there is one.
///
/// # Errors
/// How the disk failed.
pub fn find(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Prompt>> {
    db.one(concat!(columns!(), " WHERE p.project_id = ?1 AND p.name = ?2"), params![project, name], |row| {
        let prompt = from_row(row)?;
        // The index may lead to another row.
        let is_asked_for = prompt.name == name && row.get::<_, i64>(0)? == project;
        if is_asked_for { Ok(prompt) } else { Err(Kind::Prompt.damaged(name)) }
    })
}

/// Returns the names in a project that begin with `prefix`, at most `limit`.
///
/// # Errors
/// How the disk failed.
pub fn names(db: &Db<'_>, selection: &Selection, prefix: &str, limit: usize) -> Result<Vec<String>> {
    let mut statement = db.connection.prepare_cached(concat!(
        "SELECT name FROM prompt WHERE project_id = ",
        resolved!(),
        " AND substr(name, 1, length(?3)) = ?3 AND name >= ?3 ORDER BY name LIMIT ?4"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![selection.named, selection.directory, prefix, limit], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Adds a prompt; one made under the name of a deleted one goes on with its id and history.
///
/// # Errors
/// `E_ALREADY_EXISTS`.
pub fn insert(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    uuid: Uuid,
    name: &str,
    attributes: Attributes,
    content: &str,
) -> Result<Prompt> {
    let (uuid, number) = revisions::deleted(db, project.id, Kind::Prompt, name)?.unwrap_or((uuid, 0));
    let prompt = Prompt {
        id: 0,
        uuid,
        name: name.to_owned(),
        attributes,
        blob: blobs::put(db, content.as_bytes())?,
        size: i64::try_from(content.len()).unwrap_or(i64::MAX),
        revision: number,
        created_at: author.now,
        updated_at: author.now,
    };
    write(db, author, project, prompt, Change { action: "create", restored: None }, content)
}

/// Writes a prompt that was read before and changed since; adds its revision. One that is as it was stays so, without a
/// new revision. `content` is the text of `prompt.blob` or the new one.
///
/// # Errors
/// `E_ALREADY_EXISTS` where a new name is taken.
pub fn update(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut prompt: Prompt,
    action: &str,
    content: &str,
) -> Result<Prompt> {
    prompt.blob = blobs::put(db, content.as_bytes())?;
    prompt.size = i64::try_from(content.len()).unwrap_or(i64::MAX);
    write(db, author, project, prompt, Change { action, restored: None }, content)
}

/// Deletes a prompt; its revisions stay, and the deletion is one of them.
///
/// # Errors
/// `E_NOT_FOUND`.
pub fn delete(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str) -> Result<Prompt> {
    let mut prompt = get(db, project, name)?;
    prompt.revision = revisions::next(prompt.revision)?;
    let sha256 = blobs::sha256(db, prompt.blob)?;
    keep_revision(db, author, project, &prompt, &sha256, Change { action: "delete", restored: None })?;
    db.connection.prepare_cached("DELETE FROM prompt WHERE id = ?1")?.execute([prompt.id])?;
    search::unindex(db, Kind::Prompt, prompt.id)?;
    lists::changed(db, project, Kind::Prompt)?;
    Ok(prompt)
}

/// Brings back the state of `revision`: a live prompt keeps its name, a deleted one gets `name`.
///
/// # Errors
/// `E_ALREADY_EXISTS` where another prompt took the name meanwhile.
pub fn restore(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str, revision: &Revision) -> Result<Prompt> {
    // A damaged row is made whole by what is brought back.
    let live = db.one(concat!(columns!(), " WHERE p.uuid = ?1"), [revision.item.as_bytes()], |row| {
        from_row(row)
            .or_else(|error| Ok(Prompt { uuid: revision.item, name: name.to_owned(), ..placeholder(row, error)? }))
    })?;
    let content = blobs::get(db, revision.blob)?;
    let text = std::str::from_utf8(&content).map_err(|_| blobs::damaged_value("a prompt's content is not UTF-8"))?;
    let attributes = attributes(&revision.attributes)?;
    let mut prompt = live.unwrap_or(Prompt {
        id: 0,
        uuid: revision.item,
        name: name.to_owned(),
        attributes: Attributes::default(),
        blob: 0,
        size: 0,
        revision: 0,
        created_at: author.now,
        updated_at: author.now,
    });
    prompt.attributes = attributes;
    if prompt.name != revision.name {
        prompt.attributes.file = None;
    }
    prompt.blob = revision.blob;
    prompt.size = revision.size;
    prompt.revision = revisions::newest(db, revision.item)?;
    let change = Change { action: "restore", restored: Some(revision.number) };
    write(db, author, project, prompt, change, text)
}

/// Returns the attributes a revision kept.
///
/// # Errors
/// `E_DAMAGED` where they cannot be read.
pub fn attributes(json: &str) -> Result<Attributes> {
    serde_json::from_str(json)
        .map_err(|error| blobs::damaged_value("a prompt's attributes are malformed").with_source(error))
}

/// Inserts where `prompt.id` is 0, else updates what differs from its row; keeps the next revision, indexes the words, and
/// notes where the project's list shows something else. `prompt.revision` is the one before.
fn write(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut prompt: Prompt,
    change: Change<'_>,
    content: &str,
) -> Result<Prompt> {
    let Attributes { description, template, dialect, arguments, front_matter, file } = &prompt.attributes;
    let dialect = dialect.map(Dialect::word);
    let arguments = (!arguments.is_empty()).then(|| json(arguments)).transpose()?;
    let difference = if prompt.id == 0 { Difference::Listed } else { difference(db, &prompt, arguments.as_deref())? };
    if difference == Difference::None {
        return Ok(prompt);
    }
    prompt.revision = revisions::next(prompt.revision)?;
    prompt.updated_at = author.now;
    let taken = |error: rusqlite::Error| {
        if sqlite::violates(&error, "prompt.name") { Kind::Prompt.taken(project, &prompt.name) } else { error.into() }
    };
    let skill = skills::name(&prompt.name);
    let sha256 = blobs::sha256(db, prompt.blob)?;
    let (listed_sum, row_sum) = row::sums(project.id, &prompt, arguments.as_deref(), &sha256);
    if prompt.id == 0 {
        db.connection
            .prepare_cached(
                "INSERT INTO prompt (uuid, project_id, name, description, template, arguments, front_matter, file, blob_id,
                                     revision, created_at, updated_at, listed_sum, row_sum, dialect, skill)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            )?
            .execute(params![
                prompt.uuid.as_bytes(),
                project.id,
                prompt.name,
                description,
                template,
                arguments,
                front_matter,
                file,
                prompt.blob,
                prompt.revision,
                prompt.created_at,
                prompt.updated_at,
                listed_sum,
                row_sum,
                dialect,
                skill
            ])
            .map_err(taken)?;
        prompt.id = db.connection.last_insert_rowid();
    } else {
        db.connection
            .prepare_cached(
                "UPDATE prompt SET name = ?2, description = ?3, template = ?4, arguments = ?5, front_matter = ?6, file = ?7,
                                   blob_id = ?8, revision = ?9, created_at = ?10, updated_at = ?11, listed_sum = ?12,
                                   row_sum = ?13, dialect = ?14, skill = ?15 WHERE id = ?1",
            )?
            .execute(params![
                prompt.id,
                prompt.name,
                description,
                template,
                arguments,
                front_matter,
                file,
                prompt.blob,
                prompt.revision,
                prompt.created_at,
                prompt.updated_at,
                listed_sum,
                row_sum,
                dialect,
                skill
            ])
            .map_err(taken)?;
    }
    if difference == Difference::Listed {
        lists::changed(db, project, Kind::Prompt)?;
    }
    keep_revision(db, author, project, &prompt, &sha256, change)?;
    search::index(
        db,
        Kind::Prompt,
        prompt.id,
        project.id,
        &prompt.name,
        prompt.attributes.description.as_deref(),
        content,
    )?;
    Ok(prompt)
}

/// Returns how a prompt differs from its row.
fn difference(db: &Db<'_>, prompt: &Prompt, arguments: Option<&str>) -> Result<Difference> {
    let Attributes { description, template, dialect, front_matter, file, .. } = &prompt.attributes;
    let dialect = dialect.map(Dialect::word);
    let mut statement = db.connection.prepare_cached(
        "SELECT name IS ?2 AND description IS ?3 AND arguments IS ?4,
                template IS ?5 AND dialect IS ?6 AND front_matter IS ?7 AND file IS ?8 AND blob_id IS ?9
                AND created_at = ?10 AND updated_at = ?11
           FROM prompt WHERE id = ?1",
    )?;
    // Of a damaged row that is brought back the times are not known, so that it is always written anew.
    let item = params![
        prompt.id,
        prompt.name,
        description,
        arguments,
        template,
        dialect,
        front_matter,
        file,
        prompt.blob,
        prompt.created_at,
        prompt.updated_at
    ];
    Ok(statement.query_row(item, |row| Ok(Difference::of(row.get(0)?, row.get(1)?)))?)
}

fn keep_revision(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    prompt: &Prompt,
    sha256: &[u8; 32],
    change: Change<'_>,
) -> Result<()> {
    revisions::insert(
        db,
        author,
        NewRevision {
            project: project.id,
            kind: Kind::Prompt,
            item: prompt.uuid,
            number: prompt.revision,
            change,
            name: &prompt.name,
            attributes: &json(&prompt.attributes)?,
            blob: prompt.blob,
            sha256,
        },
    )
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal("a row cannot be written as JSON").with_source(error))
}
