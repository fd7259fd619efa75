//! The kinds of items, and the errors that name an item.

use crate::Db;
use crate::engine::{params, sql};
use crate::projects::Project;
use mcpkg_base::error::{Code, Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Prompt,
    Resource,
}

impl Kind {
    /// Returns the word for programs: `prompt` or `resource`.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Prompt => "prompt",
            Kind::Resource => "resource",
        }
    }

    /// Returns the kind with this word.
    pub fn named(word: &str) -> Option<Self> {
        [Kind::Prompt, Kind::Resource].into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the word with a capital letter, to begin a sentence.
    pub const fn title(self) -> &'static str {
        match self {
            Kind::Prompt => "Prompt",
            Kind::Resource => "Resource",
        }
    }

    /// Returns the error for a name or URI that the project does not have. A hint names a similar one, if there is one.
    pub fn missing(self, db: &Db<'_>, project: &Project, name: &str) -> Error {
        let error = Error::new(
            Code::NotFound,
            format!("{} '{name}' does not exist in project '{}'", self.title(), project.name),
        )
        .with_details(serde_json::json!({ "name": name }));
        // Ignore errors here: they only concern the hint.
        if self == Kind::Resource
            && let Ok(Some(own)) = named_by(db, project.id, name)
        {
            return error.hint(format!("this is the URI of the resource '{own}'"));
        }
        let names = self.names(db, project.id, name).unwrap_or_default();
        error.suggest(name, names.iter().map(String::as_str), "")
    }

    /// Returns the names of a project's items, or their URIs if `name` is a URI.
    fn names(self, db: &Db<'_>, project: i64, name: &str) -> Result<Vec<String>> {
        let sql = match self {
            Kind::Prompt => sql!("SELECT name FROM prompt WHERE project_id = ?1 ORDER BY name LIMIT 1000"),
            Kind::Resource if name.contains(':') => {
                sql!("SELECT uri FROM resource WHERE project_id = ?1 ORDER BY uri LIMIT 1000")
            }
            Kind::Resource => sql!("SELECT name FROM resource WHERE project_id = ?1 ORDER BY name LIMIT 1000"),
        };
        db.all(sql, params![project], |row| row.get(0))
    }

    /// Returns the error for a damaged item.
    pub(crate) fn damaged(self, name: &str) -> Error {
        Error::new(Code::Damaged, format!("{} '{name}' is damaged: its row does not match its checksum", self.title()))
            .with_details(serde_json::json!({ "name": name }))
            .hint(format!(
                "the damaged content was not served; `mcpkg {0} history {name}` lists earlier revisions, and \
                    `mcpkg {0} restore` restores one",
                self.word()
            ))
    }

    pub fn name_taken(self, project: &Project, name: &str) -> Error {
        Error::new(
            Code::AlreadyExists,
            format!("{} '{name}' already exists in project '{}'", self.title(), project.name),
        )
        .with_details(serde_json::json!({ "name": name }))
    }
}

/// Returns the name of the resource with this URI, if there is one.
fn named_by(db: &Db<'_>, project: i64, uri: &str) -> Result<Option<String>> {
    let sql = sql!("SELECT name FROM resource WHERE project_id = ?1 AND uri = ?2");
    db.one(sql, params![project, uri], |row| row.get(0))
}
