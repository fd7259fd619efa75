//! Reads rows of workflows, and verifies them by their checksums.

use std::ops::Range;

use uuid::Uuid;

use super::workflow::{Summary, Workflow};
use crate::engine::{Row, params};
use crate::names::legible;
use crate::sums::{DAMAGED, checksum, intact};
use mcpkg_base::error::{Code, Error, Result};

/// The SELECT without its conditions; [`from_row`] reads its rows. The columns that the checksum covers come first, then the
/// checksum, then the rest.
macro_rules! workflow_columns {
    () => {
        "SELECT w.project_id, w.uuid, w.name, w.title, w.description, w.model_hash, b.sha256, w.revision, w.created_at,
                w.updated_at, w.row_sum, w.id, w.blob_id, b.size
           FROM workflow w JOIN blob b ON b.id = w.blob_id"
    };
}
pub(crate) use workflow_columns;

const SUMMED: Range<usize> = 0..10;

pub(super) fn sum(project: i64, workflow: &Workflow) -> i64 {
    let Workflow { uuid, name, summary, sha256, revision, created_at, updated_at, .. } = workflow;
    let Summary { title, description, model_hash } = summary;
    checksum(params![project, uuid, name, title, description, model_hash, sha256, revision, created_at, updated_at])
}

/// Reads a row of the query `workflow_columns!`.
pub(crate) fn from_row(row: &Row<'_>) -> Result<Workflow> {
    if !intact(row, SUMMED)? {
        return Err(damaged(&legible(row, 2)));
    }
    Ok(Workflow {
        id: row.get(11)?,
        uuid: row.get(1)?,
        name: row.get(2)?,
        summary: Summary { title: row.get(3)?, description: row.get(4)?, model_hash: row.get(5)? },
        blob: row.get(12)?,
        size: row.get(13)?,
        sha256: row.get(6)?,
        revision: row.get(7)?,
        created_at: row.get(8)?,
        updated_at: row.get(9)?,
    })
}

/// Returns a placeholder that lists can show if `error` says that the row is damaged: the id, the name as far as it
/// is legible, and the damage as the description. Returns any other error.
pub(super) fn placeholder(row: &Row<'_>, error: Error) -> Result<Workflow> {
    if error.code() != Code::Damaged {
        return Err(error);
    }
    Ok(Workflow {
        id: row.get(11)?,
        uuid: Uuid::nil(),
        name: legible(row, 2),
        summary: Summary { description: Some(DAMAGED.to_owned()), ..Summary::default() },
        blob: 0,
        size: 0,
        sha256: [0; 32],
        revision: 0,
        created_at: 0,
        updated_at: 0,
    })
}

/// Returns the error for a row that was changed by damage.
pub(super) fn damaged(name: &str) -> Error {
    Error::new(Code::Damaged, format!("Workflow '{name}' is damaged: its row does not match its checksum"))
        .with_details(serde_json::json!({ "name": name }))
        .hint(format!(
            "the damaged workflow was not served; `mcpkg workflow history {name}` lists earlier revisions, and \
                `mcpkg workflow restore` restores one"
        ))
}
