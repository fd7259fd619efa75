//! Toolsets: named sets of installed tools. The active toolset limits which tools agents see and can call.

use super::settings;
use crate::Db;
use crate::engine::{Row, Unique, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

/// The key of the setting that names a toolset for servers that replace Enact (`mcpkg serve --as enact`).
const FOLLOWED: &str = "toolset.followed";

const NAME: Unique = Unique::new("toolset", &["name"]);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolset {
    pub id: i64,
    pub name: String,
    pub active: bool,
    pub created_at: Millis,
    pub tools: u64,
}

/// The columns that [`from_row`] reads.
macro_rules! select {
    () => {
        "SELECT id, name, active, created_at,
                (SELECT count(*) FROM toolset_item WHERE toolset_id = toolset.id) FROM toolset "
    };
}

/// Adds a toolset without tools.
pub fn create(db: &Db<'_>, name: &str, now: Millis) -> Result<i64> {
    let sql = sql!("INSERT INTO toolset (name, active, created_at) VALUES (?1, 0, ?2) RETURNING id");
    db.insert(sql, params![name, now]).map_err(|error| name_taken(name, error))
}

pub fn rename(db: &Db<'_>, id: i64, name: &str) -> Result<()> {
    let renamed = db.run(sql!("UPDATE toolset SET name = ?2 WHERE id = ?1"), params![id, name]);
    renamed.map(drop).map_err(|error| name_taken(name, error))
}

fn name_taken(name: &str, error: Error) -> Error {
    if !NAME.is_violated_by(&error) {
        return error;
    }
    Error::new(Code::AlreadyExists, format!("Toolset '{name}' already exists"))
        .hint(format!("`mcpkg toolset add {name} TOOL` adds tools to the toolset"))
}

/// Deletes a toolset. Its tools stay installed.
pub fn delete(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("DELETE FROM toolset WHERE id = ?1"), params![id]).map(drop)
}

/// Makes a toolset the active one, or deactivates all if `id` is `None`.
pub fn activate(db: &Db<'_>, id: Option<i64>) -> Result<()> {
    db.run(sql!("UPDATE toolset SET active = 0 WHERE active = 1 AND id <> ?1"), params![id.unwrap_or_default()])?;
    match id {
        Some(id) => db.run(sql!("UPDATE toolset SET active = 1 WHERE id = ?1 AND active = 0"), params![id]).map(drop),
        None => Ok(()),
    }
}

/// Returns all toolsets, ordered by name.
pub fn list(db: &Db<'_>) -> Result<Vec<Toolset>> {
    db.all(sql!(select!(), "ORDER BY name"), params![], from_row)
}

pub fn get(db: &Db<'_>, name: &str) -> Result<Toolset> {
    if let Some(found) = db.one(sql!(select!(), "WHERE name = ?1"), params![name], from_row)? {
        return Ok(found);
    }
    let names = list(db)?;
    let error = Error::new(Code::NotFound, format!("Toolset '{name}' does not exist"));
    Err(error.suggest(
        name,
        names.iter().map(|known| known.name.as_str()),
        "`mcpkg toolset list` shows the existing toolsets",
    ))
}

pub fn active(db: &Db<'_>) -> Result<Option<Toolset>> {
    db.one(sql!(select!(), "WHERE active = 1"), params![], from_row)
}

/// Returns the name of the toolset for servers that replace Enact. It applies while no toolset is active.
pub fn followed(db: &Db<'_>) -> Result<Option<String>> {
    settings::get(db, FOLLOWED)
}

/// Sets or removes the name of the toolset for servers that replace Enact.
pub fn follow(db: &Db<'_>, name: Option<&str>) -> Result<()> {
    match name {
        Some(name) => settings::set(db, FOLLOWED, name),
        None => settings::unset(db, FOLLOWED).map(drop),
    }
}

/// Adds a tool to a toolset. Returns false if the toolset already contained it.
pub fn add(db: &Db<'_>, id: i64, tool: &str) -> Result<bool> {
    let sql =
        sql!("INSERT INTO toolset_item (toolset_id, tool) VALUES (?1, ?2) ON CONFLICT (toolset_id, tool) DO NOTHING");
    Ok(db.run(sql, params![id, tool])? == 1)
}

/// Removes a tool from a toolset. Returns false if the toolset did not contain it.
pub fn take_out(db: &Db<'_>, id: i64, tool: &str) -> Result<bool> {
    Ok(db.run(sql!("DELETE FROM toolset_item WHERE toolset_id = ?1 AND tool = ?2"), params![id, tool])? == 1)
}

/// Returns the tools of a toolset, ordered by name.
pub fn tools(db: &Db<'_>, id: i64) -> Result<Vec<String>> {
    db.all(sql!("SELECT tool FROM toolset_item WHERE toolset_id = ?1 ORDER BY tool"), params![id], |row| row.get(0))
}

pub fn has(db: &Db<'_>, id: i64, tool: &str) -> Result<bool> {
    let sql = sql!("SELECT 1 FROM toolset_item WHERE toolset_id = ?1 AND tool = ?2");
    Ok(db.one(sql, params![id, tool], |_| Ok(()))?.is_some())
}

fn from_row(row: &Row<'_>) -> Result<Toolset> {
    Ok(Toolset { id: row.get(0)?, name: row.get(1)?, active: row.get(2)?, created_at: row.get(3)?, tools: row.get(4)? })
}
