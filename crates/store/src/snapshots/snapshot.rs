//! A snapshot and its files.

use uuid::Uuid;

use crate::deploys::Image;
use crate::engine::Row;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The action that made a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A deploy that was applied.
    Deploy,
    Rollback,
    /// Missing files that were written again.
    Restore,
}

impl Kind {
    /// The word for users and programs.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Deploy => "deploy",
            Kind::Rollback => "rollback",
            Kind::Restore => "restore",
        }
    }
}

/// The owner of a file after an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// mcpkg's: it was written.
    Written,
    /// mcpkg looks after it, and did not write it: to overwrite it needs adopt.
    Claimed,
    /// Nobody's: it is as it was before mcpkg came.
    Nobody,
}

impl Keep {
    const ALL: [Keep; 3] = [Keep::Written, Keep::Claimed, Keep::Nobody];

    /// The word of the column.
    pub const fn word(self) -> &'static str {
        match self {
            Keep::Written => "written",
            Keep::Claimed => "claimed",
            Keep::Nobody => "nobody",
        }
    }

    pub(super) fn from_row(row: &Row<'_>, column: usize) -> Result<Self> {
        let word: &str = row.get(column)?;
        // The column's check takes no other word.
        Ok(Self::ALL.into_iter().find(|keep| keep.word() == word).unwrap_or(Keep::Claimed))
    }
}

/// How far a snapshot came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is being applied, or the process that applied it died.
    Applying,
    /// It was applied whole.
    Applied,
    /// It failed, and what it had written was put back.
    Undone,
    /// Its images were deleted, except those that other snapshots need.
    Pruned,
}

impl State {
    /// The word for users and programs.
    pub const fn word(self) -> &'static str {
        match self {
            State::Applying => "applying",
            State::Applied => "applied",
            State::Undone => "undone",
            State::Pruned => "pruned",
        }
    }
}

/// A snapshot to be begun.
#[derive(Clone, Debug)]
pub struct NewSnapshot<'a> {
    /// The id that users see.
    pub uuid: Uuid,
    pub place: i64,
    /// The action that made it.
    pub kind: Kind,
    /// The targets it was asked for.
    pub targets: &'a [String],
    pub profile: &'a str,
    /// The SHA-256 of the plan that is applied, in hex.
    pub plan_hash: &'a str,
    /// The target of a rollback: a snapshot's id, or `pristine`.
    pub rolled_back_to: Option<&'a str>,
    pub actor: &'a str,
    pub now: Millis,
}

#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its key; later ones are greater.
    pub id: i64,
    /// The id that users see.
    pub uuid: Uuid,
    pub place: i64,
    /// The action that made it: deploy, rollback or restore.
    pub kind: String,
    /// applying, applied, undone or pruned.
    pub state: String,
    /// The targets it was asked for.
    pub targets: Vec<String>,
    pub profile: String,
    /// The target of a rollback.
    pub rolled_back_to: Option<String>,
    /// Whether pruning leaves it alone.
    pub pinned: bool,
    pub actor: String,
    pub created_at: Millis,
    /// How many files it changed.
    pub files: i64,
}

/// One file of a snapshot.
#[derive(Clone, Debug)]
pub struct File {
    /// The key of the snapshot; 0 for one that is not stored yet.
    pub snapshot: i64,
    /// Where, absolute.
    pub path: String,
    /// The folder of the target that it lies below.
    pub root: String,
    /// create, update, delete or claim.
    pub op: String,
    /// The targets that want it.
    pub targets: Vec<String>,
    /// The modules it is made of.
    pub module_ids: Vec<String>,
    /// Whether only a block in it is kept.
    pub block: bool,
    pub keep: Keep,
    pub before: Image,
    pub after: Image,
    /// Other facts about the file that was there, as stored in the column. In rows that describe a file to restore
    /// ([`state_at`](super::state_at), [`state_before`](super::state_before)), the facts of that file.
    pub attributes: Option<String>,
}
