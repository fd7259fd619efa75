//! Remembers which workflow texts a person on this machine has approved, either as a draft or by saving them at a terminal.
//! Texts that arrived with someone else's database, or that a program saved, are not approved.

use serde_json::{Value, json};

use mcpkg_base::approved::Kind;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::{Confirmation, Context};

/// Records that a person at this terminal wrote or read a workflow's text, and revokes the approval of its earlier texts. Does
/// nothing without a terminal.
pub fn approve(context: &Context, project: &str, name: &str, text: &str) -> Result<()> {
    if context.confirmation != Confirmation::Ask {
        return Ok(());
    }
    let (approved, own) = (&context.approved, digest(project, text));
    let note = json!({ "database": context.database().display().to_string(), "project": project, "workflow": name });
    for (sha256, earlier) in approved.all(Kind::Workflow)? {
        if earlier == note && sha256 != own {
            approved.withdraw(Kind::Workflow, &sha256)?;
        }
    }
    approved.put(Kind::Workflow, &own, &note)
}

pub fn is_approved(context: &Context, project: &str, text: &str) -> Result<bool> {
    Ok(context.approved.get(Kind::Workflow, &digest(project, text))?.is_some())
}

fn digest(project: &str, text: &str) -> String {
    hex::encode(&disk::sha256(Value::from(vec![project, text]).to_string().as_bytes()))
}
