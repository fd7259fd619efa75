//! Prompts.

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::blobs::{self, Blob};
use super::page::{Page, Slice};
use super::projects::{Project, Selection, resolved};
use super::revisions::{self, Author, Change, Kind, NewRevision, Revision};
use super::{Db, search, sqlite};
use crate::clock::Millis;
use crate::error::{Error, Result};

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

/// The agent whose placeholders a template has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Claude Code: `$0` is the first word, `$name` one that front matter names.
    Claude,
    /// OpenCode: `$1` is the first word, the highest number takes all that is left.
    OpenCode,
}

impl Dialect {
    const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::OpenCode => "opencode",
        }
    }

    /// Reads a column that the schema checks.
    fn from_row(row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<Option<Self>> {
        let word = row.get_ref(index)?.as_str_or_null()?;
        Ok([Self::Claude, Self::OpenCode].into_iter().find(|dialect| word == Some(dialect.word())))
    }
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

/// What prompts/list needs of a row, borrowed.
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

/// Hands `each` the prompts of the project that applies, by name, and returns whether more follow the page.
///
/// # Errors
/// What `each` returns, or how the disk failed.
pub fn each(
    db: &Db<'_>,
    selection: &Selection,
    page: &Page,
    mut each: impl FnMut(&Line<'_>) -> Result<()>,
) -> Result<bool> {
    let mut statement = db.connection.prepare_cached(concat!(
        "SELECT project_id, name, description, arguments FROM prompt WHERE project_id = ",
        resolved!(),
        " AND name > ?3 ORDER BY name LIMIT ?4"
    ))?;
    let mut rows = statement.query(params![selection.named, selection.directory, page.after, page.fetch()])?;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        if seen == page.limit {
            return Ok(true);
        }
        seen += 1;
        each(&Line {
            project: row.get(0)?,
            name: row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?,
            description: row.get_ref(2)?.as_str_or_null().map_err(rusqlite::Error::from)?,
            arguments: row.get_ref(3)?.as_str_or_null().map_err(rusqlite::Error::from)?,
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
        "SELECT p.description, p.template, p.dialect, p.arguments, p.front_matter, ",
        blobs::columns!(),
        " FROM prompt p JOIN blob b ON b.id = p.blob_id WHERE p.name = ?3 AND p.project_id = ",
        resolved!()
    ))?;
    let mut rows = statement.query(params![selection.named, selection.directory, name])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let body = Body {
        description: row.get_ref(0)?.as_str_or_null().map_err(rusqlite::Error::from)?,
        template: row.get(1)?,
        dialect: Dialect::from_row(row, 2)?,
        arguments: row.get_ref(3)?.as_str_or_null().map_err(rusqlite::Error::from)?,
        front_matter: row.get_ref(4)?.as_str_or_null().map_err(rusqlite::Error::from)?,
        content: Blob::from_row(row, 5)?,
    };
    f(&body).map(Some)
}

/// Returns a page of a project's prompts by name.
///
/// # Errors
/// How the disk failed.
pub fn list(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Prompt>> {
    let mut statement = db.connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM prompt JOIN blob ON blob.id = blob_id
          WHERE project_id = ?1 AND name > ?2 ORDER BY name LIMIT ?3"
    ))?;
    page.slice(statement.query_map(params![project, page.after, page.fetch()], from_row)?)
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
    Ok(db
        .connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM prompt JOIN blob ON blob.id = blob_id WHERE project_id = ?1 AND name = ?2"
        ))?
        .query_row(params![project, name], from_row)
        .optional()?)
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
        revision: number + 1,
        created_at: author.now,
        updated_at: author.now,
    };
    write(db, author, project, prompt, Change { action: "create", restored: None }, content)
}

/// Writes a prompt that was read before and changed since; adds its revision. `content` is the text of `prompt.blob`
/// or the new one.
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
    prompt.revision += 1;
    prompt.updated_at = author.now;
    write(db, author, project, prompt, Change { action, restored: None }, content)
}

/// Deletes a prompt; its revisions stay, and the deletion is one of them.
///
/// # Errors
/// `E_NOT_FOUND`.
pub fn delete(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str) -> Result<Prompt> {
    let mut prompt = get(db, project, name)?;
    prompt.revision += 1;
    keep_revision(db, author, project, &prompt, Change { action: "delete", restored: None })?;
    db.connection.prepare_cached("DELETE FROM prompt WHERE id = ?1")?.execute([prompt.id])?;
    Ok(prompt)
}

/// Brings back the state of `revision`: a live prompt keeps its name, a deleted one gets `name`.
///
/// # Errors
/// `E_ALREADY_EXISTS` where another prompt took the name meanwhile.
pub fn restore(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str, revision: &Revision) -> Result<Prompt> {
    let live = db
        .connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM prompt JOIN blob ON blob.id = blob_id WHERE uuid = ?1"))?
        .query_row([revision.item.as_bytes()], from_row)
        .optional()?;
    let content = blobs::get(db, revision.blob)?;
    let text = std::str::from_utf8(&content).map_err(|_| Error::internal("a prompt's content is not UTF-8"))?;
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
    prompt.revision = revisions::newest(db, revision.item)? + 1;
    prompt.updated_at = author.now;
    let change = Change { action: "restore", restored: Some(revision.number) };
    write(db, author, project, prompt, change, text)
}

/// Returns the attributes a revision kept.
///
/// # Errors
/// `E_INTERNAL` where they cannot be read.
pub fn attributes(json: &str) -> Result<Attributes> {
    serde_json::from_str(json)
        .map_err(|error| Error::internal("a prompt's attributes are malformed").with_source(error))
}

/// Inserts where `prompt.id` is 0, else updates; keeps the revision, indexes the words.
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
    let taken = |error: rusqlite::Error| {
        if sqlite::violates(&error, "prompt.name") { Kind::Prompt.taken(project, &prompt.name) } else { error.into() }
    };
    if prompt.id == 0 {
        db.connection
            .prepare_cached(
                "INSERT INTO prompt (uuid, project_id, name, description, template, arguments, front_matter, file, blob_id,
                                     revision, created_at, updated_at, dialect)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
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
                dialect
            ])
            .map_err(taken)?;
        prompt.id = db.connection.last_insert_rowid();
    } else {
        db.connection
            .prepare_cached(
                "UPDATE prompt SET name = ?2, description = ?3, template = ?4, arguments = ?5, front_matter = ?6, file = ?7,
                                   blob_id = ?8, revision = ?9, updated_at = ?10, dialect = ?11 WHERE id = ?1",
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
                prompt.updated_at,
                dialect
            ])
            .map_err(taken)?;
    }
    keep_revision(db, author, project, &prompt, change)?;
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

fn keep_revision(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    prompt: &Prompt,
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
        },
    )
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal("a row cannot be written as JSON").with_source(error))
}

pub(super) const COLUMNS: &str =
    "prompt.id, uuid, name, description, template, arguments, front_matter, file, blob_id, size,
                       revision, created_at, updated_at, dialect";

pub(super) fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Prompt> {
    let arguments = row.get_ref(5)?.as_str_or_null()?;
    Ok(Prompt {
        id: row.get(0)?,
        uuid: Uuid::from_bytes(row.get(1)?),
        name: row.get(2)?,
        attributes: Attributes {
            description: row.get(3)?,
            template: row.get(4)?,
            dialect: Dialect::from_row(row, 13)?,
            arguments: arguments.map(serde_json::from_str).transpose().ok().flatten().unwrap_or_default(),
            front_matter: row.get(6)?,
            file: row.get(7)?,
        },
        blob: row.get(8)?,
        size: row.get(9)?,
        revision: row.get(10)?,
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
    })
}
