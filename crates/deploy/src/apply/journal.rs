//! Keeps the journal of an apply: its rows in the database, and a record outside the database that makes them valid.
//!
//! A command that finds an unfinished journal restores files. Rows alone cannot be trusted: somebody may have copied,
//! restored or sent the database. So before an apply writes its journal, it keeps a record on this machine with the
//! SHA-256 of the rows' constant part. mcpkg acts only on a journal with such a record.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::repo::identity;
use mcpkg_base::approved::Kind;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_base::sha256;
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::Db;
use mcpkg_store::deploys::{self, Image, PlaceKey};
use mcpkg_store::snapshots::{self, File, Snapshot, State};

/// A snapshot with its files, as read from the journal.
pub struct Journal {
    pub id: i64,
    /// The id that users see.
    pub uuid: Uuid,
    /// The key of the place: the source, machine and root of the deploy.
    pub place: i64,
    /// Whether files may still be half written. If not, only the cleanup is left.
    pub is_applying: bool,
    /// The files, in the order in which the apply writes them.
    pub files: Vec<File>,
    /// The real paths of the folders that the apply writes below.
    pub roots: Vec<PathBuf>,
    /// The SHA-256 of the constant part of the rows, in hex.
    pub sha256: String,
}

impl Journal {
    fn read(db: &Db<'_>, snapshot: &Snapshot) -> Result<Self> {
        let files = snapshots::files(db, snapshot.id)?;
        let folders = snapshots::folders_of(db, snapshot.id)?;
        let place = deploys::place_key(db, snapshot.place)?;
        Ok(Self {
            id: snapshot.id,
            uuid: snapshot.uuid,
            place: snapshot.place,
            is_applying: snapshot.state == State::Applying.word(),
            sha256: digest(snapshot.uuid, &snapshot.kind, &place, &files, &folders),
            files,
            roots: Vec::new(),
        })
    }

    /// Returns the names of the two temporary files for file `seq`. The first contains its new bytes until they are
    /// moved into place. The second keeps the old file until the apply ends.
    pub fn beside(&self, seq: usize) -> (OsString, OsString) {
        let key = self.uuid.simple().to_string();
        let name = |ending: &str| OsString::from(format!(".mcpkg-{}-{seq}.{ending}", &key[16..]));
        (name("new"), name("old"))
    }

    /// Records on this machine that this machine began the journal, and which folders the journal writes below.
    pub fn record(context: &Context, uuid: Uuid, sha256: &str, roots: &[PathBuf]) -> Result<()> {
        let note = json!({
            "journal": uuid.to_string(),
            "machine": identity::machine(None),
            "database": context.store.location().to_string(),
            "roots": roots,
        });
        context.approved.put(Kind::Journal, sha256, &note)
    }

    /// Removes the record: the journal needs no more work. If this fails, the next apply removes it.
    pub fn forget(context: &Context, sha256: &str) {
        if let Err(error) = context.approved.withdraw(Kind::Journal, sha256) {
            tracing::warn!(%error, "could not delete the record of a finished deploy");
        }
    }

    /// Returns the folders in the record, or `None` if this machine did not begin the journal.
    fn recorded_roots(&self, context: &Context) -> Result<Option<Vec<PathBuf>>> {
        let note = context.approved.get(Kind::Journal, &self.sha256)?;
        let note = note.filter(|note| note["machine"] == identity::machine(None));
        let roots =
            |note: &Value| note["roots"].as_array()?.iter().map(|root| root.as_str().map(PathBuf::from)).collect();
        Ok(note.as_ref().and_then(roots))
    }
}

/// Returns the SHA-256 of the constant part of a journal's rows, in hex.
pub fn digest(uuid: Uuid, kind: &str, place: &PlaceKey, files: &[File], folders: &[String]) -> String {
    let image = |image: &Image| match image {
        Image::Absent => Value::Null,
        Image::File { sha256, mode, .. } => json!([hex::encode(sha256), mode]),
        Image::Link(text) => json!([text]),
    };
    let files = files.iter().map(|file| {
        let File { path, root, op, targets, module_ids, block, keep, before, after, attributes, snapshot: _ } = file;
        (path, root, op, targets, module_ids, block, keep.word(), image(before), image(after), attributes)
    });
    let mut folders = folders.to_vec();
    folders.sort_unstable();
    let place = [&place.source, &place.origin, &place.machine, &place.root];
    let rows = (uuid.to_string(), kind, place, files.collect::<Vec<_>>(), folders);
    sha256::hex(serde_json::to_string(&rows).expect("rows are JSON"))
}

/// Returns the unfinished journals that this machine began, newest first, and the snapshots of all other unfinished
/// journals. mcpkg never acts on the others.
pub fn unfinished(context: &Context) -> Result<(Vec<Journal>, Vec<Snapshot>)> {
    let found = context.store.read(|db| {
        let snapshots = snapshots::unfinished(db)?;
        snapshots.into_iter().map(|snapshot| Ok((Journal::read(db, &snapshot)?, snapshot))).collect::<Result<Vec<_>>>()
    })?;
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for (journal, snapshot) in found {
        match journal.recorded_roots(context)? {
            Some(roots) => ours.push(Journal { roots, ..journal }),
            None => others.push(snapshot),
        }
    }
    Ok((ours, others))
}

/// Returns `doctor` findings about journals without a record.
pub fn health(context: &Context) -> Vec<Finding> {
    let found = unfinished(context).and_then(|(_, others)| {
        context.store.read(|db| {
            let root = |snapshot: &Snapshot| Ok((snapshot.uuid, deploys::place_key(db, snapshot.place)?));
            others.iter().map(root).collect::<Result<Vec<_>>>()
        })
    });
    match found {
        Ok(others) => others.iter().map(|(uuid, place)| of_elsewhere(*uuid, place)).collect(),
        Err(error) => vec![Finding::new("deploys", Health::Problem, error.message())],
    }
}

fn of_elsewhere(uuid: Uuid, place: &PlaceKey) -> Finding {
    let what = format!(
        "deploy {uuid} below {} (machine {}) is unfinished; another user or machine started it, so its files were left unchanged",
        place.root, place.machine
    );
    Finding::new("deploys", Health::Note, what).action(format!("mcpkg snapshot show {uuid}"))
}

/// Removes the records of this database's finished journals. The caller holds the apply lock.
pub fn sweep(context: &Context, open: &[Journal]) -> Result<()> {
    let database = json!(context.store.location().to_string());
    for (sha256, note) in context.approved.all(Kind::Journal)? {
        if note["database"] == database && !open.iter().any(|journal| journal.sha256 == sha256) {
            Journal::forget(context, &sha256);
        }
    }
    Ok(())
}
