//! Permissions that a person gave to a tool in addition to what its sandbox allows. A row alone allows nothing: each
//! grant also needs a record outside of the database.

use crate::Db;
use crate::engine::{Row, damaged, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Allowed {
    Network,
    /// To read and write this folder of the host.
    Files(String),
    /// To run without a sandbox.
    Unsandboxed,
}

impl Allowed {
    /// Returns the permission's kind, as the database stores it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Files(_) => "files",
            Self::Unsandboxed => "unsandboxed",
        }
    }

    /// Returns the folder of the grant; empty if it has none.
    pub fn value(&self) -> &str {
        match self {
            Self::Network | Self::Unsandboxed => "",
            Self::Files(folder) => folder,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub tool: String,
    /// The identity that signed the tool; empty if the tool is unsigned.
    pub publisher: String,
    pub allowed: Allowed,
    pub granted_at: Millis,
}

pub fn insert(db: &Db<'_>, grant: &Grant) -> Result<()> {
    let sql = sql!(
        "INSERT INTO tool_grant (tool, publisher, kind, value, granted_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (tool, publisher, kind, value) DO NOTHING"
    );
    let Grant { tool, publisher, allowed, granted_at } = grant;
    db.run(sql, params![tool, publisher, allowed.word(), allowed.value(), granted_at]).map(drop)
}

/// Removes a grant. Returns whether it existed.
pub fn delete(db: &Db<'_>, grant: &Grant) -> Result<bool> {
    let sql = sql!("DELETE FROM tool_grant WHERE tool = ?1 AND publisher = ?2 AND kind = ?3 AND value = ?4");
    let Grant { tool, publisher, allowed, .. } = grant;
    Ok(db.run(sql, params![tool, publisher, allowed.word(), allowed.value()])? > 0)
}

/// Returns all grants, ordered by tool.
pub fn all(db: &Db<'_>) -> Result<Vec<Grant>> {
    let sql = sql!(
        "SELECT tool, publisher, kind, value, granted_at FROM tool_grant
          ORDER BY tool, publisher, kind, value"
    );
    db.all(sql, params![], from_row)
}

/// Returns the grants of a tool that apply if `publisher` published it.
pub fn of(db: &Db<'_>, tool: &str, publisher: &str) -> Result<Vec<Grant>> {
    let sql = sql!(
        "SELECT tool, publisher, kind, value, granted_at FROM tool_grant
          WHERE tool = ?1 AND publisher = ?2 ORDER BY kind, value"
    );
    db.all(sql, params![tool, publisher], from_row)
}

fn from_row(row: &Row<'_>) -> Result<Grant> {
    let allowed = match row.get(2)? {
        "network" => Allowed::Network,
        "files" => Allowed::Files(row.get(3)?),
        "unsandboxed" => Allowed::Unsandboxed,
        _ => return Err(damaged("a grant has an unknown kind")),
    };
    Ok(Grant { tool: row.get(0)?, publisher: row.get(1)?, allowed, granted_at: row.get(4)? })
}
