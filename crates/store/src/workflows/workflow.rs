//! A workflow's row, and the values for a new one.

use uuid::Uuid;

use mcpkg_base::clock::Millis;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflow {
    /// The key inside the database.
    pub id: i64,
    /// The id that users see.
    pub uuid: Uuid,
    /// Unique in its project.
    pub name: String,
    /// The summary of its text.
    pub summary: Summary,
    /// The key of its text.
    pub blob: i64,
    /// Bytes of its text.
    pub size: i64,
    /// The SHA-256 of its text.
    pub sha256: [u8; 32],
    /// How often it was written.
    pub revision: i64,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last written.
    pub updated_at: Millis,
}

/// The summary of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub title: Option<String>,
    pub description: Option<String>,
    /// The SHA-256 of what it says, whatever its layout and its comments.
    pub model_hash: [u8; 32],
}

/// A text to be stored, with what it says of itself.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// The name of the workflow.
    pub name: &'a str,
    pub text: &'a str,
    pub summary: &'a Summary,
}

/// The actions that make a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The workflow is made.
    Create,
    Update,
    /// Its name does, and so its text.
    Rename,
    Delete,
    /// An earlier text comes back.
    Restore,
}

impl Action {
    /// Returns the word for rows, people and programs.
    pub const fn word(self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Update => "update",
            Action::Rename => "rename",
            Action::Delete => "delete",
            Action::Restore => "restore",
        }
    }
}

/// The action that made a revision, and the reason.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub action: Action,
    /// The number that a restore came from.
    pub restored: Option<i64>,
    /// Why, in the author's words.
    pub message: Option<&'a str>,
    /// The draft that was approved.
    pub draft: Option<Uuid>,
}

impl Change<'_> {
    /// Returns a change without a reason.
    pub const fn plain(action: Action) -> Self {
        Self { action, restored: None, message: None, draft: None }
    }
}
