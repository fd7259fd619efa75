//! The files that a sync is writing: their rows in the database, and the record outside of it that makes them count.
//!
//! A sync that is killed is finished by the next one, which writes what the rows say. The rows alone could come from anybody, so the
//! sync first keeps a record on this machine that names their SHA-256, and rows without one are never carried out.

use std::path::Path;

use serde_json::{Value, json};

use mcpkg_base::approved::Kind;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::Context;
use mcpkg_store::projects::Project;
use mcpkg_store::syncs::{self, Write};
use mcpkg_store::{Db, blobs};

/// The rows of the files that are being written below a folder.
#[derive(Debug)]
pub(super) struct Journal {
    /// The rows, by path.
    pub(super) writes: Vec<Write>,
    /// The SHA-256 of all that they say, in hex.
    sha256: String,
}

impl Journal {
    /// Reads the rows of a sync.
    pub(super) fn read(db: &Db<'_>, sync: i64, project: &Project, top: &Path) -> Result<Self> {
        let writes = syncs::writes(db, sync)?;
        let row = |write: &Write| -> Result<Value> {
            let Write { path, before, blob, executable, listed } = write;
            let blob = blob.map(|blob| blobs::sha256(db, blob)).transpose()?;
            Ok(json!([
                path,
                before.as_ref().map(|it| hex::encode(it)),
                blob.map(|it| hex::encode(&it)),
                executable,
                listed
            ]))
        };
        let rows = writes.iter().map(row).collect::<Result<Vec<_>>>()?;
        let all = json!([project.uuid.to_string(), top.to_string_lossy(), rows]);
        let sha256 = hex::encode(&disk::sha256(all.to_string().as_bytes()));
        Ok(Self { writes, sha256 })
    }

    /// Keeps the record that a sync of this machine writes the files; it is on the disk before the rows are.
    ///
    /// # Errors
    /// `E_UNAPPROVED` if the user has no home, `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`, `E_FILE_FAILED`.
    pub(super) fn record(&self, context: &Context, project: &Project, top: &Path) -> Result<()> {
        match self.writes.is_empty() {
            true => Ok(()),
            false => context.approved.put(Kind::SyncWrites, &self.sha256, &note(context, project, top)),
        }
    }

    /// Whether there are no rows, or a sync of this machine wrote them.
    pub(super) fn is_of_this_machine(&self, context: &Context) -> Result<bool> {
        Ok(self.writes.is_empty() || context.approved.get(Kind::SyncWrites, &self.sha256)?.is_some())
    }
}

/// Withdraws the records of a folder whose rows are gone, those of syncs that were killed before they wrote any too. One that stays is
/// withdrawn by the next sync.
pub(super) fn end(context: &Context, project: &Project, top: &Path) {
    let here = note(context, project, top);
    let swept = context.approved.all(Kind::SyncWrites).and_then(|all| {
        let of_here = all.into_iter().filter(|(_, note)| *note == here);
        of_here.map(|(sha256, _)| sha256).try_for_each(|sha256| context.approved.withdraw(Kind::SyncWrites, &sha256))
    });
    if let Err(error) = swept {
        tracing::warn!(%error, "cannot remove the record of a finished sync");
    }
}

fn note(context: &Context, project: &Project, top: &Path) -> Value {
    json!({
        "database": context.store.location().to_string(),
        "project": project.uuid.to_string(),
        "path": top.to_string_lossy(),
    })
}
