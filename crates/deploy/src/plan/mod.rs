//! Describes a plan: what an apply would do to each file, and how safe that is.

pub mod audit;
pub mod block;
pub mod budget;
pub mod code;
pub mod compare;
pub mod entries;
pub mod overlooked;
pub mod prepare;
pub mod safety;
mod settings;
pub mod show;
pub mod unwanted;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::desired::Desired;
use crate::targets::Target;
use mcpkg_base::disk::attributes::Attributes;
use mcpkg_base::disk::{self, PathState};
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_base::sha256::{self, Sha};
use mcpkg_store::deploys::{Deployed, Image};
pub use mcpkg_store::snapshots::Keep;
use mcpkg_store::{Db, blobs};

/// Why the file on disk differs from the desired state. Found by comparing the last applied state, the disk and the
/// desired state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// The file was changed since it was deployed.
    UserModified,
    /// The source was changed since the deploy, and the file was not.
    UpstreamPending,
    Both,
    /// The file was deleted since it was deployed.
    Missing,
    /// mcpkg still manages the file, but no module wants it any more.
    Extra,
    /// The file was never deployed by this source: it existed before, or another source deployed it.
    Unmanaged,
}

impl Drift {
    /// Returns the word that contract 000 uses.
    pub const fn word(self) -> &'static str {
        match self {
            Drift::UserModified => "user_modified",
            Drift::UpstreamPending => "upstream_pending",
            Drift::Both => "both",
            Drift::Missing => "missing",
            Drift::Extra => "extra",
            Drift::Unmanaged => "unmanaged",
        }
    }
}

/// An operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Create,
    /// The bytes or the mode change.
    Update,
    Delete,
}

impl Op {
    /// Returns the word that contract 000 uses.
    pub const fn word(self) -> &'static str {
        match self {
            Op::Create => "create",
            Op::Update => "update",
            Op::Delete => "delete",
        }
    }
}

/// The desired state of a file.
#[derive(Clone, Debug)]
pub enum After {
    Absent,
    File {
        bytes: Arc<[u8]>,
        sha256: Sha,
        mode: u32,
    },
    /// A symbolic link. Only a rollback restores links.
    Link(String),
}

impl After {
    pub fn file(bytes: impl Into<Arc<[u8]>>, mode: u32) -> Self {
        let bytes = bytes.into();
        After::File { sha256: sha256::of(&bytes), bytes, mode }
    }

    /// Loads a stored version of a file.
    pub fn of_image(db: &Db<'_>, image: &Image) -> Result<Self> {
        Ok(match image {
            Image::Absent => After::Absent,
            Image::Link(text) => After::Link(text.clone()),
            Image::File { blob, sha256, mode } => {
                let bytes: Arc<[u8]> = blobs::get(db, *blob)?.into();
                After::File { bytes, sha256: *sha256, mode: *mode }
            }
        })
    }

    pub fn sha256(&self) -> Option<&Sha> {
        match self {
            After::File { sha256, .. } => Some(sha256),
            After::Absent | After::Link(_) => None,
        }
    }

    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            After::File { bytes, .. } => Some(bytes),
            After::Absent | After::Link(_) => None,
        }
    }

    pub fn mode(&self) -> Option<u32> {
        match self {
            After::File { mode, .. } => Some(*mode),
            After::Absent | After::Link(_) => None,
        }
    }

    /// Whether the file on disk already has this state.
    pub fn is(&self, found: &PathState) -> bool {
        match (self, found) {
            (After::Absent, PathState::Absent) => true,
            (After::Link(text), PathState::Link(found)) => text == found,
            (After::File { sha256, mode, .. }, PathState::File { sha256: found, mode: found_mode, .. }) => {
                sha256 == found && mode == found_mode
            }
            _ => false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Change {
    pub op: Op,
    pub path: PathBuf,
    /// The target's folder that the file is written below.
    pub root: PathBuf,
    /// The targets that want the file, or wanted it.
    pub targets: Vec<String>,
    /// The modules that the file is made of.
    pub module_ids: Vec<String>,
    /// Whether mcpkg manages only a block or entries of the file.
    pub block: bool,
    pub before: PathState,
    pub after: After,
    /// The reason for the change, as text for the user.
    pub reason: String,
    /// Whether the change overwrites or deletes a file that mcpkg did not write, or that was changed since mcpkg wrote
    /// it.
    pub adopt: bool,
    /// Whether the file was changed since mcpkg wrote it.
    pub drifted: bool,
    /// Why the disk differs from the desired state.
    pub drift: Drift,
    /// Who owns the file after the change.
    pub keep: Keep,
    /// Attributes of a restored file other than its bytes and mode.
    pub attributes: Option<Attributes>,
}

impl Change {
    /// Returns the change as contract 000's JSON, with `targets` and `drifted` added.
    pub fn json(&self) -> Value {
        let mut json = json!({
            "target": self.targets.first(),
            "op": self.op.word(),
            "path": self.path.display().to_string(),
            "path_posix": disk::posix(&self.path),
            "before_sha256": self.before.sha256().map(|sha256| hex::encode(sha256)),
            "after_sha256": self.after.sha256().map(|sha256| hex::encode(sha256)),
        });
        if self.op != Op::Create && (self.op == Op::Update || self.adopt) {
            json["update_kind"] = json!(if self.adopt { "adopt_update" } else { "managed_update" });
        }
        json["reason"] = json!(self.reason);
        json["targets"] = json!(self.targets);
        json["module_ids"] = json!(self.module_ids);
        if self.drifted {
            json["drifted"] = json!(true);
        }
        json
    }
}

pub fn changes_json(changes: &[Change]) -> Vec<Value> {
    changes.iter().map(Change::json).collect()
}

/// Counts the changes of each kind.
pub fn summary(changes: &[Change]) -> Value {
    let count = |op: Op| changes.iter().filter(|change| change.op == op).count();
    json!({ "create": count(Op::Create), "update": count(Op::Update), "delete": count(Op::Delete) })
}

/// A change to the record of a deployed file without a write to disk.
#[derive(Clone, Debug)]
pub enum RowChange {
    /// The file was not managed but already has the desired content. From now on it is managed as a deployed file of
    /// this project (or config repo) and root.
    Claim(Deployed, Arc<[u8]>),
    /// Stores this record, for example because the targets or modules that want the file have changed.
    Keep(Deployed),
    /// The user changed the file in the same way as its source, so it already has the desired content.
    Follow(Deployed, Arc<[u8]>),
    /// Deletes the record of the file at this path. The file on disk stays.
    Forget(String),
}

#[derive(Debug, Default)]
pub struct Plan {
    pub desired: Desired,
    /// The records of the files deployed so far, by path.
    pub rows: BTreeMap<String, Deployed>,
    /// The changes, sorted by target and path.
    pub changes: Vec<Change>,
    /// Changes to rows of files that stay unchanged on disk.
    pub row_changes: Vec<RowChange>,
}

impl Plan {
    /// Returns all files of the plan: those to deploy and those deployed before.
    pub fn files(&self) -> impl Iterator<Item = &Path> + Clone {
        let wanted = self.desired.outputs.values().map(|output| output.path.as_path());
        wanted.chain(self.rows.keys().map(Path::new))
    }

    /// Drops the changes and claims of files that are not named.
    pub fn keep_only(&mut self, is_named: impl Fn(&Path) -> bool) {
        self.changes.retain(|change| is_named(&change.path));
        self.row_changes.retain(|change| match change {
            RowChange::Claim(row, _) => is_named(Path::new(&row.path)),
            RowChange::Keep(_) | RowChange::Follow(..) | RowChange::Forget(_) => true,
        });
    }

    /// Marks files as written by mcpkg if they already had the desired content before the deploy, and the user chose to
    /// adopt them.
    pub fn adopt_claims(&mut self, is_adopted: impl Fn(&Path) -> bool) {
        // Files that the deploy writes become mcpkg's anyway.
        let changed: HashSet<&Path> = self.changes.iter().map(|change| change.path.as_path()).collect();
        let claimed = self.rows.values().filter(|row| {
            let path = Path::new(&row.path);
            let is_claimed = !row.written && row.applied != Image::Absent && self.desired.output(path).is_some();
            is_claimed && is_adopted(path) && !changed.contains(path)
        });
        self.row_changes.extend(claimed.map(|row| RowChange::Keep(Deployed { written: true, ..row.clone() })));
    }

    /// Whether an apply would neither change nor claim a file.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.row_changes.iter().any(|change| matches!(change, RowChange::Claim(..)))
    }
}

pub fn names(targets: &[Target]) -> Vec<String> {
    targets.iter().map(|target| target.name().to_owned()).collect()
}

/// Returns the operation that turns `before` into `after`.
pub fn op_of(before: &PathState, after: &After) -> Op {
    match (before, after) {
        (_, After::Absent) => Op::Delete,
        (PathState::Absent, _) => Op::Create,
        _ => Op::Update,
    }
}
