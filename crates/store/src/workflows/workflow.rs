//! The row of a workflow, and the values for a new or changed one.

use uuid::Uuid;

use mcpkg_base::clock::Millis;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflow {
    pub id: i64,
    pub uuid: Uuid,
    /// Unique in its project.
    pub name: String,
    pub summary: Summary,
    pub blob: i64,
    pub size: i64,
    pub sha256: [u8; 32],
    pub revision: i64,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// The facts about a workflow that its text contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub title: Option<String>,
    pub description: Option<String>,
    /// The SHA-256 of the workflow's model, which does not depend on formatting and comments.
    pub model_hash: [u8; 32],
}

/// A text to store, and the facts that it contains about the workflow.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    pub name: &'a str,
    pub text: &'a str,
    pub summary: &'a Summary,
}

/// The actions that make a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create,
    Update,
    /// The name changes, and so does the text, which contains the name.
    Rename,
    Delete,
    /// An earlier text is restored.
    Restore,
}

impl Action {
    /// Returns the action's name, as it is stored and shown.
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

/// How and why a revision is made.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub action: Action,
    /// The number of the restored revision.
    pub restored: Option<i64>,
    /// The author's reason.
    pub message: Option<&'a str>,
    /// The approved draft that became this revision.
    pub draft: Option<Uuid>,
}

impl Change<'_> {
    /// Returns a change without a reason.
    pub const fn plain(action: Action) -> Self {
        Self { action, restored: None, message: None, draft: None }
    }
}
