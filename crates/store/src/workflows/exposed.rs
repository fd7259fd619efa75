//! Workflows that are exposed to agents as tools.

use uuid::Uuid;

use crate::Db;
use crate::engine::{Row, params, sql};
use crate::projects::{Selection, resolved};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The exposure of a workflow as a tool, and the facts that were shown to the person who exposed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// The SHA-256 of the parsed text that was shown. It does not depend on formatting and comments.
    pub model_hash: [u8; 32],
    /// The strongest effect of the workflow's commands: `read`, `write` or `destroy`.
    pub effect: String,
    /// Whether any of the workflow's commands reaches other hosts.
    pub open_world: bool,
    pub exposed_at: Millis,
}

/// A workflow that is exposed as a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    pub name: String,
    pub blob: i64,
    pub sha256: [u8; 32],
    /// The SHA-256 of the workflow's current text after parsing. It does not depend on formatting and comments.
    pub model_hash: [u8; 32],
    pub exposure: Exposure,
}

/// The query for exposed workflows of the selected project; [`from_row`] reads its rows. More conditions can be
/// appended.
macro_rules! exposed {
    () => {
        concat!(
            "SELECT w.name, w.blob_id, b.sha256, w.model_hash, e.model_hash, e.effect, e.open_world, e.exposed_at
               FROM workflow_exposed e JOIN workflow w ON w.uuid = e.item AND w.project_id = e.project_id
                                       JOIN blob b ON b.id = w.blob_id
              WHERE e.project_id = ",
            resolved!()
        )
    };
}

/// Returns the first `limit` exposed workflows of the selected project after the name `after`, ordered by name.
pub fn list(db: &Db<'_>, selection: &Selection, after: &str, limit: usize) -> Result<Vec<Exposed>> {
    let sql = sql!(exposed!(), " AND w.name > ?3 ORDER BY w.name LIMIT ?4");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    db.all(sql, params![selection.named, selection.directory, after, limit], from_row)
}

/// Returns the exposed workflow with this name in the selected project, if there is one.
pub fn find(db: &Db<'_>, selection: &Selection, name: &str) -> Result<Option<Exposed>> {
    let sql = sql!(exposed!(), " AND w.name = ?3");
    db.one(sql, params![selection.named, selection.directory, name], from_row)
}

/// Exposes a workflow as a tool.
pub fn set(db: &Db<'_>, project: i64, item: Uuid, exposure: &Exposure) -> Result<()> {
    let sql = sql!(
        "INSERT INTO workflow_exposed (project_id, item, model_hash, effect, open_world, exposed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (project_id, item) DO UPDATE SET model_hash = excluded.model_hash, effect = excluded.effect,
                                                      open_world = excluded.open_world"
    );
    let Exposure { model_hash, effect, open_world, exposed_at } = exposure;
    db.run(sql, params![project, item, model_hash, effect, open_world, exposed_at]).map(drop)
}

/// Stops exposing a workflow. Returns whether it was exposed.
pub fn remove(db: &Db<'_>, project: i64, item: Uuid) -> Result<bool> {
    let sql = sql!("DELETE FROM workflow_exposed WHERE project_id = ?1 AND item = ?2");
    Ok(db.run(sql, params![project, item])? == 1)
}

fn from_row(row: &Row<'_>) -> Result<Exposed> {
    Ok(Exposed {
        name: row.get(0)?,
        blob: row.get(1)?,
        sha256: row.get(2)?,
        model_hash: row.get(3)?,
        exposure: Exposure {
            model_hash: row.get(4)?,
            effect: row.get(5)?,
            open_world: row.get(6)?,
            exposed_at: row.get(7)?,
        },
    })
}
