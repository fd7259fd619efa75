//! A project's row.

use uuid::Uuid;

use crate::engine::Row;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: i64,
    pub uuid: Uuid,
    /// Unique in the database.
    pub name: String,
    pub created_at: Millis,
}

/// The columns that [`from_row`] reads.
macro_rules! project_columns {
    () => {
        "id, uuid, name, created_at"
    };
}
pub(super) use project_columns;

pub(super) fn from_row(row: &Row<'_>) -> Result<Project> {
    Ok(Project { id: row.get(0)?, uuid: row.get(1)?, name: row.get(2)?, created_at: row.get(3)? })
}
