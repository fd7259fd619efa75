//! Removes contents that nothing refers to.

use crate::Db;
use crate::engine::{params, sql};
use mcpkg_base::error::Result;

/// The condition for a row of `blob` that nothing refers to.
macro_rules! unreferenced {
    () => {
        "NOT EXISTS (SELECT 1 FROM prompt WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM revision WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM agent_file WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM link WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM snapshot_file WHERE before_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM snapshot_file WHERE after_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM deployed WHERE applied_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM deployed WHERE pristine_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM proposal WHERE base_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM proposal WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM sync_item WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM sync_write WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM source_item WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM tool_package WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM tool_build WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM build_row WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM gate_model WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow_revision WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow_draft WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow_draft WHERE base_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM workflow_template WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM run WHERE blob_id = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM run WHERE output_blob = blob.id)
                            AND NOT EXISTS (SELECT 1 FROM run_step WHERE blob_id = blob.id)"
    };
}

/// The condition of `unreferenced!`, which a test compares with the users of a blob in `blobs/users.rs`.
#[cfg(test)]
pub(crate) const UNREFERENCED: &str = unreferenced!();

/// Removes the blobs that nothing refers to. Does nothing if other writers may be active during this transaction, because
/// they may be about to refer to such a blob. `mcpkg compact` or a later call then removes it.
pub(crate) fn sweep(db: &Db<'_>) -> Result<()> {
    if db.is_beside_writers() {
        return Ok(());
    }
    db.run(sql!("DELETE FROM blob WHERE ", unreferenced!()), params![]).map(drop)
}

/// Removes the blob with key `id` if nothing refers to it. Like [`sweep`], does nothing if other writers may be active.
pub(crate) fn take_back(db: &Db<'_>, id: i64) -> Result<()> {
    if db.is_beside_writers() {
        return Ok(());
    }
    db.run(sql!("DELETE FROM blob WHERE id = ?1 AND ", unreferenced!()), params![id]).map(drop)
}
