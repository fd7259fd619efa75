//! Changes prompts. Each change adds a revision.

use super::dialect::Dialect;
use super::prompt::{Attributes, Prompt};
use super::read::get;
use super::row::{self, from_row, placeholder, prompt_columns, prompt_listed, prompt_summed};
use crate::engine::{Unique, params, sql};
use crate::items::{self, Ids, json};
use crate::lists::{self, Difference};
use crate::projects::Project;
use crate::revisions::{self, Author, Change, Kind, Revision};
use crate::{Db, blobs, search, skills};
use mcpkg_base::error::{Error, Result};

const NAME: Unique = Unique::new("prompt", &["project_id", "name"]);

/// Adds a prompt. If a deleted prompt had the same name, this continues its id and history.
pub fn insert(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    ids: impl Into<Ids>,
    name: &str,
    attributes: Attributes,
    content: &str,
) -> Result<Prompt> {
    let Ids { uuid, indexed } = ids.into();
    let (blob, sha256) = blobs::put_hashed(db, content.as_bytes())?;
    let prompt = items::new(db, author, project, uuid, name, attributes, (blob, content.len() as u64, sha256))?;
    write(db, author, project, prompt, Change { action: "create", restored: None }, (content, indexed))
}

/// Writes a changed prompt, and adds a revision. An unchanged prompt gets no new revision. `content` is the text of
/// `prompt.blob`, or the new text.
///
/// # Errors
/// `E_ALREADY_EXISTS` if a new name is taken.
pub fn update(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut prompt: Prompt,
    action: &str,
    content: &str,
) -> Result<Prompt> {
    (prompt.blob, prompt.sha256) = blobs::put_hashed(db, content.as_bytes())?;
    prompt.size = i64::try_from(content.len()).unwrap_or(i64::MAX);
    write(db, author, project, prompt, Change { action, restored: None }, (content, None))
}

/// Deletes a prompt. Its revisions stay, and a new last revision records the deletion.
pub fn delete(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str) -> Result<Prompt> {
    items::delete(db, author, project, get(db, project, name)?)
}

/// Restores the state of `revision`. An existing prompt keeps its name; a deleted one gets `name`.
///
/// # Errors
/// `E_ALREADY_EXISTS` if another prompt has taken the name since the deletion.
pub fn restore(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str, revision: &Revision) -> Result<Prompt> {
    // Restoring a revision also repairs a damaged row.
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
    write(db, author, project, prompt, change, (text, None))
}

/// Inserts the prompt if `prompt.id` is 0, or else updates its row if anything differs. Adds the next revision, indexes the
/// words, and notes whether the project's list has changed. `prompt.revision` is the previous number. If `indexed` is a key,
/// the words of a new prompt are already indexed under it.
fn write(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut prompt: Prompt,
    change: Change<'_>,
    (content, indexed): (&str, Option<i64>),
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
        if NAME.is_violated_by(&error) { Kind::Prompt.name_taken(project, &prompt.name) } else { error }
    };
    let skill = skills::name(&prompt.name);
    let (listed_sum, row_sum) = row::sums(project.id, &prompt, arguments.as_deref());
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
        macro_rules! columns {
            () => {
                "uuid, project_id, name, description, template, arguments, front_matter, file, blob_id, revision, created_at,
                 updated_at, listed_sum, row_sum, dialect, skill"
            };
        }
        macro_rules! values {
            () => {
                "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16"
            };
        }
        let inserted = match indexed {
            None => {
                db.insert(sql!("INSERT INTO prompt (", columns!(), ") VALUES (", values!(), ") RETURNING id"), columns)
            }
            // Do not use RETURNING: SQLite would store the returned values in a temporary table, which is slow.
            Some(id) => db
                .run(
                    sql!("INSERT INTO prompt (", columns!(), ", id) VALUES (", values!(), ", ?17)"),
                    &[&columns[..], params![id]].concat(),
                )
                .map(|_| id),
        };
        inserted.map_err(taken)?
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
    items::keep_revision(db, author, project, &prompt, change)?;
    if indexed.is_none() {
        let description = prompt.attributes.description.as_deref();
        search::index(db, Kind::Prompt, prompt.id, project.id, &prompt.name, description, content)?;
    }
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
    // The times of a damaged row are unknown, so a restore always rewrites it.
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
