//! Records which workflow texts a person has approved on this machine, either by approving a draft or by saving the text at a
//! terminal. Texts that arrived with someone else's database, or that a program saved, are not approved.

use serde_json::{Value, json};

use mcpkg_base::approved::Kind;
use mcpkg_base::error::Result;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Confirmation, Context};

/// The text of a workflow, and the place where the workflow is stored.
pub struct WorkflowText<'t> {
    pub database: String,
    pub project: &'t str,
    /// The name of the workflow. Empty when looking up an approval, which depends only on project and text.
    pub name: &'t str,
    pub text: &'t str,
}

impl Approvable for WorkflowText<'_> {
    const KIND: Kind = Kind::Workflow;

    fn covers(&self) -> Vec<u8> {
        Value::from(vec![self.project, self.text]).to_string().into_bytes()
    }

    fn note(&self) -> Value {
        json!({ "database": self.database, "project": self.project, "workflow": self.name })
    }
}

/// Records that a person at this terminal wrote or read a workflow's text, and withdraws the approval of its earlier texts. Does
/// nothing without a terminal, or with `--yes`.
pub fn approve(context: &Context, project: &str, name: &str, text: &str) -> Result<()> {
    if context.confirmation != Confirmation::Ask {
        return Ok(());
    }
    let subject = WorkflowText { database: context.database().display().to_string(), project, name, text };
    let (approved, note, own) = (&context.approved, subject.note(), subject.key());
    for (sha256, earlier) in approved.all(Kind::Workflow)? {
        if earlier == note && sha256 != own {
            approved.withdraw(Kind::Workflow, &sha256)?;
        }
    }
    subject.approve(context)
}

pub fn is_approved(context: &Context, project: &str, text: &str) -> Result<bool> {
    WorkflowText { database: String::new(), project, name: "", text }.is_approved(context)
}
