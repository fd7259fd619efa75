//! Environment variables of tools: references to secrets, or plain values.

use crate::Db;
use crate::engine::{Row, damaged, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The setting of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A reference to a secret, such as `env:API_KEY`.
    Reference(String),
    /// A value that is not secret.
    Value(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// The pattern that selects the tools that get the variable.
    pub pattern: String,
    pub setting: Setting,
    pub set_at: Millis,
}

/// Sets a variable for the tools that match a pattern.
pub fn set(db: &Db<'_>, variable: &Variable) -> Result<()> {
    let (reference, value) = match &variable.setting {
        Setting::Reference(reference) => (Some(reference), None),
        Setting::Value(value) => (None, Some(value)),
    };
    let sql = sql!(
        "INSERT INTO tool_env (name, pattern, reference, value, set_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (name, pattern) DO UPDATE SET reference = excluded.reference, value = excluded.value,
                                                   set_at = excluded.set_at"
    );
    db.run(sql, params![variable.name, variable.pattern, reference, value, variable.set_at]).map(drop)
}

/// Removes a variable that was set for a pattern. Returns whether it was set.
pub fn unset(db: &Db<'_>, name: &str, pattern: &str) -> Result<bool> {
    Ok(db.run(sql!("DELETE FROM tool_env WHERE name = ?1 AND pattern = ?2"), params![name, pattern])? > 0)
}

/// Returns the variables, ordered by name and pattern.
pub fn all(db: &Db<'_>) -> Result<Vec<Variable>> {
    let sql = sql!("SELECT name, pattern, reference, value, set_at FROM tool_env ORDER BY name, pattern");
    db.all(sql, params![], from_row)
}

fn from_row(row: &Row<'_>) -> Result<Variable> {
    let setting = match (row.get(2)?, row.get(3)?) {
        (Some(reference), None) => Setting::Reference(reference),
        (None, Some(value)) => Setting::Value(value),
        _ => return Err(damaged("a variable of tools is neither a reference nor a value")),
    };
    Ok(Variable { name: row.get(0)?, pattern: row.get(1)?, setting, set_at: row.get(4)? })
}
