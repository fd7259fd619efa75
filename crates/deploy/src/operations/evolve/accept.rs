//! `mcpkg evolve accept`: accepts a proposed change and stores it in the project.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::new_skills::is_executable;
use super::proposal::{decide, new_file, summary};
use crate::completions::PROPOSALS;
use crate::{GROUP, project};
use mcpkg_base::clock::Clock;
use mcpkg_base::diff;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::files;
use mcpkg_content::proposals;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{NewProposal, Origin, Proposal, State};
use mcpkg_store::revisions::Author;
use mcpkg_store::{Db, blobs};

/// Accept a proposal
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Accept {
    /// The proposal's number
    #[arg(value_name = "ID")]
    #[arg(add = PROPOSALS)]
    id: i64,
    /// Accept only these hunks of the change, as `mcpkg evolve show` numbers them; the rest stays proposed
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    #[serde(default)]
    hunks: Vec<usize>,
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
    const HELP: &'static str = "Accepting one file of a new skill accepts all proposed files of that skill. The hunks \
        of a change are counted from 1, in the order of `mcpkg evolve show`. With --hunks, the other hunks become a new \
        proposal. --hunks works for changes to deployed files.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg evolve accept 7", "mcpkg evolve accept 7 --hunks 1,3"];
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.to_string()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (proposal, done, rest) = context.write("evolve.accept", &self.id.to_string(), |db, project, author| {
            let mut decided = decide(db, project, self.id, true, author.now, self.note.as_deref())?;
            let proposal = decided.remove(0);
            if !self.hunks.is_empty() {
                return self.in_part(context, db, author, project, proposal);
            }
            if proposal.origin != Origin::Deploy {
                let done = proposals::accept(db, author, project, &context.clock, &proposal)?;
                return Ok((proposal, done, None));
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
            Ok((proposal, done, None))
        })?;
        let sentence = format!("Accepted proposal {}: {done}", self.id);
        let mut data = summary(&Proposal { state: State::Accepted, ..proposal });
        if !self.hunks.is_empty() {
            (data["hunks"], data["rest"]) = (json!(self.hunks), json!(rest));
        }
        Ok(Reply::sentence(sentence, data))
    }
}

impl Accept {
    /// Accepts some hunks of a change, and proposes the other hunks again. Returns the accepted proposal, a sentence
    /// about it, and the number of the new proposal if any hunks are left.
    fn in_part(
        &self,
        context: &Context,
        db: &Db<'_>,
        author: Author<'_>,
        project: &Project,
        proposal: Proposal,
    ) -> Result<(Proposal, String, Option<i64>)> {
        if !has_parts(&proposal) {
            let why = "Only a change to a deployed file can be accepted in part";
            return Err(Error::new(Code::InvalidArgument, why)
                .hint(format!("accept it as a whole: `mcpkg evolve accept {}`", self.id)));
        }
        let file = unchanged(db, project, &proposal)?;
        let (base, proposed) = (content(db, proposal.base)?, content(db, proposal.blob)?);
        let (Ok(old), Ok(new)) = (std::str::from_utf8(&base), std::str::from_utf8(&proposed)) else {
            return Err(Error::new(Code::InvalidArgument, "The change is not to a text, so it has no hunks"));
        };
        let part = diff::only(old, new, &self.hunks)?;
        project::write_back(db, author, project, &proposal.module_id, &file, part.as_bytes(), &context.clock)?;
        let (_, now) = file_of(db, project, &proposal)?.ok_or_else(|| gone(&proposal))?;
        let module = &proposal.module_id;
        if now == proposed {
            return Ok((proposal.clone(), format!("{module} now matches the file on disk"), None));
        }
        let rest = NewProposal {
            project: project.id,
            origin: proposal.origin,
            action: proposal.action,
            item: &proposal.item,
            module_id: module,
            path: &proposal.path,
            base: Some(blobs::put(db, &now)?),
            blob: proposal.blob,
            entry: None,
            actor: &proposal.actor,
            now: author.now,
        };
        let rest = mcpkg_store::proposals::insert(db, rest)?;
        let done = format!("{module} has the hunks {}; the rest is proposal {rest}", list(&self.hunks));
        Ok((proposal, done, Some(rest)))
    }
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Adds a file of a new skill to the project.
fn add(db: &Db<'_>, author: Author<'_>, project: &Project, clock: &Clock, proposal: &Proposal) -> Result<()> {
    let Some((skill, path)) = new_file(proposal) else { return Ok(()) };
    let content = content(db, proposal.blob)?.into();
    // The proposal does not store the mode, so take it from the file on disk if the file still exists.
    let file = files::File { content, executable: is_executable(Path::new(&proposal.path)) };
    files::add_to_skill(db, author, project, clock, skill, path, &file).map(drop)
}

/// Returns the path of the module's file that a proposal changes. Fails if the file was changed in the project since
/// the proposal was made, because accepting the proposal would overwrite that change unseen.
fn unchanged(db: &Db<'_>, project: &Project, proposal: &Proposal) -> Result<String> {
    match file_of(db, project, proposal)? {
        Some((path, bytes)) if bytes == content(db, proposal.base)? => Ok(path),
        Some(_) => Err(changed(proposal, "was changed")),
        None => Err(gone(proposal)),
    }
}

fn gone(proposal: &Proposal) -> Error {
    changed(proposal, "was deleted")
}

fn changed(proposal: &Proposal, why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("{} {why} since proposal {}", proposal.module_id, proposal.id)).hint(
        "compare the two with `mcpkg evolve show` and `mcpkg diff`, then propose the change again or reject the proposal",
    )
}

/// Returns whether single hunks of a proposal can be accepted.
pub(super) fn has_parts(proposal: &Proposal) -> bool {
    proposal.origin == Origin::Deploy && new_file(proposal).is_none()
}

/// Returns the path and the content of the module's file that a proposal changes.
pub(super) fn file_of(db: &Db<'_>, project: &Project, proposal: &Proposal) -> Result<Option<(String, Vec<u8>)>> {
    let modules = project::compose(db, project, |_, _| {})?.modules;
    let module = modules.into_iter().find(|module| module.id == proposal.module_id);
    for file in module.into_iter().flat_map(|module| module.files) {
        if project::item_of(db, project, &proposal.module_id, &file.path)?.as_deref() == Some(&proposal.item) {
            return Ok(Some((file.path, file.bytes.to_vec())));
        }
    }
    Ok(None)
}

/// Reads a blob that every proposal of a deploy must have.
fn content(db: &Db<'_>, blob: Option<i64>) -> Result<Vec<u8>> {
    blobs::get(db, blob.ok_or_else(|| blobs::damaged_value("a proposal has no content"))?)
}
