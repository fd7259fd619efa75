//! Results of building archives. A row alone is never run: valid results also have a record outside of the database.

use crate::engine::{Row, params, sql};
use crate::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// The SHA-256 of the archive that was built.
    pub package: [u8; 32],
    /// The runner that built the archive. Another runner or image may yield another result.
    pub runner: String,
    /// The SHA-256 of the result, which is an archive.
    pub sha256: [u8; 32],
    /// The key of the result.
    pub blob: i64,
    pub built_at: Millis,
}

/// Stores the result of a build, replacing the previous one.
pub fn keep(db: &Db<'_>, build: &Build) -> Result<()> {
    let before = get(db, &build.package, &build.runner)?;
    let sql = sql!(
        "INSERT INTO tool_build (package_sha256, runner, sha256, blob_id, built_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (package_sha256, runner)
         DO UPDATE SET sha256 = excluded.sha256, blob_id = excluded.blob_id, built_at = excluded.built_at"
    );
    let Build { package, runner, sha256, blob, built_at } = build;
    db.run(sql, params![package, runner, sha256, blob, built_at])?;
    match before {
        Some(before) if before.blob != *blob => blobs::take_back(db, before.blob),
        _ => Ok(()),
    }
}

/// Returns the result of building an archive with a runner, if there is one.
pub fn get(db: &Db<'_>, package: &[u8; 32], runner: &str) -> Result<Option<Build>> {
    let sql = sql!(
        "SELECT package_sha256, runner, sha256, blob_id, built_at FROM tool_build
          WHERE package_sha256 = ?1 AND runner = ?2"
    );
    db.one(sql, params![package, runner], from_row)
}

/// Returns the results of builds of archives that are not installed.
pub fn unused(db: &Db<'_>) -> Result<Vec<Build>> {
    let sql = sql!(
        "SELECT package_sha256, runner, sha256, blob_id, built_at FROM tool_build
          WHERE NOT EXISTS (SELECT 1 FROM tool_package AS p JOIN tool_install AS i ON i.package_id = p.id
                             WHERE p.sha256 = tool_build.package_sha256)
          ORDER BY package_sha256, runner"
    );
    db.all(sql, params![], from_row)
}

/// Deletes the result of a build. The archive is built again when the result is needed.
pub fn delete(db: &Db<'_>, build: &Build) -> Result<()> {
    let sql = sql!("DELETE FROM tool_build WHERE package_sha256 = ?1 AND runner = ?2");
    db.run(sql, params![build.package, build.runner])?;
    blobs::take_back(db, build.blob)
}

fn from_row(row: &Row<'_>) -> Result<Build> {
    Ok(Build {
        package: row.get(0)?,
        runner: row.get(1)?,
        sha256: row.get(2)?,
        blob: row.get(3)?,
        built_at: row.get(4)?,
    })
}
