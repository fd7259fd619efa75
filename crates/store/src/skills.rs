//! Skills: resources below `skill://NAME/` that include a `SKILL.md`, and prompts that agents can use as skills.

use super::Db;
use super::engine::{params, sql};
use super::page::{Page, Slice};
use super::prompts::row::{prompt_columns, prompt_listed, prompt_summed};
use super::prompts::{self, Prompt};
use super::resources::row::{resource_columns, resource_listed, resource_summed};
use super::resources::{self, Resource};
use super::revisions::{self, Revision, revision_columns};
use mcpkg_base::error::Result;

pub use super::names::{MAX_SKILL_NAME as MAX_NAME, skill_name as name};

#[derive(Clone, Debug)]
pub struct File {
    pub resource: Resource,
    pub sha256: [u8; 32],
}

/// Returns a page of the names of skills with a stored `SKILL.md`, in the order of their URIs.
pub fn names(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<String>> {
    // `skill://NAME/SKILL.md` has 8 bytes before the name and 9 after it.
    let sql = sql!(
        "SELECT substr(uri, 9, length(uri) - 17) FROM resource
          WHERE project_id = ?1 AND uri > ?2 AND uri < 'skill:/0' AND substr(uri, length(uri) - 8) = '/SKILL.md'
            AND length(uri) > 17 AND uri NOT LIKE 'skill://%/%/SKILL.md'
          ORDER BY uri LIMIT ?3"
    );
    let after = if page.after.is_empty() { "skill://".to_owned() } else { format!("skill://{}/SKILL.md", page.after) };
    Ok(page.slice(db.all(sql, params![project, after, page.fetch()], |row| row.get(0))?))
}

/// Returns the files below `skill://NAME/`, ordered by URI.
pub fn files(db: &Db<'_>, project: i64, name: &str) -> Result<Vec<File>> {
    let sql = sql!(resource_columns!(), " WHERE r.project_id = ?1 AND r.uri > ?2 AND r.uri < ?3 ORDER BY r.uri");
    let (from, to) = (format!("skill://{name}/"), format!("skill://{name}0"));
    db.all(sql, params![project, from, to], |row| {
        Ok(File { resource: resources::from_row(row)?, sha256: row.get(resources::row::SHA256)? })
    })
}

/// Returns the revisions that deleted the skill `name`: one for its `SKILL.md`, and one for each file that was deleted
/// at the same time. Empty if the skill has a `SKILL.md`, or never had one.
pub fn deleted(db: &Db<'_>, project: i64, name: &str) -> Result<Vec<Revision>> {
    let sql = sql!(
        revision_columns!(),
        " WHERE v.project_id = ?1 AND v.kind = 'resource' AND v.action = 'delete' AND v.attributes LIKE ?2
            AND NOT EXISTS (SELECT 1 FROM resource WHERE resource.uuid = v.item)
            AND v.number = (SELECT max(of.number) FROM revision of WHERE of.item = v.item)
          ORDER BY v.at, v.name"
    );
    let folder = format!("skill://{name}/");
    let mut all = Vec::new();
    db.each(sql, params![project, format!("%\"{folder}%")], |row| {
        let revision = revisions::from_row(row)?;
        let uri = resources::attributes(&revision.attributes)?.uri;
        if uri.starts_with(&folder) {
            all.push((uri, revision));
        }
        Ok(())
    })?;
    let main = format!("{folder}SKILL.md");
    let Some(at) = all.iter().filter(|(uri, _)| *uri == main).map(|(_, main)| main.at).next_back() else {
        return Ok(Vec::new());
    };
    Ok(all.into_iter().map(|(_, revision)| revision).filter(|revision| revision.at == at).collect())
}

/// Selects a prompt that is preferred over prompt `p` for the same skill. The prompt with exactly the skill's name is
/// preferred, or else the first by name.
macro_rules! better {
    () => {
        "SELECT better.name FROM prompt better INDEXED BY prompt_skill
          WHERE better.project_id = ?1 AND better.skill = p.skill AND better.id <> p.id
            AND (better.name = p.skill OR (better.name < p.name AND p.name <> p.skill))"
    };
}

/// Selects the stored `SKILL.md` that takes precedence over prompt `p`.
macro_rules! stored {
    () => {
        "SELECT resource.name FROM resource
          WHERE resource.project_id = ?1 AND uri = 'skill://' || p.skill || '/SKILL.md'"
    };
}

/// Returns a page of the prompts that represent a skill, ordered by name. Prompts are excluded if a stored `SKILL.md` or a
/// preferred prompt has the same skill name.
pub fn prompts(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Prompt>> {
    let sql = sql!(
        prompt_columns!(),
        " WHERE p.project_id = ?1 AND p.name > ?2 AND NOT EXISTS (",
        stored!(),
        ") AND NOT EXISTS (",
        better!(),
        ") ORDER BY p.name LIMIT ?3"
    );
    Ok(page.slice(db.all(sql, params![project, page.after, page.fetch()], prompts::from_row)?))
}

/// Returns the prompt that represents the skill `name`, if there is one.
pub fn prompt(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Prompt>> {
    let sql =
        sql!(prompt_columns!(), " WHERE p.project_id = ?1 AND p.skill = ?2 ORDER BY p.name <> ?2, p.name LIMIT 1");
    db.one(sql, params![project, name], prompts::from_row)
}

/// A prompt that agents cannot find as a skill, because another item has its skill name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    pub prompt: String,
    /// The skill name that the prompt would have.
    pub skill: String,
    /// The prompt that has the skill name; `None` for a stored skill.
    pub by: Option<String>,
}

/// Returns the prompts whose skill name belongs to a stored skill or to a preferred prompt, ordered by name. Leaves out
/// prompts with exactly the name of a stored skill, because that skill replaces them.
pub fn hidden(db: &Db<'_>, project: i64) -> Result<Vec<Hidden>> {
    let sql = sql!(
        "SELECT p.name, p.skill, (",
        better!(),
        " ORDER BY better.name <> p.skill, better.name LIMIT 1) FROM prompt p
           WHERE p.project_id = ?1 AND p.name <> p.skill AND (EXISTS (",
        stored!(),
        ") OR EXISTS (",
        better!(),
        ")) ORDER BY p.name"
    );
    db.all(sql, params![project], |row| Ok(Hidden { prompt: row.get(0)?, skill: row.get(1)?, by: row.get(2)? }))
}
