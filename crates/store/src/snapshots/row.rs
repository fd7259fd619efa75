//! Rows of snapshots and of their files.

use super::snapshot::{File, Keep, Snapshot};
use crate::deploys::{Image, words};
use crate::engine::Row;
use mcpkg_base::error::Result;

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! snapshots {
    () => {
        "SELECT id, uuid, place_id, kind, state, targets, profile, rolled_back_to, pinned, actor, created_at,
                (SELECT count(*) FROM snapshot_file WHERE snapshot_id = snapshot.id)
           FROM snapshot"
    };
}

/// The SELECT without its conditions; [`file_from_row`] reads its rows.
macro_rules! snapshot_files {
    () => {
        "SELECT f.path, f.root, f.op, f.targets, f.module_ids, f.block,
                f.before_blob, b.sha256, f.before_mode, f.before_link,
                f.after_blob, a.sha256, f.after_mode, f.after_link, f.snapshot_id, f.keep, f.before_attributes
           FROM snapshot_file f LEFT JOIN blob b ON b.id = f.before_blob LEFT JOIN blob a ON a.id = f.after_blob"
    };
}
pub(super) use {snapshot_files, snapshots};

pub(super) fn from_row(row: &Row<'_>) -> Result<Snapshot> {
    Ok(Snapshot {
        id: row.get(0)?,
        uuid: row.get(1)?,
        place: row.get(2)?,
        kind: row.get(3)?,
        state: row.get(4)?,
        targets: words(row, 5)?,
        profile: row.get(6)?,
        rolled_back_to: row.get(7)?,
        pinned: row.get(8)?,
        actor: row.get(9)?,
        created_at: row.get(10)?,
        files: row.get(11)?,
    })
}

pub(super) fn file_from_row(row: &Row<'_>) -> Result<File> {
    Ok(File {
        snapshot: row.get(14)?,
        keep: Keep::from_row(row, 15)?,
        path: row.get(0)?,
        root: row.get(1)?,
        op: row.get(2)?,
        targets: words(row, 3)?,
        module_ids: words(row, 4)?,
        block: row.get(5)?,
        before: Image::from_row(row, 6)?,
        after: Image::from_row(row, 10)?,
        attributes: row.get(16)?,
    })
}
