//! `mcpkg evolve show`: shows line by line what a proposal would change.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::accept::{file_of, has_parts};
use super::proposal::{get, new_file, summary};
use crate::GROUP;
use crate::completions::PROPOSALS;
use mcpkg_base::diff;
use mcpkg_base::error::Result;
use mcpkg_content::proposals;
use mcpkg_core::note;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::proposals::{Origin, State};

/// Show a proposal
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// The proposal's number
    #[arg(value_name = "ID")]
    #[arg(add = PROPOSALS)]
    id: i64,
}

impl Operation for Show {
    const TOOL: &'static str = "show_proposal";
    const CLI: &'static [&'static str] = &["evolve", "show"];
    const TITLE: &'static str = "Show a proposal";
    const ABOUT: &'static str = "Show what a proposal would change, line by line";
    const EXAMPLES: &'static [&'static str] = &["mcpkg evolve show 7"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        context.read(|db, project| {
            let proposal = get(db, project, self.id)?;
            let (old, new) = proposals::contents(db, &proposal)?;
            let now = match (proposal.origin, new_file(&proposal)) {
                (_, Some(_)) => None,
                (Origin::Deploy, _) => file_of(db, project, &proposal)?.map(|(_, bytes)| bytes),
                _ => proposals::now(db, project, &proposal)?,
            };
            let now = now.filter(|now| *now != old && proposal.state == State::Open);
            let (old, new) = (String::from_utf8_lossy(&old), String::from_utf8_lossy(&new));
            let name = &proposal.module_id;
            let text = diff::unified(&old, &new, &format!("a/{name}"), &format!("b/{name}"));
            let mut data = summary(&proposal);
            data["unified"] = json!(text);
            data["hunks"] = json!(diff::hunks(&old, &new));
            data["in_part"] = json!(has_parts(&proposal));
            data["base"] = json!(old);
            data["proposed"] = json!(new);
            if let Some(now) = now {
                // Somebody changed the item after the proposal was made, so the proposal cannot be accepted.
                data["now"] = json!(String::from_utf8_lossy(&now));
            }
            let note = proposal.note.as_deref().map(note::quoted);
            let note = note.map(|note| Body::Sentence(format!("{}: {note}", proposal.state.word())));
            Ok(Reply::new(Body::Several(note.into_iter().chain([Body::Diff(text)]).collect()), data))
        })
    }
}
