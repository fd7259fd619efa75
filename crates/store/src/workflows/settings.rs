//! A project's settings for workflows: whether they may run, and which variables they may read.

use crate::Db;
use crate::engine::{params, sql};
use crate::projects::{Selection, resolved};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// A value that workflows may read as `env.NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// The value, which must not be secret.
    pub value: String,
    pub set_at: Millis,
}

/// The name of the only policy.
const EXECUTE: &str = "execute";

/// Returns the name of the project's policy on running workflows; `None` if no policy was ever set.
pub fn policy(db: &Db<'_>, project: i64) -> Result<Option<String>> {
    let sql = sql!("SELECT value FROM workflow_setting WHERE project_id = ?1 AND kind = 'policy' AND name = ?2");
    db.one(sql, params![project, EXECUTE], |row| row.get(0))
}

/// Sets the project's policy on running workflows. Returns whether it has changed.
pub fn set_policy(db: &Db<'_>, project: i64, word: &str, now: Millis) -> Result<bool> {
    set(db, project, "policy", &Variable { name: EXECUTE.to_owned(), value: word.to_owned(), set_at: now })
}

/// Returns the variables that the project's workflows may read, ordered by name.
pub fn variables(db: &Db<'_>, project: i64) -> Result<Vec<Variable>> {
    let sql =
        sql!("SELECT name, value, set_at FROM workflow_setting WHERE project_id = ?1 AND kind = 'env' ORDER BY name");
    db.all(sql, params![project], |row| Ok(Variable { name: row.get(0)?, value: row.get(1)?, set_at: row.get(2)? }))
}

/// Returns the names of the variables that workflows of the selected project may read.
pub fn variable_names(db: &Db<'_>, selection: &Selection) -> Result<Vec<String>> {
    let sql =
        sql!("SELECT name FROM workflow_setting WHERE kind = 'env' AND project_id = ", resolved!(), " ORDER BY name");
    db.all(sql, params![selection.named, selection.directory], |row| row.get(0))
}

/// Returns the value of a variable that workflows of the selected project may read; `None` if it is not set.
pub fn variable(db: &Db<'_>, selection: &Selection, name: &str) -> Result<Option<String>> {
    let sql =
        sql!("SELECT value FROM workflow_setting WHERE kind = 'env' AND name = ?3 AND project_id = ", resolved!());
    db.one(sql, params![selection.named, selection.directory, name], |row| row.get(0))
}

/// Sets a variable that the project's workflows may read. Returns whether it has changed.
pub fn set_variable(db: &Db<'_>, project: i64, variable: &Variable) -> Result<bool> {
    set(db, project, "env", variable)
}

/// Removes a variable. Returns whether it was set.
pub fn unset_variable(db: &Db<'_>, project: i64, name: &str) -> Result<bool> {
    let sql = sql!("DELETE FROM workflow_setting WHERE project_id = ?1 AND kind = 'env' AND name = ?2");
    Ok(db.run(sql, params![project, name])? == 1)
}

/// Writes a value unless the same value is already set. Returns whether it has changed.
fn set(db: &Db<'_>, project: i64, kind: &str, variable: &Variable) -> Result<bool> {
    let sql = sql!(
        "INSERT INTO workflow_setting (project_id, kind, name, value, set_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (project_id, kind, name) DO UPDATE SET value = excluded.value, set_at = excluded.set_at
          WHERE workflow_setting.value <> excluded.value"
    );
    Ok(db.run(sql, params![project, kind, variable.name, variable.value, variable.set_at])? == 1)
}
