//! The row of a snapshot, and the rows of its files.

use uuid::Uuid;

use crate::deploys::Image;
use crate::engine::Row;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The action that made a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Deploy,
    Rollback,
    /// Missing files were written again.
    Restore,
}

impl Kind {
    /// Returns the kind's name, as it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Deploy => "deploy",
            Kind::Rollback => "rollback",
            Kind::Restore => "restore",
        }
    }
}

/// The owner of a file after a snapshot has changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// mcpkg, which wrote the file.
    Written,
    /// mcpkg, although it did not write the file: overwriting it requires `adopt`.
    Claimed,
    /// The user. The file is as it was before mcpkg deployed anything there.
    Nobody,
}

impl Keep {
    const ALL: [Keep; 3] = [Keep::Written, Keep::Claimed, Keep::Nobody];

    /// Returns the name that the column `keep` stores for this owner.
    pub const fn word(self) -> &'static str {
        match self {
            Keep::Written => "written",
            Keep::Claimed => "claimed",
            Keep::Nobody => "nobody",
        }
    }

    pub(super) fn from_row(row: &Row<'_>, column: usize) -> Result<Self> {
        let word: &str = row.get(column)?;
        // The schema allows no other words.
        Ok(Self::ALL.into_iter().find(|keep| keep.word() == word).unwrap_or(Keep::Claimed))
    }
}

/// The states of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The snapshot is being applied, or its process was killed.
    Applying,
    /// The snapshot was applied completely.
    Applied,
    /// Applying failed, and the changes were undone.
    Undone,
    /// The snapshot's stored files were deleted, except for those that other snapshots need.
    Pruned,
}

impl State {
    /// Returns the state's name, as it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            State::Applying => "applying",
            State::Applied => "applied",
            State::Undone => "undone",
            State::Pruned => "pruned",
        }
    }
}

/// A snapshot that is about to be applied.
#[derive(Clone, Debug)]
pub struct NewSnapshot<'a> {
    pub uuid: Uuid,
    pub place: i64,
    pub kind: Kind,
    /// The targets that were requested.
    pub targets: &'a [String],
    pub profile: &'a str,
    /// The SHA-256 of the plan, in hex.
    pub plan_hash: &'a str,
    /// The target of a rollback: a snapshot's id, or `pristine`.
    pub rolled_back_to: Option<&'a str>,
    pub actor: &'a str,
    pub now: Millis,
}

#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The key. Later snapshots have greater ones.
    pub id: i64,
    pub uuid: Uuid,
    pub place: i64,
    /// `deploy`, `rollback` or `restore`.
    pub kind: String,
    /// `applying`, `applied`, `undone` or `pruned`.
    pub state: String,
    /// The targets that were requested.
    pub targets: Vec<String>,
    pub profile: String,
    /// The target of a rollback: a snapshot's id, or `pristine`.
    pub rolled_back_to: Option<String>,
    /// Whether pruning skips the snapshot.
    pub pinned: bool,
    pub actor: String,
    pub created_at: Millis,
    /// How many files the snapshot changed.
    pub files: i64,
}

/// A file that a snapshot changed.
#[derive(Clone, Debug)]
pub struct File {
    /// The key of the snapshot; 0 if it is not stored yet.
    pub snapshot: i64,
    /// The absolute path.
    pub path: String,
    /// The folder of the target that contains the file.
    pub root: String,
    /// `create`, `update`, `delete` or `claim`.
    pub op: String,
    /// The targets that the file was deployed for.
    pub targets: Vec<String>,
    /// The modules that make up the file.
    pub module_ids: Vec<String>,
    /// Whether only a block in the file belongs to mcpkg.
    pub block: bool,
    pub keep: Keep,
    pub before: Image,
    pub after: Image,
    /// Further facts about the file before the change, as the column stores them. In results of
    /// [`state_at`](super::state_at) and [`state_before`](super::state_before), facts about the file to restore.
    pub attributes: Option<String>,
}
