//! `mcpkg draft reject`: rejects a draft.

use schemars::JsonSchema;
use serde::Deserialize;

use super::kept::{Kept, overtaken};
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::DRAFTS;
use mcpkg_base::error::Result;
use mcpkg_core::note;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::drafts::{self, Decision};

/// Reject a draft
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Reject {
    /// Id of the draft, or a unique suffix of the id
    #[arg(add = DRAFTS)]
    id: String,
    /// What to tell the agent that proposed it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

impl Operation for Reject {
    const TOOL: &'static str = "reject_draft";
    const CLI: &'static [&'static str] = &["draft", "reject"];
    const TITLE: &'static str = "Reject a draft";
    const ABOUT: &'static str = "Reject a draft; the draft stays readable until it is pruned";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg draft reject 3f2a1b4c5d6e", "mcpkg draft reject 3f2a1b4c5d6e --note 'the plan is too large'"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let note = note::checked(self.note.as_deref())?;
        let kept = context.write("draft.reject", &self.id, |db, project, author| {
            let kept = Kept::waiting(db, project, &self.id)?;
            let uuid = kept.draft.uuid;
            let decision = Decision { approved: false, actor: author.actor, now: author.now, note };
            if !drafts::decide(db, uuid, kept.draft.blob, decision)? {
                return Err(overtaken(uuid));
            }
            Kept::named(db, project, &uuid.to_string())
        })?;
        let sentence = format!("Rejected draft {} of workflow '{}'", kept.draft.uuid, kept.draft.name);
        Ok(Reply::sentence(sentence, super::kept::data(&kept.project, &kept.draft).into()))
    }
}
