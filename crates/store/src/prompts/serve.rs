//! Serves prompts to clients. A prompt, or a page of the list, takes one statement, and its fields are borrowed from
//! rows.

use super::dialect::Dialect;
use super::row::{REST, check, is_plain_json, prompt_listed, prompt_summed};
use crate::Db;
use crate::blobs::{self, Blob, blob_columns};
use crate::engine::{Value, params, sql};
use crate::names::legible;
use crate::page::Page;
use crate::projects::{Selection, resolved};
use crate::revisions::Kind;
use crate::sums::{Checksums, DAMAGED};
use mcpkg_base::error::Result;

/// The part of a row that prompts/list needs, borrowed. Texts are bytes. They are valid UTF-8, because they were
/// written as UTF-8 and the checksum matches. A damaged row has only its name, as far as it is legible, and a
/// description that reports the damage.
#[derive(Debug)]
pub struct Line<'r> {
    pub project: i64,
    pub name: &'r [u8],
    pub description: Option<&'r [u8]>,
    /// The arguments, as a JSON array in MCP's form.
    pub arguments: Option<&'r [u8]>,
    /// Whether the prompt is a command whose first argument is everything that a user types after it.
    pub takes_line: bool,
}

/// The beginning of a prompt's arguments if the first one is everything that a user types.
const LINE: &[u8] = b"[{\"name\":\"arguments\"";

/// The columns that prompts/get needs, borrowed from a row.
#[derive(Debug)]
pub struct Body<'r> {
    pub description: Option<&'r str>,
    /// Whether the content is a template to render.
    pub template: bool,
    /// The placeholder syntax of a template; `None` for Jinja.
    pub dialect: Option<Dialect>,
    /// The arguments, as a JSON array.
    pub arguments: Option<&'r str>,
    /// The front matter of the imported file.
    pub front_matter: Option<&'r str>,
    pub content: Blob<'r>,
}

/// Passes a page of the selected project's prompts to `each`, ordered by name, with one statement. Returns whether
/// more prompts follow after the page.
///
/// # Errors
/// Errors of `each`.
pub fn each(
    db: &Db<'_>,
    selection: &Selection,
    page: &Page,
    mut each: impl FnMut(&Line<'_>) -> Result<()>,
) -> Result<bool> {
    let sql = sql!(
        "SELECT p.name, p.description, p.arguments, p.listed_sum, (SELECT ",
        resolved!(),
        "), p.dialect FROM prompt p WHERE p.project_id = (SELECT ",
        resolved!(),
        ") AND p.name > ?3 ORDER BY p.name LIMIT ?4"
    );
    let (mut seen, mut of_project) = (0, None);
    db.each(sql, params![selection.named, selection.directory, page.after, page.fetch()], |row| {
        seen += 1;
        if seen > page.limit {
            return Ok(());
        }
        // Include the requested project in the checksum, because a damaged index may lead to a row of another
        // project.
        let (project, sums) = Checksums::of_project(&mut of_project, row, 4)?;
        // Read each column only once: getting one from SQLite costs as much as writing it as JSON.
        let listed @ [name, description, arguments]: [Value<'_>; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
        let is_intact = row.get::<Value<'_>>(3)? == Value::Integer(sums.next(&listed));
        if !is_intact || !is_plain_json(arguments) {
            let name = legible(row, 0);
            let description = Some(DAMAGED.as_bytes());
            return each(&Line { project, name: name.as_bytes(), description, arguments: None, takes_line: false });
        }
        let arguments = arguments.text(2)?;
        let takes_line =
            arguments.is_some_and(|arguments| arguments.starts_with(LINE)) && row.get::<Value<'_>>(5)? != Value::Null;
        each(&Line {
            project,
            name: name.text(0)?.unwrap_or_default(),
            description: description.text(1)?,
            arguments,
            takes_line,
        })
    })?;
    Ok(seen > page.limit)
}

/// Passes the prompt `name` of the selected project to `f`; `None` if there is none.
///
/// # Errors
/// Errors of `f`.
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
        // Join the project, so that it is resolved only once.
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
