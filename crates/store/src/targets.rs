//! The default targets of a deploy: those set for the project, else those set for all projects.

use uuid::Uuid;

use super::Db;
use super::engine::{params, sql};
use mcpkg_base::error::Result;

/// The projects that default targets apply to.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// All projects that have no targets of their own.
    All,
    Project(Uuid),
}

impl Of {
    fn key(self) -> String {
        match self {
            Of::All => "targets".to_owned(),
            Of::Project(project) => format!("targets.{project}"),
        }
    }
}

/// Returns the names of the default targets; `None` if none were set.
pub fn chosen(db: &Db<'_>, of: Of) -> Result<Option<Vec<String>>> {
    let select = sql!("SELECT value FROM setting WHERE key = ?1");
    let text: Option<String> = db.one(select, params![of.key()], |row| row.get(0))?;
    Ok(text.map(|text| text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()))
}

pub fn choose(db: &Db<'_>, of: Of, names: &[&str]) -> Result<()> {
    let insert =
        sql!("INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    db.run(insert, params![of.key(), names.join(",")])?;
    Ok(())
}

pub fn forget(db: &Db<'_>, of: Of) -> Result<()> {
    db.run(sql!("DELETE FROM setting WHERE key = ?1"), params![of.key()])?;
    Ok(())
}
