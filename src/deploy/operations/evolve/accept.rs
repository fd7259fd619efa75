//! `mcpkg evolve accept`: a proposed change becomes a new revision of its prompt or resource.

use schemars::JsonSchema;
use serde::Deserialize;

use super::proposal::{decide, summary};
use crate::content::proposals;
use crate::deploy::{GROUP, project};
use crate::error::{Code, Error, Result};
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use crate::store::projects::Project;
use crate::store::proposals::{Origin, Proposal, State};
use crate::store::{Db, blobs};

/// Accept a proposal
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Accept {
    /// The proposal's number
    #[arg(value_name = "ID")]
    id: i64,
}

impl Operation for Accept {
    const TOOL: &'static str = "accept_proposal";
    const CLI: &'static [&'static str] = &["evolve", "accept"];
    const TITLE: &'static str = "Accept a proposal";
    const ABOUT: &'static str =
        "Write a proposed change into its prompt or resource, as a new revision, or delete what it says";
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.to_string()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (proposal, done) = context.write("evolve.accept", &self.id.to_string(), |db, project, author| {
            let proposal = decide(db, project, self.id, true, author.now)?;
            if proposal.origin != Origin::Deploy {
                let done = proposals::accept(db, author, project, &context.clock, &proposal)?;
                return Ok((proposal, done));
            }
            let file = unchanged(db, project, &proposal)?;
            let bytes = content(db, proposal.blob)?;
            project::write_back(db, author, project, &proposal.module_id, &file, &bytes, &context.clock)?;
            let done = format!("{} is as it is on disk", proposal.module_id);
            Ok((proposal, done))
        })?;
        let sentence = format!("Accepted proposal {}: {done}", self.id);
        Ok(Reply::sentence(sentence, summary(&Proposal { state: State::Accepted, ..proposal })))
    }
}

/// Returns the file of the module that a proposal is about, if it still is as it was when it was proposed: what was
/// changed in mcpkg meanwhile is not overwritten unseen.
fn unchanged(db: &Db<'_>, project: &Project, proposal: &Proposal) -> Result<String> {
    let changed = |why: &str| {
        Error::new(Code::InvalidArgument, format!("{} {why} since proposal {}", proposal.module_id, proposal.id))
            .hint("look at both with `mcpkg evolve show` and `mcpkg diff`, then propose again or reject it")
    };
    let base = content(db, proposal.base)?;
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

/// Returns content that the proposal of a deploy always has.
fn content(db: &Db<'_>, blob: Option<i64>) -> Result<Vec<u8>> {
    blobs::get(db, blob.ok_or_else(|| blobs::damaged_value("a proposal has no content"))?)
}
