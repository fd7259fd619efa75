//! Loads a run from the database, so that it can be carried out.

use uuid::Uuid;

use super::earlier::{Earlier, answers};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::runs::steps::{self, Step};
use mcpkg_store::{runs, watch};

#[derive(Debug)]
pub struct RunData {
    pub id: i64,
    /// SHA-256 of the run's plan, in hex.
    pub plan_hash: String,
    pub rows: Vec<Step>,
    /// The outputs of the steps that succeeded.
    pub earlier: Vec<Earlier>,
    /// Name of the run's project.
    pub project: Option<String>,
    /// The generation of the database, which changes when a backup is restored.
    pub generation: String,
}

impl RunData {
    /// Reads a run; returns `None` if it was deleted.
    pub fn read(db: &Db<'_>, run: Uuid) -> Result<Option<Self>> {
        let Some(found) = runs::get(db, run)? else { return Ok(None) };
        let rows = steps::of(db, found.id)?;
        let earlier = answers(db, &rows)?;
        let (project, generation) = (runs::project_name(db, &found)?, watch::generation(db)?);
        Ok(Some(Self { id: found.id, plan_hash: found.plan_hash, rows, earlier, project, generation }))
    }
}
