//! `mcpkg evolve reject`: rejects a proposal and leaves the prompt or resource unchanged.

use schemars::JsonSchema;
use serde::Deserialize;

use super::proposal::{decide, summary};
use crate::GROUP;
use crate::completions::PROPOSALS;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::proposals::{Action, Origin, Proposal, State};

/// Reject a proposal
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Reject {
    /// The proposal's number
    #[arg(value_name = "ID")]
    #[arg(add = PROPOSALS)]
    id: i64,
    /// What to tell the agent that proposed it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

impl Operation for Reject {
    const TOOL: &'static str = "reject_proposal";
    const CLI: &'static [&'static str] = &["evolve", "reject"];
    const TITLE: &'static str = "Reject a proposal";
    const ABOUT: &'static str = "Reject a proposed change; the prompt or resource and the file on disk stay unchanged";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg evolve reject 7", "mcpkg evolve reject 7 --note 'keep the old wording'"];
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.to_string()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let proposal = context.write("evolve.reject", &self.id.to_string(), |db, project, author| {
            Ok(decide(db, project, self.id, false, author.now, self.note.as_deref())?.remove(0))
        })?;
        let sentence = format!("Rejected proposal {}", self.id);
        let hint = match (proposal.origin, proposal.action) {
            (Origin::Deploy, _) => Some("to restore the file on disk: `mcpkg deploy --apply --adopt`"),
            (Origin::Sync, Action::DeleteFile) => Some("the next `mcpkg sync` brings the file back into the project"),
            (Origin::Sync, _) => Some("the next `mcpkg sync` writes the project's version to the folder"),
            (Origin::Source, _) => None,
        };
        let reply = Reply::sentence(sentence, summary(&Proposal { state: State::Rejected, ..proposal }));
        Ok(hint.into_iter().fold(reply, Reply::hint))
    }
}
