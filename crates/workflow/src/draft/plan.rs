//! `mcpkg draft plan`: shows what running a draft would do.

use schemars::JsonSchema;
use serde::Deserialize;

use super::kept::Kept;
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::DRAFTS;
use crate::text::dry_run::Known;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Plan a draft
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Plan {
    /// Id of the draft, or a unique suffix of the id
    #[arg(add = DRAFTS)]
    id: String,
    #[command(flatten)]
    #[serde(flatten)]
    known: Known,
}

impl Operation for Plan {
    const TOOL: &'static str = "plan_draft";
    const CLI: &'static [&'static str] = &["draft", "plan"];
    const TITLE: &'static str = "Plan a draft";
    const ABOUT: &'static str = "Show what a draft would do, without running it";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg draft plan 3f2a1b4c5d6e", "mcpkg draft plan 3f2a1b4c5d6e --input region=us"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let kept = context.read(|db, project| Kept::named(db, project, &self.id))?;
        let mut reply = self.known.reply(context, &kept.text)?;
        reply.data["id"] = kept.draft.uuid.to_string().into();
        Ok(reply)
    }
}
