//! Files that only one agent understands, such as hooks, permissions, ignore files, plugin manifests and settings.

use serde::{Deserialize, Serialize};

use super::blobs::NewContent;
use super::engine::{Row, params, sql};
use super::projects::Project;
use super::{Db, blobs, revisions};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Programs that the agent runs by itself: hooks, their scripts, and code that it loads.
    Hook,
    /// Permissions: what the agent may do without asking.
    Permission,
    /// Ignore files: the files that the agent must not read.
    Ignore,
    /// The manifest of a plugin or of a marketplace.
    Plugin,
    Settings,
    /// MCP servers, with references instead of secret values.
    Servers,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Hook, Self::Permission, Self::Ignore, Self::Plugin, Self::Settings, Self::Servers];

    /// Returns the word that the database stores for this kind.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Permission => "permission",
            Self::Ignore => "ignore",
            Self::Plugin => "plugin",
            Self::Settings => "settings",
            Self::Servers => "servers",
        }
    }
}

/// The row of a stored agent file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFile {
    pub id: i64,
    /// The path relative to the import root; unique in its project.
    pub path: String,
    pub kind: Kind,
    pub agent: String,
    /// Whether the imported file was executable.
    pub executable: bool,
    pub blob: i64,
    pub size: i64,
    pub revision: i64,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// A file to store.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// The path relative to the import root.
    pub path: &'a str,
    pub kind: Kind,
    pub agent: &'a str,
    /// Whether the imported file was executable.
    pub executable: bool,
}

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! columns {
    () => {
        "SELECT f.id, f.path, f.kind, f.agent, f.executable, f.blob_id, b.size, f.revision, f.created_at, f.updated_at
           FROM agent_file f JOIN blob b ON b.id = f.blob_id"
    };
}

/// Returns a project's agent files, ordered by path.
pub fn all(db: &Db<'_>, project: i64) -> Result<Vec<AgentFile>> {
    db.all(sql!(columns!(), " WHERE f.project_id = ?1 ORDER BY f.path"), params![project], from_row)
}

/// Returns the agent file at a path, if there is one.
pub fn find(db: &Db<'_>, project: i64, path: &str) -> Result<Option<AgentFile>> {
    db.one(sql!(columns!(), " WHERE f.project_id = ?1 AND f.path = ?2"), params![project, path], from_row)
}

/// Returns the agent file at a path.
///
/// # Errors
/// `E_NOT_FOUND`, with the path that was probably meant.
pub fn get(db: &Db<'_>, project: &Project, path: &str) -> Result<AgentFile> {
    if let Some(found) = find(db, project.id, path)? {
        return Ok(found);
    }
    let paths: Vec<String> = all(db, project.id)?.into_iter().map(|file| file.path).collect();
    let error = Error::new(Code::NotFound, format!("Project '{}' has no agent file `{path}`", project.name))
        .with_details(serde_json::json!({ "path": path }));
    Err(error.suggest(path, paths.iter().map(String::as_str), "`mcpkg agent-file list` lists the stored files"))
}

/// Stores a file, replacing the one at its path. An unchanged file is not written.
pub fn put(db: &Db<'_>, project: i64, new: New<'_>, content: &NewContent, now: Millis) -> Result<()> {
    let before = find(db, project, new.path)?;
    let blob = blobs::put_source(db, content)?;
    let New { path, kind, agent, executable } = new;
    let is_same = |file: &AgentFile| {
        file.blob == blob && file.kind == kind && file.agent == agent && file.executable == executable
    };
    if before.as_ref().is_some_and(is_same) {
        return Ok(());
    }
    let was = before.as_ref().map(|file| file.revision.to_string()).unwrap_or_default();
    let revision = before.map_or(Ok(1), |file| revisions::next(file.revision))?;
    db.note("agent-file", path, was, revision);
    let sql = sql!(
        "INSERT INTO agent_file (project_id, path, kind, agent, executable, blob_id, revision, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
         ON CONFLICT (project_id, path) DO UPDATE SET kind = excluded.kind, agent = excluded.agent,
                                                      executable = excluded.executable, blob_id = excluded.blob_id,
                                                      revision = excluded.revision, updated_at = excluded.updated_at"
    );
    db.run(sql, params![project, path, kind.word(), agent, executable, blob, revision, now])?;
    Ok(())
}

pub fn delete(db: &Db<'_>, project: &Project, path: &str) -> Result<AgentFile> {
    let file = get(db, project, path)?;
    db.run(sql!("DELETE FROM agent_file WHERE id = ?1"), params![file.id])?;
    db.note("agent-file", path, file.revision, "");
    blobs::sweep(db)?;
    Ok(file)
}

fn from_row(row: &Row<'_>) -> Result<AgentFile> {
    let word: &str = row.get(2)?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word);
    let damaged = || Error::new(Code::Damaged, "The database row for an agent file is damaged");
    Ok(AgentFile {
        id: row.get(0)?,
        path: row.get(1)?,
        kind: kind.ok_or_else(damaged)?,
        agent: row.get(3)?,
        executable: row.get(4)?,
        blob: row.get(5)?,
        size: row.get(6)?,
        revision: row.get(7)?,
        created_at: row.get(8)?,
        updated_at: row.get(9)?,
    })
}
