//! The journal of an apply: its rows in the database, and the record outside of it that makes them count.
//!
//! A command that finds an unfinished journal puts files back. The rows alone could come from anybody, since a database may be
//! restored, copied, or sent by somebody else. So an apply first keeps a record on this machine with the SHA-256 of the constant part of
//! its rows, and mcpkg acts only on a journal with such a record.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::repo::identity;
use mcpkg_base::approved::Kind;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::Db;
use mcpkg_store::deploys::{self, Image, PlaceKey};
use mcpkg_store::snapshots::{self, File, Snapshot, State};

/// A snapshot with its files, as the journal holds it.
pub struct Journal {
    pub id: i64,
    /// What users see of it.
    pub uuid: Uuid,
    /// The key of its place.
    pub place: i64,
    /// Whether it was still being applied.
    pub is_applying: bool,
    /// Its files, in the order in which they are applied.
    pub files: Vec<File>,
    /// The folders below which it writes, where they really are.
    pub roots: Vec<PathBuf>,
    /// The SHA-256 of what never changes in its rows, in hex.
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

    /// The names of temporary files for file `seq`: its new bytes before they are moved into place, and the old file meanwhile.
    pub fn beside(&self, seq: usize) -> (OsString, OsString) {
        let key = self.uuid.simple().to_string();
        let name = |ending: &str| OsString::from(format!(".mcpkg-{}-{seq}.{ending}", &key[16..]));
        (name("new"), name("old"))
    }

    /// Keeps the record that this machine begins the journal, with the folders below which it writes.
    pub fn record(context: &Context, uuid: Uuid, sha256: &str, roots: &[PathBuf]) -> Result<()> {
        let note = json!({
            "journal": uuid.to_string(),
            "machine": identity::machine(None),
            "database": context.store.location().to_string(),
            "roots": roots,
        });
        context.approved.put(Kind::Journal, sha256, &note)
    }

    /// Takes the record away: nothing is left to be done for the journal. One that stays is swept by the next apply.
    pub fn forget(context: &Context, sha256: &str) {
        if let Err(error) = context.approved.withdraw(Kind::Journal, sha256) {
            tracing::warn!(%error, "could not delete the record of a finished deploy");
        }
    }

    /// Returns the folders that the record names; `None` where this machine's own apply did not begin the journal.
    fn recorded_roots(&self, context: &Context) -> Result<Option<Vec<PathBuf>>> {
        let note = context.approved.get(Kind::Journal, &self.sha256)?;
        let note = note.filter(|note| note["machine"] == identity::machine(None));
        let roots =
            |note: &Value| note["roots"].as_array()?.iter().map(|root| root.as_str().map(PathBuf::from)).collect();
        Ok(note.as_ref().and_then(roots))
    }
}

/// Returns the SHA-256 of what never changes in a journal's rows, in hex.
pub fn digest(uuid: Uuid, kind: &str, place: &PlaceKey, files: &[File], folders: &[String]) -> String {
    let image = |image: &Image| match image {
        Image::Absent => Value::Null,
        Image::File { sha256, mode, .. } => json!([hex::encode(sha256), mode]),
        Image::Link(text) => json!([text]),
    };
    let file = |file: &File| {
        let File { path, root, op, targets, module_ids, block, keep, before, after, attributes, snapshot: _ } = file;
        json!([path, root, op, targets, module_ids, block, keep.word(), image(before), image(after), attributes])
    };
    let mut folders = folders.to_vec();
    folders.sort_unstable();
    let rows = json!([
        uuid.to_string(),
        kind,
        [&place.source, &place.origin, &place.machine, &place.root],
        files.iter().map(file).collect::<Vec<_>>(),
        folders,
    ]);
    hex::encode(&disk::sha256(rows.to_string().as_bytes()))
}

/// Returns the journals without an end: those that this machine's own applies began, newest first, and the snapshots of
/// the others, which are never acted upon.
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

/// Returns what `doctor` reports about journals without a record.
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

/// Takes away the records of this database's journals that have ended; the caller holds the right to apply.
pub fn sweep(context: &Context, open: &[Journal]) -> Result<()> {
    let database = json!(context.store.location().to_string());
    for (sha256, note) in context.approved.all(Kind::Journal)? {
        if note["database"] == database && !open.iter().any(|journal| journal.sha256 == sha256) {
            Journal::forget(context, &sha256);
        }
    }
    Ok(())
}
