//! `mcpkg draft diff`: shows what a draft changes, as a unified diff and as a list of changes in meaning.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::kept::{Kept, shown};
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::DRAFTS;
use crate::saved::changes;
use mcpkg_base::diff;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Show what a draft changes
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Diff {
    /// Id of the draft, or a unique suffix of the id
    #[arg(add = DRAFTS)]
    id: String,
}

impl Operation for Diff {
    const TOOL: &'static str = "draft_diff";
    const CLI: &'static [&'static str] = &["draft", "diff"];
    const TITLE: &'static str = "Show what a draft changes";
    const ABOUT: &'static str = "Show what a draft changes, as a diff and as a summary";
    const HELP: &'static str = "With --json, each change includes its positions in both texts. In these positions, lines and columns \
        start at 1, and ends are exclusive.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg draft diff 3f2a1b4c5d6e"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let kept = context.read(|db, project| Kept::named(db, project, &self.id))?;
        let (text, changes) = (kept.diff(), kept.changes());
        let data = json!({
            "id": kept.draft.uuid.to_string(),
            "workflow": kept.draft.name,
            "state": kept.draft.state.word(),
            "base_revision": kept.draft.base.map(|base| base.revision),
            "same": text.is_empty(),
            "diff": text,
            "hunks": diff::hunks(&kept.base, &kept.text),
            "changes": changes,
            "summary": changes.iter().flatten().map(ToString::to_string).collect::<Vec<_>>(),
        });
        Ok(Reply::new(changes::body(shown(&text), &changes), data))
    }
}
