//! Attestations: signed claims about archives. They are checked only when they are used.

use super::trust;
use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_base::sha256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attestation {
    /// The SHA-256 of `bundle`.
    pub sha256: [u8; 32],
    /// The attestation's text. It should be JSON, but this is not checked here.
    pub bundle: String,
    /// The name of the access key that posted the attestation.
    pub poster: Option<String>,
    pub added_at: Millis,
}

/// Adds an attestation of the archive with this SHA-256. Returns whether it is new.
pub fn insert(db: &Db<'_>, package: &[u8; 32], bundle: &str, poster: Option<&str>, now: Millis) -> Result<bool> {
    let sha256: [u8; 32] = sha256::of(bundle);
    let sql = sql!(
        "INSERT INTO tool_attestation (package_sha256, sha256, bundle, poster, added_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (package_sha256, sha256) DO NOTHING"
    );
    let added = db.run(sql, params![package, sha256, bundle, poster, now])? == 1;
    if added {
        trust::raise_epoch(db)?;
    }
    Ok(added)
}

/// Returns the attestations of an archive, in the order in which they arrived.
pub fn of(db: &Db<'_>, package: &[u8; 32]) -> Result<Vec<Attestation>> {
    first(db, package, i64::MAX)
}

/// Returns the first `most` attestations of an archive, in the order in which they arrived.
pub fn first(db: &Db<'_>, package: &[u8; 32], most: i64) -> Result<Vec<Attestation>> {
    let sql = sql!(
        "SELECT sha256, bundle, poster, added_at FROM tool_attestation WHERE package_sha256 = ?1 ORDER BY id LIMIT ?2"
    );
    db.all(sql, params![package, most], |row| {
        Ok(Attestation { sha256: row.get(0)?, bundle: row.get(1)?, poster: row.get(2)?, added_at: row.get(3)? })
    })
}

/// Removes an attestation of an archive. `sha256` is that of the attestation's bytes.
pub fn remove(db: &Db<'_>, package: &[u8; 32], sha256: &[u8; 32]) -> Result<()> {
    let sql = sql!("DELETE FROM tool_attestation WHERE package_sha256 = ?1 AND sha256 = ?2");
    db.run(sql, params![package, sha256])?;
    trust::raise_epoch(db)
}

/// An archive that is a version of a tool in some registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    pub registry: String,
    pub version: String,
    pub sha256: [u8; 32],
    /// Whether the archive itself is stored.
    pub kept: bool,
}

/// Returns the known archives of a tool: first those of this database's own registry, then those of other registries,
/// ordered by registry.
pub fn archives(db: &Db<'_>, name: &str) -> Result<Vec<Archive>> {
    let sql = sql!(
        "SELECT registry, version, sha256, blob_id IS NOT NULL FROM tool_package WHERE name = ?1
          ORDER BY CASE registry WHEN 'local' THEN 0 ELSE 1 END, registry, version"
    );
    db.all(sql, params![name], |row| {
        Ok(Archive { registry: row.get(0)?, version: row.get(1)?, sha256: row.get(2)?, kept: row.get(3)? })
    })
}

/// Returns the names of the tools with known archives, in order.
pub fn names(db: &Db<'_>) -> Result<Vec<String>> {
    db.all(sql!("SELECT DISTINCT name FROM tool_package ORDER BY name"), params![], |row| row.get(0))
}
