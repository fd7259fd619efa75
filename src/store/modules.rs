//! What a project says about its modules; one without a row is as its prompt or resources make it.

use rusqlite::params;
use sha2::{Digest, Sha256};

use super::Db;
use crate::error::Result;

/// A module's row. It stays when its prompt or resources are deleted, so that a restore brings it back as it was;
/// whoever lists modules begins with those.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// `prompt:<uuid>`, `resource:<uuid>` or `skill:<name>`.
    pub item: String,
    /// Its type, where that is not what the item is by default.
    pub kind: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The targets it is for; all of them where there is none.
    pub targets: Vec<String>,
    /// Whether it is deployed.
    pub enabled: bool,
}

/// Returns a project's rows by item.
///
/// # Errors
/// How the disk failed.
pub fn all(db: &Db<'_>, project: i64) -> Result<Vec<Row>> {
    let mut statement = db
        .connection
        .prepare_cached("SELECT item, type, tags, targets, enabled FROM module WHERE project_id = ?1 ORDER BY item")?;
    let mut rows = statement.query([project])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let list = |column: usize| -> Result<Vec<String>> {
            serde_json::from_str(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
                .map_err(|error| super::blobs::damaged_value("a module's row is malformed").with_source(error))
        };
        found.push(Row {
            item: row.get(0)?,
            kind: row.get(1)?,
            tags: list(2)?,
            targets: list(3)?,
            enabled: row.get(4)?,
        });
    }
    Ok(found)
}

/// Writes a row, over the one that the item has.
///
/// # Errors
/// How the disk failed.
pub fn put(db: &Db<'_>, project: i64, row: &Row) -> Result<()> {
    let json = |list: &[String]| serde_json::Value::from(list.to_vec()).to_string();
    db.connection
        .prepare_cached(
            "INSERT INTO module (project_id, item, type, tags, targets, enabled) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (project_id, item) DO UPDATE SET type = excluded.type, tags = excluded.tags,
                                                          targets = excluded.targets, enabled = excluded.enabled",
        )?
        .execute(params![project, row.item, row.kind, json(&row.tags), json(&row.targets), row.enabled])?;
    Ok(())
}

/// Removes the row of an item; returns whether there was one.
///
/// # Errors
/// How the disk failed.
pub fn delete(db: &Db<'_>, project: i64, item: &str) -> Result<bool> {
    let mut statement = db.connection.prepare_cached("DELETE FROM module WHERE project_id = ?1 AND item = ?2")?;
    Ok(statement.execute(params![project, item])? > 0)
}

/// Returns the SHA-256 of all that a project's modules are made of: the revision of each prompt, of each resource below
/// `skill://` and `instructions://` or with a row, and the rows. No content is read.
///
/// # Errors
/// How the disk failed.
pub fn fingerprint(db: &Db<'_>, project: i64) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut statement = db.connection.prepare_cached(
        "SELECT uuid, revision FROM prompt WHERE project_id = ?1
          UNION ALL SELECT uuid, revision FROM resource WHERE project_id = ?1 AND uri >= 'skill://' AND uri < 'skill:/0'
          UNION ALL SELECT uuid, revision FROM resource
                     WHERE project_id = ?1 AND uri >= 'instructions://' AND uri < 'instructions:/0'
          UNION ALL SELECT uuid, revision FROM module CROSS JOIN resource
                     WHERE module.project_id = ?1 AND item >= 'resource:' AND item < 'resource;'
                       AND uuid = unhex(substr(item, 10), '-')
          ORDER BY 1",
    )?;
    let mut rows = statement.query([project])?;
    while let Some(row) = rows.next()? {
        hash.update(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
        hash.update(row.get::<_, i64>(1)?.to_le_bytes());
    }
    for row in all(db, project)? {
        let row = serde_json::json!([row.item, row.kind, row.tags, row.targets, row.enabled]);
        hash.update(row.to_string());
    }
    Ok(hash.finalize().into())
}
