//! Trusted signers, the trust policy, and approved archives. A row alone is not trusted: it also needs a record outside
//! of the database.

use crate::Db;
use crate::engine::{Row, damaged, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The key of the setting with the policy.
const POLICY: &str = "trust.policy";

/// The key of the setting that says how many trusted identities must attest an archive.
const MINIMUM: &str = "trust.minimum";

/// The key of the setting with the number that [`epoch`] returns.
const EPOCH: &str = "trust.epoch";

/// The role in which an identity is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustedPart {
    Publisher,
    Auditor,
    #[default]
    Both,
}

impl TrustedPart {
    /// Returns the role's name, as it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Publisher => "publisher",
            Self::Auditor => "auditor",
            Self::Both => "both",
        }
    }

    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Publisher, Self::Auditor, Self::Both].into_iter().find(|part| part.word() == word)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedRow {
    /// The identity in its text form.
    pub identity: String,
    /// The user's name for the identity.
    pub label: Option<String>,
    pub pattern: String,
    pub part: TrustedPart,
    pub added_at: Millis,
}

/// A person's approval of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub name: String,
    pub version: String,
    pub sha256: [u8; 32],
}

/// Adds an identity, or changes the label of an existing one.
pub fn add(db: &Db<'_>, row: &TrustedRow) -> Result<()> {
    let TrustedRow { identity, label, pattern, part, added_at } = row;
    let sql = sql!(
        "INSERT INTO trusted_identity (identity, label, pattern, part, added_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (identity, pattern, part) DO UPDATE SET label = excluded.label"
    );
    db.run(sql, params![identity, label, pattern, part.word(), added_at])?;
    raise_epoch(db)
}

/// Removes an identity. Returns whether it was there.
pub fn remove(db: &Db<'_>, row: &TrustedRow) -> Result<bool> {
    let sql = sql!("DELETE FROM trusted_identity WHERE identity = ?1 AND pattern = ?2 AND part = ?3");
    let removed = db.run(sql, params![row.identity, row.pattern, row.part.word()])? == 1;
    raise_epoch(db)?;
    Ok(removed)
}

/// Returns all trusted identities, ordered by identity and pattern.
pub fn list(db: &Db<'_>) -> Result<Vec<TrustedRow>> {
    let sql =
        sql!("SELECT identity, label, pattern, part, added_at FROM trusted_identity ORDER BY identity, pattern, part");
    db.all(sql, params![], from_row)
}

/// Returns the name of the policy, if one was set.
pub fn policy(db: &Db<'_>) -> Result<Option<String>> {
    setting(db, POLICY)
}

pub fn set_policy(db: &Db<'_>, word: &str) -> Result<()> {
    set(db, POLICY, word)?;
    raise_epoch(db)
}

/// Returns how many trusted identities are required, if that was set.
///
/// # Errors
/// `E_DB_CORRUPT` if the value is not a number, or is 0.
pub fn minimum(db: &Db<'_>) -> Result<Option<u32>> {
    let Some(text) = setting(db, MINIMUM)? else { return Ok(None) };
    match text.parse() {
        Ok(number) if number >= 1 => Ok(Some(number)),
        _ => Err(damaged("the required number of attestations is not a number")),
    }
}

/// Sets how many trusted identities are required.
pub fn set_minimum(db: &Db<'_>, number: u32) -> Result<()> {
    set(db, MINIMUM, &number.to_string())?;
    raise_epoch(db)
}

/// Stores any text as the required number of trusted identities, for tests of damaged settings.
pub fn set_minimum_text(db: &Db<'_>, text: &str) -> Result<()> {
    set(db, MINIMUM, text)
}

/// Returns a number that rises with each change that may affect which tools are trusted, such as a new attestation.
pub fn epoch(db: &Db<'_>) -> Result<i64> {
    let sql = sql!("SELECT CAST(value AS BIGINT) FROM setting WHERE key = ?1");
    Ok(db.one(sql, params![EPOCH], |row| row.get(0))?.unwrap_or(0))
}

/// Notes a change that may affect which tools are trusted.
pub fn raise_epoch(db: &Db<'_>) -> Result<()> {
    let sql = sql!(
        "INSERT INTO setting (key, value) VALUES (?1, '1')
         ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(setting.value AS BIGINT) + 1 AS TEXT)"
    );
    db.run(sql, params![EPOCH]).map(drop)
}

/// Stores a person's approval of an archive.
pub fn approve(db: &Db<'_>, approval: &Approval) -> Result<()> {
    raise_epoch(db)?;
    let sql = sql!(
        "INSERT INTO tool_verdict (package_sha256, name, version, epoch, verdict) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (package_sha256, name, version) DO UPDATE SET epoch = excluded.epoch, verdict = excluded.verdict"
    );
    let Approval { name, version, sha256 } = approval;
    db.run(sql, params![sha256, name, version, epoch(db)?, r#"{"status":"approved"}"#]).map(drop)
}

/// Withdraws a person's approval of an archive. Returns whether there was one.
pub fn withdraw(db: &Db<'_>, approval: &Approval) -> Result<bool> {
    let Approval { name, version, sha256 } = approval;
    let sql = sql!("DELETE FROM tool_verdict WHERE package_sha256 = ?1 AND name = ?2 AND version = ?3");
    let withdrawn = db.run(sql, params![sha256, name, version])? == 1;
    raise_epoch(db)?;
    Ok(withdrawn)
}

/// Whether a row says that a person approved an archive.
pub fn is_approved(db: &Db<'_>, approval: &Approval) -> Result<bool> {
    let Approval { name, version, sha256 } = approval;
    let sql = sql!("SELECT 1 FROM tool_verdict WHERE package_sha256 = ?1 AND name = ?2 AND version = ?3");
    Ok(db.one(sql, params![sha256, name, version], |_| Ok(()))?.is_some())
}

/// Returns the approved archives, ordered by name and version.
pub fn approvals(db: &Db<'_>) -> Result<Vec<Approval>> {
    let sql = sql!("SELECT name, version, package_sha256 FROM tool_verdict ORDER BY name, version, package_sha256");
    db.all(sql, params![], |row| Ok(Approval { name: row.get(0)?, version: row.get(1)?, sha256: row.get(2)? }))
}

fn setting(db: &Db<'_>, key: &str) -> Result<Option<String>> {
    db.one(sql!("SELECT value FROM setting WHERE key = ?1"), params![key], |row| row.get(0))
}

fn set(db: &Db<'_>, key: &str, value: &str) -> Result<()> {
    let sql =
        sql!("INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    db.run(sql, params![key, value]).map(drop)
}

fn from_row(row: &Row<'_>) -> Result<TrustedRow> {
    let part: &str = row.get(3)?;
    Ok(TrustedRow {
        identity: row.get(0)?,
        label: row.get(1)?,
        pattern: row.get(2)?,
        part: TrustedPart::of_word(part).ok_or_else(|| damaged("a trusted identity has an unknown part"))?,
        added_at: row.get(4)?,
    })
}
