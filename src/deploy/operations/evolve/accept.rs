//! `mcpkg evolve accept`: a proposed change becomes a new revision of its prompt or resource.

use schemars::JsonSchema;
use serde::Deserialize;

use super::proposal::{decide, summary};
use crate::deploy::completions::PROPOSALS;
use crate::deploy::{GROUP, project};
use crate::error::{Code, Error, Result};
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use crate::store::projects::Project;
use crate::store::proposals::Proposal;
use crate::store::{Db, blobs};

/// Accept a proposal
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Accept {
    /// The proposal's number
    #[arg(value_name = "ID")]
    #[arg(add = PROPOSALS)]
    id: i64,
}

impl Operation for Accept {
    const TOOL: &'static str = "accept_proposal";
    const CLI: &'static [&'static str] = &["evolve", "accept"];
    const TITLE: &'static str = "Accept a proposal";
    const ABOUT: &'static str = "Write a proposed change into its prompt or resource, as a new revision";
    const EXAMPLES: &'static [&'static str] = &["mcpkg evolve accept 7"];
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.to_string()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let proposal = context.write("evolve.accept", &self.id.to_string(), |db, project, author| {
            let proposal = decide(db, project, self.id, true, author.now)?;
            let file = unchanged(db, project, &proposal)?;
            let bytes = blobs::get(db, proposal.blob)?;
            project::write_back(db, author, project, &proposal.module_id, &file, &bytes, &context.clock)?;
            Ok(proposal)
        })?;
        let sentence = format!("Accepted proposal {}: {} is as it is on disk", self.id, proposal.module_id);
        Ok(Reply::sentence(sentence, summary(&Proposal { state: "accepted".to_owned(), ..proposal })))
    }
}

/// Returns the file of the module that a proposal is about, if it still is as it was when it was proposed: what was
/// changed in mcpkg meanwhile is not overwritten unseen.
fn unchanged(db: &Db<'_>, project: &Project, proposal: &Proposal) -> Result<String> {
    let changed = |why: &str| {
        Error::new(Code::InvalidArgument, format!("{} {why} since proposal {}", proposal.module_id, proposal.id))
            .hint("look at both with `mcpkg evolve show` and `mcpkg diff`, then propose again or reject it")
    };
    let base = blobs::get(db, proposal.base)?;
    let modules = project::compose(db, project)?.0;
    let module = modules.iter().find(|module| module.id == proposal.module_id);
    let files = module.into_iter().flat_map(|module| &module.files);
    let of_item = |path: &str| {
        Ok::<_, Error>(project::item_of(db, project, &proposal.module_id, path)?.as_deref() == Some(&proposal.item))
    };
    for file in files {
        if of_item(&file.path)? {
            return if *file.bytes == *base { Ok(file.path.clone()) } else { Err(changed("was changed")) };
        }
    }
    Err(changed("went away"))
}
