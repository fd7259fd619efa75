//! Stores each file's content before and after its change as blobs, and creates the journal rows that refer to them.

use std::path::Path;

use super::work::Work;
use crate::plan::{After, Keep, RowChange};
use mcpkg_base::disk::PathState;
use mcpkg_base::disk::attributes::Attributes;
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::deploys::{Deployed, Image};
use mcpkg_store::snapshots::File;
use mcpkg_store::{Db, blobs};

/// The number of files between two progress reports. No progress is shown unless there are more files than this.
const TOLD_EACH: usize = 64;

/// Stores the contents and returns the journal's rows: first the changed files, then files that mcpkg manages from now
/// on without changing them ([`RowChange::Claim`]), then files that mcpkg stops managing.
pub(super) fn store_all(
    context: &Context,
    db: &Db<'_>,
    work: &Work<'_>,
    attributes: &[Option<Attributes>],
) -> Result<Vec<File>> {
    let all = work.changes.len();
    let told = |done: usize| {
        if all > TOLD_EACH && (done.is_multiple_of(TOLD_EACH) || done == all) {
            (context.progress)("Storing", done as u64, all as u64);
        }
    };
    let mut files = Vec::with_capacity(all);
    for (at, (change, attributes)) in work.changes.iter().zip(attributes).enumerate() {
        context.unless_cancelled()?;
        told(at);
        files.push(File {
            snapshot: 0,
            path: change.path.to_string_lossy().into_owned(),
            root: change.root.to_string_lossy().into_owned(),
            op: change.op.word().to_owned(),
            targets: change.targets.clone(),
            module_ids: change.module_ids.clone(),
            block: change.block,
            keep: change.keep,
            before: store(db, &change.before)?,
            after: store_after(db, &change.after)?,
            attributes: attributes.as_ref().and_then(Attributes::to_column),
        });
    }
    told(all);
    for change in &work.row_changes {
        if let RowChange::Claim(row, bytes) = change
            && let Image::File { sha256, mode, .. } = &row.applied
        {
            let image = Image::File { blob: blobs::put_known(db, sha256, bytes)?, sha256: *sha256, mode: *mode };
            let keep = if row.written || work.adopt.has(Path::new(&row.path)) { Keep::Written } else { Keep::Claimed };
            files.push(claim(row, &image, keep));
        }
    }
    files.extend(work.row_changes.iter().filter_map(|change| released(work, change)));
    Ok(files)
}

/// Returns the row of a file that mcpkg stops managing without changing it. A rollback to an earlier snapshot needs the
/// row to manage the file again. A rollback to a later snapshot needs it to know that the file is no longer managed.
fn released(work: &Work<'_>, change: &RowChange) -> Option<File> {
    let (row, image) = match change {
        RowChange::Forget(path) => {
            let row = work.rows.get(path)?;
            (row, if work.rolled_back_to.is_some() { &row.pristine } else { &row.applied })
        }
        RowChange::Keep(row) if row.applied == Image::Absent => (row, &row.applied),
        RowChange::Keep(_) | RowChange::Claim(..) | RowChange::Follow(..) => return None,
    };
    Some(claim(row, image, Keep::Nobody))
}

/// Returns the row of a file that stays unchanged on disk.
fn claim(row: &Deployed, image: &Image, keep: Keep) -> File {
    File {
        snapshot: 0,
        path: row.path.clone(),
        root: row.root.clone(),
        op: "claim".to_owned(),
        targets: row.targets.clone(),
        module_ids: row.module_ids.clone(),
        block: row.block,
        keep,
        before: image.clone(),
        after: image.clone(),
        attributes: None,
    }
}

fn store(db: &Db<'_>, found: &PathState) -> Result<Image> {
    Ok(match found {
        PathState::Absent | PathState::Other => Image::Absent,
        PathState::Link(text) => Image::Link(text.clone()),
        PathState::File { bytes, sha256, mode } => {
            Image::File { blob: blobs::put_known(db, sha256, bytes)?, sha256: *sha256, mode: *mode }
        }
    })
}

fn store_after(db: &Db<'_>, after: &After) -> Result<Image> {
    Ok(match after {
        After::Absent => Image::Absent,
        After::Link(text) => Image::Link(text.clone()),
        After::File { bytes, sha256, mode } => {
            Image::File { blob: blobs::put_known(db, sha256, bytes)?, sha256: *sha256, mode: *mode }
        }
    })
}
