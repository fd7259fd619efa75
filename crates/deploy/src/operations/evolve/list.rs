//! `mcpkg evolve list`: lists the proposed changes.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::proposal::summary;
use crate::GROUP;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use mcpkg_store::proposals;

/// List proposals
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// Also list accepted and rejected proposals
    #[arg(long)]
    #[serde(default)]
    all: bool,
}

impl Operation for List {
    const TOOL: &'static str = "list_proposals";
    const CLI: &'static [&'static str] = &["evolve", "list"];
    const TITLE: &'static str = "List proposals";
    const ABOUT: &'static str =
        "List proposed changes to the project: changes made on disk, in a source, or in a synced folder";
    const EXAMPLES: &'static [&'static str] = &["mcpkg evolve list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("proposals");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let found = context.read(|db, project| proposals::list(db, project.id, self.all))?;
        let rows = found.iter().map(|proposal| {
            let id = proposal.id.to_string();
            let (state, what) = (proposal.state.word().to_owned(), proposal.action.word().replace('_', " "));
            vec![id, state, what, proposal.module_id.clone(), proposal.path.clone()]
        });
        let columns = &["ID", "STATE", "WHAT", "MODULE", "MADE IN"];
        let table = Table { columns, rows: rows.collect(), empty: "Nothing is proposed".to_owned() };
        let list: Vec<Value> = found.iter().map(summary).collect();
        Ok(Reply::new(Body::Table(table), json!({ "proposals": list })))
    }
}
