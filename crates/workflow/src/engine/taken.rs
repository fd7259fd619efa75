//! A run as the work on it finds it.

use uuid::Uuid;

use super::earlier::{Earlier, answers};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::runs::steps::{self, Step};
use mcpkg_store::{runs, watch};

/// What is known of a run when the work on it begins.
#[derive(Debug)]
pub struct Taken {
    pub id: i64,
    /// The SHA-256 of its plan, in hex.
    pub plan_hash: String,
    pub rows: Vec<Step>,
    /// What those answered that succeeded.
    pub earlier: Vec<Earlier>,
    /// The name of its project.
    pub project: Option<String>,
    /// What tells the database from one that is restored in its place.
    pub generation: String,
}

impl Taken {
    /// Reads a run; `None` where it was deleted.
    pub fn read(db: &Db<'_>, run: Uuid) -> Result<Option<Self>> {
        let Some(found) = runs::get(db, run)? else { return Ok(None) };
        let rows = steps::of(db, found.id)?;
        let earlier = answers(db, &rows)?;
        let (project, generation) = (runs::project_name(db, &found)?, watch::generation(db)?);
        Ok(Some(Self { id: found.id, plan_hash: found.plan_hash, rows, earlier, project, generation }))
    }
}
