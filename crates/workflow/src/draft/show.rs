//! `get_draft`, `mcpkg draft show`: shows a draft.

use schemars::JsonSchema;
use serde::Deserialize;

use super::kept::{Kept, shown};
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::DRAFTS;
use mcpkg_base::error::Result;
use mcpkg_content::answer::check_size;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Rate, Reply, Shape};

/// Show a draft
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Id of the draft, or a unique suffix of the id
    #[arg(add = DRAFTS)]
    id: String,
}

impl Operation for Show {
    const TOOL: &'static str = "get_draft";
    const CLI: &'static [&'static str] = &["draft", "show"];
    const TITLE: &'static str = "Get draft";
    const ABOUT: &'static str = "Get a proposed workflow with its findings and state";
    const EXAMPLES: &'static [&'static str] = &["mcpkg draft show 3f2a1b4c5d6e"];
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn is_hot(&self) -> bool {
        true
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let kept = context.read(|db, project| Kept::named(db, project, &self.id))?;
        let what = || format!("Draft {}", kept.draft.uuid);
        let how = || format!("mcpkg draft show {}", kept.draft.uuid);
        check_size(kept.draft.size, context.max_answer, what, how)?;
        let text = format!("{}\n{}", kept.head(), shown(&kept.text));
        Ok(Reply::new(Body::Text(text), kept.data()))
    }
}
