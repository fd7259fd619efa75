//! The settings of a project's modules, which are the items that a deploy writes. A module without a row has default
//! settings, which follow from its prompt or resources.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::engine::{self, params, sql};
use super::{Db, agent_files, servers};
use mcpkg_base::error::Result;
use mcpkg_base::sha256;

/// The condition under which an agent loads instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applies {
    #[default]
    Always,
    /// For files that match one of these patterns.
    Globs(Vec<String>),
    /// When the agent finds that the description matches its task.
    Described,
    /// When the user asks for them by name.
    Manual,
}

/// The settings of a module. The row stays when its prompt or resources are deleted, so that the settings come back
/// with them. A row alone does not make a module: modules are listed from the prompts and resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// `prompt:<uuid>`, `resource:<uuid>` or `skill:<name>`.
    pub item: String,
    /// The type of module, if it is not the default for the item.
    pub kind: Option<String>,
    pub tags: Vec<String>,
    /// The targets to deploy the module to; empty means all of them.
    pub targets: Vec<String>,
    /// Whether the module is deployed.
    pub enabled: bool,
    pub applies: Applies,
    /// The agent whose format the imported file had; `None` if it was not in an agent's folder.
    pub agent: Option<String>,
    /// The path of the imported file relative to the import, with `/` as separator.
    pub path: Option<String>,
}

macro_rules! module {
    () => {
        "SELECT item, type, tags, targets, enabled, applies, agent, path FROM module WHERE project_id = ?1"
    };
}

/// Returns a project's rows, ordered by item.
pub fn all(db: &Db<'_>, project: i64) -> Result<Vec<Row>> {
    db.all(sql!(module!(), " ORDER BY item"), params![project], from_row)
}

pub fn get(db: &Db<'_>, project: i64, item: &str) -> Result<Option<Row>> {
    db.one(sql!(module!(), " AND item = ?2"), params![project, item], from_row)
}

fn from_row(row: &engine::Row<'_>) -> Result<Row> {
    let applies: Option<&str> = row.get(5)?;
    Ok(Row {
        item: row.get(0)?,
        kind: row.get(1)?,
        tags: parsed(row.get(2)?)?,
        targets: parsed(row.get(3)?)?,
        enabled: row.get(4)?,
        applies: applies.map(parsed).transpose()?.unwrap_or_default(),
        agent: row.get(6)?,
        path: row.get(7)?,
    })
}

fn parsed<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json)
        .map_err(|error| super::blobs::damaged_value("a module's row is malformed").with_source(error))
}

/// Stores a row, replacing any other for the same item.
pub fn put(db: &Db<'_>, project: i64, row: &Row) -> Result<()> {
    let list = |list: &[String]| serde_json::Value::from(list.to_vec()).to_string();
    let applies = match row.applies {
        Applies::Always => None,
        _ => Some(super::items::json(&row.applies)?),
    };
    db.run(
        sql!(
            "INSERT INTO module (project_id, item, type, tags, targets, enabled, applies, agent, path)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (project_id, item) DO UPDATE SET type = excluded.type, tags = excluded.tags,
                                                          targets = excluded.targets, enabled = excluded.enabled,
                                                          applies = excluded.applies, agent = excluded.agent,
                                                          path = excluded.path"
        ),
        params![
            project,
            row.item,
            row.kind,
            list(&row.tags),
            list(&row.targets),
            row.enabled,
            applies,
            row.agent,
            row.path
        ],
    )?;
    Ok(())
}

/// Removes the row of an item. Returns whether there was one.
pub fn delete(db: &Db<'_>, project: i64, item: &str) -> Result<bool> {
    Ok(db.run(sql!("DELETE FROM module WHERE project_id = ?1 AND item = ?2"), params![project, item])? > 0)
}

/// Returns a SHA-256 that changes whenever a project's modules do. It covers the rows of this table, and the
/// revisions of all prompts, MCP servers and agent files. It also covers the revisions of resources that have a row
/// here, or a URI that begins with `skill://`, `instructions://` or `subagent://`. No content is read.
pub fn fingerprint(db: &Db<'_>, project: i64) -> Result<[u8; 32]> {
    let rows = all(db, project)?;
    let mut items: Vec<(Uuid, i64)> = db.all(
        sql!(
            "SELECT uuid, revision FROM prompt WHERE project_id = ?1
              UNION ALL SELECT uuid, revision FROM resource WHERE project_id = ?1 AND uri >= 'skill://' AND uri < 'skill:/0'
              UNION ALL SELECT uuid, revision FROM resource
                         WHERE project_id = ?1 AND uri >= 'instructions://' AND uri < 'instructions:/0'
              UNION ALL SELECT uuid, revision FROM resource
                         WHERE project_id = ?1 AND uri >= 'subagent://' AND uri < 'subagent:/0'"
        ),
        params![project],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let with_a_row = rows.iter().filter_map(|row| Uuid::parse_str(row.item.strip_prefix("resource:")?).ok());
    for uuid in with_a_row {
        let sql = sql!("SELECT revision FROM resource WHERE uuid = ?1");
        items.extend(db.one(sql, params![uuid], |row| Ok((uuid, row.get(0)?)))?);
    }
    items.extend(servers::fingerprint(db, project)?);
    items.sort_unstable();
    let mut hash = sha256::Hasher::new();
    for (uuid, revision) in items {
        hash.update(uuid.as_bytes());
        hash.update(revision.to_le_bytes());
    }
    for row in rows {
        let Row { item, kind, tags, targets, enabled, applies, agent, path } = row;
        let row = serde_json::json!([item, kind, tags, targets, enabled, applies, agent, path]);
        hash.update(row.to_string());
    }
    for file in agent_files::all(db, project)? {
        hash.update(serde_json::json!(["agent_file", file.id, file.path, file.revision]).to_string());
    }
    Ok(hash.finish())
}
