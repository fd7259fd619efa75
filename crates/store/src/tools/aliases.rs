//! Short names that the shell accepts instead of a tool's name.

use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::error::Result;

pub fn get(db: &Db<'_>, alias: &str) -> Result<Option<String>> {
    db.one(sql!("SELECT tool FROM tool_alias WHERE alias = ?1"), params![alias], |row| row.get(0))
}

/// Returns all aliases with their tools, in order.
pub fn all(db: &Db<'_>) -> Result<Vec<(String, String)>> {
    db.all(sql!("SELECT alias, tool FROM tool_alias ORDER BY alias"), params![], |row| Ok((row.get(0)?, row.get(1)?)))
}

pub fn set(db: &Db<'_>, alias: &str, tool: &str) -> Result<()> {
    let sql = sql!(
        "INSERT INTO tool_alias (alias, tool) VALUES (?1, ?2) ON CONFLICT (alias) DO UPDATE SET tool = excluded.tool"
    );
    db.run(sql, params![alias, tool]).map(drop)
}

/// Removes an alias. Returns whether it existed.
pub fn remove(db: &Db<'_>, alias: &str) -> Result<bool> {
    Ok(db.run(sql!("DELETE FROM tool_alias WHERE alias = ?1"), params![alias])? > 0)
}
