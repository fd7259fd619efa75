//! Fixtures: values for a run of a workflow, and the plan that is expected for them.

use uuid::Uuid;

use crate::Db;
use crate::engine::{Row, params, sql};
use crate::projects::{Selection, resolved};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixture {
    pub name: String,
    pub content: String,
    pub set_at: Millis,
}

/// Returns the fixtures of a workflow, ordered by name.
pub fn of(db: &Db<'_>, project: i64, item: Uuid) -> Result<Vec<Fixture>> {
    let sql =
        sql!("SELECT name, content, set_at FROM workflow_fixture WHERE project_id = ?1 AND item = ?2 ORDER BY name");
    db.all(sql, params![project, item], from_row)
}

/// Returns the fixture of a workflow with this name, if there is one.
pub fn find(db: &Db<'_>, project: i64, item: Uuid, name: &str) -> Result<Option<Fixture>> {
    let sql =
        sql!("SELECT name, content, set_at FROM workflow_fixture WHERE project_id = ?1 AND item = ?2 AND name = ?3");
    db.one(sql, params![project, item, name], from_row)
}

/// Stores a fixture of a workflow. An equal one is not written again.
pub fn set(db: &Db<'_>, project: i64, item: Uuid, fixture: &Fixture) -> Result<()> {
    let sql = sql!(
        "INSERT INTO workflow_fixture (project_id, item, name, content, set_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (project_id, item, name) DO UPDATE SET content = excluded.content, set_at = excluded.set_at
          WHERE workflow_fixture.content <> excluded.content"
    );
    db.run(sql, params![project, item, fixture.name, fixture.content, fixture.set_at]).map(drop)
}

/// Removes a fixture. Returns whether it existed.
pub fn remove(db: &Db<'_>, project: i64, item: Uuid, name: &str) -> Result<bool> {
    let sql = sql!("DELETE FROM workflow_fixture WHERE project_id = ?1 AND item = ?2 AND name = ?3");
    Ok(db.run(sql, params![project, item, name])? == 1)
}

/// Returns the names of all fixtures of the selected project's workflows, without duplicates.
pub fn names(db: &Db<'_>, selection: &Selection) -> Result<Vec<String>> {
    let sql = sql!("SELECT DISTINCT name FROM workflow_fixture WHERE project_id = ", resolved!(), " ORDER BY name");
    db.all(sql, params![selection.named, selection.directory], |row| row.get(0))
}

fn from_row(row: &Row<'_>) -> Result<Fixture> {
    Ok(Fixture { name: row.get(0)?, content: row.get(1)?, set_at: row.get(2)? })
}
