//! The journal: lists the files that a sync is writing. It consists of rows in the database, and a record on this machine
//! that confirms the rows.
//!
//! If a sync is killed, the next one finishes it by writing what the rows contain. But the rows could come from somebody
//! else's database. So a sync first records the SHA-256 of its rows on this machine, and rows without such a record are never
//! used.

use std::path::Path;

use serde_json::{Value, json};

use mcpkg_base::approved::Kind;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::projects::Project;
use mcpkg_store::syncs::{self, Write};
use mcpkg_store::{Db, blobs};

/// The rows of the files that a sync is writing to a folder.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) writes: Vec<Write>,
    /// The SHA-256 of the project, the folder and all rows, in hex.
    sha256: String,
}

impl Journal {
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
        let sha256 = sha256::hex(all.to_string().as_bytes());
        Ok(Self { writes, sha256 })
    }

    /// Records on this machine that this sync writes these files. The record must be on disk before the rows are.
    pub(super) fn record(&self, context: &Context, project: &Project, top: &Path) -> Result<()> {
        match self.writes.is_empty() {
            true => Ok(()),
            false => context.approved.put(Kind::SyncWrites, &self.sha256, &note(context, project, top)),
        }
    }

    /// Returns whether there are no rows, or this machine's record confirms them.
    pub(super) fn is_of_this_machine(&self, context: &Context) -> Result<bool> {
        Ok(self.writes.is_empty() || context.approved.get(Kind::SyncWrites, &self.sha256)?.is_some())
    }
}

/// Deletes this machine's records of syncs with a folder, including those that killed syncs left. Called after the rows
/// are gone. If this fails, the next sync tries again.
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
