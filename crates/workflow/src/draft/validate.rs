//! `mcpkg draft validate`: checks a draft again, because commands may have changed since it was proposed.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::kept::{Kept, shown};
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::DRAFTS;
use crate::saved::model::{self, Model};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Validate a draft
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Validate {
    /// Id of the draft, or a unique suffix of the id
    #[arg(add = DRAFTS)]
    id: String,
}

impl Operation for Validate {
    const TOOL: &'static str = "validate_draft";
    const CLI: &'static [&'static str] = &["draft", "validate"];
    const TITLE: &'static str = "Validate a draft";
    const ABOUT: &'static str = "Check a draft against the commands that are available now";
    const EXAMPLES: &'static [&'static str] = &["mcpkg draft validate 3f2a1b4c5d6e"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let kept = context.read(|db, project| Kept::named(db, project, &self.id))?;
        let (_, checked) = Model::checked(context, &kept.text)?;
        let lines = model::lines(&checked.findings);
        let body = match lines.is_empty() {
            true => Body::Sentence(format!("Draft {} has no findings", kept.draft.uuid)),
            false => Body::Text(shown(&lines.join("\n"))),
        };
        let data = json!({
            "id": kept.draft.uuid.to_string(), "workflow": kept.draft.name, "state": kept.draft.state.word(),
            "findings": checked.findings,
        });
        let failed = checked.sound.is_none();
        Ok(Reply { failed, ..Reply::new(body, data) })
    }
}
