//! `mcpkg evolve accept`: makes a proposed change a new revision of its prompt or resource.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::new_skills::is_executable;
use super::proposal::{decide, new_file, summary};
use crate::completions::PROPOSALS;
use crate::{GROUP, project};
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::files;
use mcpkg_content::proposals;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{Origin, Proposal, State};
use mcpkg_store::revisions::Author;
use mcpkg_store::{Db, blobs};

/// Accept a proposal
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Accept {
    /// The proposal's number
    #[arg(value_name = "ID")]
    #[arg(add = PROPOSALS)]
    id: i64,
    /// What to tell the agent that proposed it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

impl Operation for Accept {
    const TOOL: &'static str = "accept_proposal";
    const CLI: &'static [&'static str] = &["evolve", "accept"];
    const TITLE: &'static str = "Accept a proposal";
    const ABOUT: &'static str =
        "Accept a proposed change: save a new revision of the prompt or resource, or delete the prompt or resource";
    const HELP: &'static str = "Accepting one file of a new skill accepts all proposed files of that skill.";
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
        let (proposal, done) = context.write("evolve.accept", &self.id.to_string(), |db, project, author| {
            let mut decided = decide(db, project, self.id, true, author.now, self.note.as_deref())?;
            let proposal = decided.remove(0);
            if proposal.origin != Origin::Deploy {
                let done = proposals::accept(db, author, project, &context.clock, &proposal)?;
                return Ok((proposal, done));
            }
            if new_file(&proposal).is_some() {
                for proposal in std::iter::once(&proposal).chain(&decided) {
                    add(db, author, project, &context.clock, proposal)?;
                }
            } else {
                let file = unchanged(db, project, &proposal)?;
                let bytes = content(db, proposal.blob)?;
                project::write_back(db, author, project, &proposal.module_id, &file, &bytes, &context.clock)?;
            }
            let done = format!("{} now matches the file on disk", proposal.module_id);
            Ok((proposal, done))
        })?;
        let sentence = format!("Accepted proposal {}: {done}", self.id);
        Ok(Reply::sentence(sentence, summary(&Proposal { state: State::Accepted, ..proposal })))
    }
}

/// Adds a file of a new skill to the project.
fn add(db: &Db<'_>, author: Author<'_>, project: &Project, clock: &Clock, proposal: &Proposal) -> Result<()> {
    let Some((skill, path)) = new_file(proposal) else { return Ok(()) };
    let content = content(db, proposal.blob)?.into();
    // The row has no mode, so the mode is read from the file, if that still exists.
    let file = files::File { content, executable: is_executable(Path::new(&proposal.path)) };
    files::add_to_skill(db, author, project, clock, skill, path, &file).map(drop)
}

/// Returns the path of the module's file that a proposal changes. Fails if the file has changed in mcpkg since the
/// proposal, so that no change is overwritten unseen.
fn unchanged(db: &Db<'_>, project: &Project, proposal: &Proposal) -> Result<String> {
    let changed = |why: &str| {
        Error::new(Code::InvalidArgument, format!("{} {why} since proposal {}", proposal.module_id, proposal.id)).hint(
            "compare the two with `mcpkg evolve show` and `mcpkg diff`, then propose the change again or reject \
                the proposal",
        )
    };
    let base = content(db, proposal.base)?;
    let modules = project::compose(db, project, |_, _| {})?.modules;
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

/// Returns content that every proposal of a deploy must have.
fn content(db: &Db<'_>, blob: Option<i64>) -> Result<Vec<u8>> {
    blobs::get(db, blob.ok_or_else(|| blobs::damaged_value("a proposal has no content"))?)
}
