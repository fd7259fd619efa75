//! Parses the goal of a rollback: a snapshot, the state just before it, or the state before the first deploy.

use std::path::{Path, PathBuf};

use serde_json::json;
use uuid::Uuid;

use crate::source::{Choice, Scope, Site};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::deploys;
use mcpkg_store::snapshots::{self, Kind, Snapshot, State};

/// What the user types for the state before the first deploy.
pub const PRISTINE: &str = "pristine";

pub struct Goal {
    /// The goal as the user typed it, such as `pristine` or `ID^`.
    pub word: String,
    /// The snapshot, and whether the goal is the state just before it. `None` for pristine.
    pub snapshot: Option<(Snapshot, bool)>,
}

impl Goal {
    /// Parses a goal: `pristine`, `ID` for the state after that snapshot, or `ID^` for the state just before it. If the
    /// snapshot is itself a rollback, `ID` also means the state just before it.
    pub fn find(context: &Context, word: &str) -> Result<Self> {
        let word = word.trim().to_owned();
        if word == PRISTINE {
            return Ok(Self { word, snapshot: None });
        }
        let (id, before) = match word.strip_suffix('^') {
            Some(id) => (id, true),
            None => (word.as_str(), false),
        };
        let snapshot = find(context, id)?;
        if snapshot.state != State::Applied.word() {
            let why = format!("Cannot roll back to snapshot '{id}': it is {}", snapshot.state);
            return Err(Error::new(Code::SnapshotUnusable, why).with_details(json!({ "to": id })));
        }
        // Rolling back to a rollback can only mean undoing that rollback.
        let before = before || snapshot.kind == Kind::Rollback.word();
        Ok(Self { word, snapshot: Some((snapshot, before)) })
    }

    /// Returns the site that the snapshot was made for. For `pristine`, returns the site of `choice`.
    ///
    /// # Errors
    /// `E_SNAPSHOT_NOT_FOUND` if the snapshot belongs to another source, machine or root, and the errors of
    /// [`Site::find`].
    pub fn site(&self, context: &Context, choice: &Choice) -> Result<Site> {
        let choice = &Choice { may_be_gone: true, ..choice.clone() };
        let Some((snapshot, _)) = &self.snapshot else {
            return Site::find(context, choice);
        };
        let key = context.store.read(|db| deploys::place_key(db, snapshot.place))?;
        let mut choice = Choice { machine: Some(key.machine.clone()), ..choice.clone() };
        let home = std::env::home_dir().and_then(|home| mcpkg_base::platform::real(&home).ok());
        if key.source.starts_with("project:") && home.as_deref() == Some(Path::new(&key.root)) {
            choice.scope = Scope::User;
        } else {
            choice.root = Some(PathBuf::from(&key.root));
        }
        if choice.repo.is_none() && !key.origin.is_empty() {
            choice.repo = Some(PathBuf::from(&key.origin));
        }
        let site = Site::find(context, &choice)?;
        if site.place.source == key.source && site.place.root == key.root && site.place.machine == key.machine {
            return Ok(Site { place: key, ..site });
        }
        Err(Error::new(Code::SnapshotNotFound, format!("Snapshot '{}' belongs to another source or root", self.word))
            .with_details(json!({ "to": self.word, "source": key.source, "root": key.root, "machine": key.machine }))
            .hint("`mcpkg snapshot list` shows the snapshots of this source and root"))
    }
}

/// Finds a snapshot by its id or a unique prefix of the id.
pub fn find(context: &Context, id: &str) -> Result<Snapshot> {
    let missing = || {
        Error::new(Code::SnapshotNotFound, format!("Snapshot '{}' does not exist", id.escape_debug()))
            .with_details(json!({ "to": id }))
            .suggest(
                id,
                [PRISTINE],
                "`mcpkg snapshot list` lists the snapshots; `pristine` is the state before the first deploy",
            )
    };
    context.store.read(|db| {
        if let Ok(uuid) = Uuid::parse_str(id) {
            return snapshots::get(db, uuid)?.ok_or_else(missing);
        }
        let begins = |snapshot: &Snapshot| id.len() >= 4 && snapshot.uuid.to_string().starts_with(id);
        let mut found: Vec<Snapshot> = snapshots::of_place(db, None)?.into_iter().filter(begins).collect();
        match found.len() {
            1 => found.pop().ok_or_else(missing),
            0 => Err(missing()),
            count => {
                Err(Error::new(Code::SnapshotNotFound, format!("{count} snapshots have ids that start with '{id}'"))
                    .with_details(json!({ "to": id }))
                    .hint("use more characters of the id"))
            }
        }
    })
}
