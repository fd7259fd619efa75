//! `mcpkg diff`: what a deploy would change, line by line.

use schemars::JsonSchema;
use serde::Deserialize;

use super::plan::{Show, shown};
use super::with_schema;
use crate::deploy::GROUP;
use crate::deploy::plan::prepare::Prepared;
use crate::deploy::plan::show::diffs;
use crate::error::Result;
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Show the differences a deploy would make
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ShowDiff {
    #[command(flatten)]
    show: Show,
}

impl Operation for ShowDiff {
    const TOOL: &'static str = "diff";
    const CLI: &'static [&'static str] = &["diff"];
    const TITLE: &'static str = "Diff a deploy";
    const ABOUT: &'static str = "Show what a deploy would change in the agents' files, line by line";
    const EXAMPLES: &'static [&'static str] = &["mcpkg diff", "mcpkg diff --target cursor --check"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let prepared = Prepared::new(context, &self.show.choice)?;
        let body = diffs(&prepared.plan.changes, &prepared.site);
        Ok(shown(prepared, body, self.show.check))
    }
}
