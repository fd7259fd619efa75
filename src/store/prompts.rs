//! Prompts.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::blobs::{self, Blob, blob_columns};
use super::engine::{Row, Unique, Value, params, sql};
use super::items::{self, Item, json};
use super::lists::{self, Difference};
use super::page::{Page, Slice};
use super::projects::{self, Project, Selection, resolved};
use super::revisions::{self, Author, Change, Kind, Revision};
use super::sums::{self, DAMAGED};
use super::{Db, search, skills};
use crate::error::{Error, Result};

mod dialect;
pub(super) mod row;

pub use dialect::Dialect;
pub(super) use row::from_row;
use row::{REST, check, is_plain_json, placeholder, prompt_columns, prompt_listed, prompt_summed};

const NAME: Unique = Unique::new("prompt", &["project_id", "name"]);

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
pub type Prompt = Item<Attributes>;

impl items::Attributes for Attributes {
    const KIND: Kind = Kind::Prompt;
}

/// What prompts/list needs of a row, borrowed: texts as bytes, which are UTF-8, since they were written as that and their
/// checksum holds. Of a damaged row only the name, as far as it can be read, and a description that says so.
#[derive(Debug)]
pub struct Line<'r> {
    /// The project's key.
    pub project: i64,
    /// The name.
    pub name: &'r [u8],
    /// The description.
    pub description: Option<&'r [u8]>,
    /// The arguments, as a JSON array in MCP's form.
    pub arguments: Option<&'r [u8]>,
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
/// What `each` returns, `E_TIMEOUT`, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn each(
    db: &Db<'_>,
    selection: &Selection,
    page: &Page,
    mut each: impl FnMut(&Line<'_>) -> Result<()>,
) -> Result<bool> {
    let Some(project) = projects::resolved_id(db, selection)? else { return Ok(false) };
    let sql = sql!(
        "SELECT p.name, p.description, p.arguments, p.listed_sum
           FROM prompt p WHERE p.project_id = ?1 AND p.name > ?2 ORDER BY p.name LIMIT ?3"
    );
    let (mut seen, mut bytes) = (0, Vec::new());
    db.each(sql, params![project, page.after, page.fetch()], |row| {
        seen += 1;
        if seen > page.limit {
            return Ok(());
        }
        // Asking SQLite for a column costs as much as writing it as JSON, so that each is asked for once.
        let listed @ [name, description, arguments]: [Value<'_>; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
        // With the project that was asked for: the index may lead to a row of another one.
        let sum = sums::checksum_in(&mut bytes, std::iter::once(Value::Integer(project)).chain(listed));
        if row.get::<Value<'_>>(3)? != Value::Integer(sum) || !is_plain_json(arguments) {
            let name = sums::legible(row, 0);
            let description = Some(DAMAGED.as_bytes());
            return each(&Line { project, name: name.as_bytes(), description, arguments: None });
        }
        each(&Line {
            project,
            name: name.text(0)?.unwrap_or_default(),
            description: description.text(1)?,
            arguments: arguments.text(2)?,
        })
    })?;
    Ok(seen > page.limit)
}

/// Hands `f` the prompt `name` of the project that applies; `None` where there is none.
///
/// # Errors
/// What `f` returns, `E_DAMAGED`, `E_TIMEOUT`, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn with<T>(
    db: &Db<'_>,
    selection: &Selection,
    name: &str,
    f: impl FnOnce(&Body<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let sql = sql!(
        "SELECT ",
        prompt_summed!(),
        ", ",
        blob_columns!(),
        // Joined so that the project is resolved once.
        ", resolved.id FROM (SELECT ",
        resolved!(),
        " AS id) AS resolved JOIN prompt p ON p.project_id = resolved.id AND p.name = ?3
          JOIN blob b ON b.id = p.blob_id"
    );
    db.one(sql, params![selection.named, selection.directory, name], |row| {
        check(row)?;
        let is_asked_for = row.get::<Value<'_>>(0)? == row.get(REST + blobs::COLUMNS)? && row.get::<&str>(1)? == name;
        if !is_asked_for {
            return Err(Kind::Prompt.damaged(name));
        }
        f(&Body {
            description: row.get(2)?,
            template: row.get(6)?,
            dialect: Dialect::from_row(row, 13)?,
            arguments: row.get(3)?,
            front_matter: row.get(8)?,
            content: Blob::from_row(row, REST)?,
        })
    })
}

/// Hands `each` the templates of all projects: the names of project and prompt, and the content.
///
/// # Errors
/// What `each` returns, `E_TIMEOUT`, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn each_template(db: &Db<'_>, mut each: impl FnMut(&str, &str, Blob<'_>) -> Result<()>) -> Result<()> {
    let sql = sql!(
        "SELECT project.name, p.name, ",
        blob_columns!(),
        " FROM prompt p JOIN project ON project.id = p.project_id JOIN blob b ON b.id = p.blob_id
          WHERE p.template = 1 AND p.dialect IS NULL ORDER BY 1, 2"
    );
    db.each(sql, params![], |row| each(row.get(0)?, row.get(1)?, Blob::from_row(row, 2)?))
}

/// Returns a page of a project's prompts by name.
///
/// # Errors
/// `E_DAMAGED` that names the first one that is damaged; `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn list(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Prompt>> {
    slice(db, project, page, from_row)
}

/// Returns a page of a project's prompts by name, to be shown: a damaged one has a description that says so.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
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
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn find(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Prompt>> {
    let sql = sql!(prompt_columns!(), " WHERE p.project_id = ?1 AND p.name = ?2");
    db.one(sql, params![project, name], |row| {
        let prompt = from_row(row)?;
        // The index may lead to another row.
        let is_asked_for = prompt.name == name && row.get::<i64>(0)? == project;
        if is_asked_for { Ok(prompt) } else { Err(Kind::Prompt.damaged(name)) }
    })
}

/// Returns the names in a project that begin with `prefix`, at most `limit`.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn names(db: &Db<'_>, selection: &Selection, prefix: &str, limit: usize) -> Result<Vec<String>> {
    items::names(db, selection, Kind::Prompt, prefix, limit)
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
    let blob = blobs::put(db, content.as_bytes())?;
    let prompt = items::new(db, author, project, uuid, name, attributes, (blob, content.len() as u64))?;
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
    items::delete(db, author, project, get(db, project, name)?)
}

/// Brings back the state of `revision`: a live prompt keeps its name, a deleted one gets `name`.
///
/// # Errors
/// `E_ALREADY_EXISTS` where another prompt took the name meanwhile.
pub fn restore(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str, revision: &Revision) -> Result<Prompt> {
    // A damaged row is made whole by what is brought back.
    let live = db.one(sql!(prompt_columns!(), " WHERE p.uuid = ?1"), params![revision.item], |row| {
        from_row(row).or_else(|error| Ok(Prompt { name: name.to_owned(), ..placeholder(row, error)? }))
    })?;
    let content = blobs::get(db, revision.blob)?;
    let text = std::str::from_utf8(&content).map_err(|_| blobs::damaged_value("a prompt's content is not UTF-8"))?;
    let mut prompt: Prompt = items::restored(db, author, name, revision, live)?;
    if prompt.name != revision.name {
        prompt.attributes.file = None;
    }
    let change = Change { action: "restore", restored: Some(revision.number) };
    write(db, author, project, prompt, change, text)
}

/// Returns the attributes a revision kept.
///
/// # Errors
/// `E_DAMAGED` where they cannot be read.
pub fn attributes(json: &str) -> Result<Attributes> {
    items::attributes(json)
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
    let taken = |error: Error| {
        if NAME.is_violated_by(&error) { Kind::Prompt.taken(project, &prompt.name) } else { error }
    };
    let skill = skills::name(&prompt.name);
    let sha256 = blobs::sha256(db, prompt.blob)?;
    let (listed_sum, row_sum) = row::sums(project.id, &prompt, arguments.as_deref(), &sha256);
    let columns = params![
        prompt.uuid,
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
    ];
    let id = if prompt.id == 0 {
        let sql = sql!(
            "INSERT INTO prompt (uuid, project_id, name, description, template, arguments, front_matter, file, blob_id,
                                 revision, created_at, updated_at, listed_sum, row_sum, dialect, skill)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) RETURNING id"
        );
        db.insert(sql, columns).map_err(taken)?
    } else {
        let sql = sql!(
            "UPDATE prompt SET project_id = ?2, name = ?3, description = ?4, template = ?5, arguments = ?6, front_matter = ?7,
                               file = ?8, blob_id = ?9, revision = ?10, created_at = ?11, updated_at = ?12, listed_sum = ?13,
                               row_sum = ?14, dialect = ?15, skill = ?16
              WHERE uuid = ?1"
        );
        if db.run(sql, columns).map_err(taken)? == 0 {
            return Err(Kind::Prompt.missing(db, project, &prompt.name));
        }
        prompt.id
    };
    prompt.id = id;
    if difference == Difference::Listed {
        lists::changed(db, project, Kind::Prompt)?;
    }
    items::keep_revision(db, author, project, &prompt, &sha256, change)?;
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
    let sql = sql!(
        "SELECT name = ?2 AND description IS NOT DISTINCT FROM ?3
                AND arguments IS NOT DISTINCT FROM ?4,
                template = ?5 AND dialect IS NOT DISTINCT FROM ?6 AND front_matter IS NOT DISTINCT FROM ?7
                AND file IS NOT DISTINCT FROM ?8 AND blob_id = ?9 AND created_at = ?10 AND updated_at = ?11
           FROM prompt WHERE id = ?1"
    );
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
    db.single(sql, item, |row| Ok(Difference::of(row.get(0)?, row.get(1)?)))
}
