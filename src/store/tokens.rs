//! Confirm tokens: proof that a plan was shown. Only a token's SHA-256 is kept.

use super::Db;
use super::engine::{params, sql};
use crate::clock::Millis;
use crate::error::Result;

/// For how long a token that is past its time is still told from one that never was: a day.
const KEPT: Millis = 86_400_000;

/// A token's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What the plan was asked with, as JSON.
    pub inputs: String,
    /// The SHA-256 of the plan, in hex.
    pub plan_hash: String,
    /// When it was given.
    pub issued_at: Millis,
    /// From when on it is refused.
    pub expires_at: Millis,
    /// When it was used.
    pub consumed_at: Option<Millis>,
}

/// Keeps a token, and lets those go that ended long ago.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn insert(db: &Db<'_>, sha256: &[u8; 32], token: &Token) -> Result<()> {
    let ended = token.issued_at.saturating_sub(KEPT);
    db.run(sql!("DELETE FROM confirm_token WHERE expires_at < ?1"), params![ended])?;
    let sql = sql!(
        "INSERT INTO confirm_token (sha256, inputs, plan_hash, issued_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)"
    );
    db.run(sql, params![sha256, token.inputs, token.plan_hash, token.issued_at, token.expires_at])?;
    Ok(())
}

/// Returns a token's row.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn get(db: &Db<'_>, sha256: &[u8; 32]) -> Result<Option<Token>> {
    let sql = sql!("SELECT inputs, plan_hash, issued_at, expires_at, consumed_at FROM confirm_token WHERE sha256 = ?1");
    db.one(sql, params![sha256], |row| {
        Ok(Token {
            inputs: row.get(0)?,
            plan_hash: row.get(1)?,
            issued_at: row.get(2)?,
            expires_at: row.get(3)?,
            consumed_at: row.get(4)?,
        })
    })
}

/// Uses a token up.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn consume(db: &Db<'_>, sha256: &[u8; 32], now: Millis) -> Result<()> {
    db.run(sql!("UPDATE confirm_token SET consumed_at = ?2 WHERE sha256 = ?1"), params![sha256, now])?;
    Ok(())
}
