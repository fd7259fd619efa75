//! `evolve list|show|accept|reject`: what becomes of the changes that were proposed to a project.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::clock::{self, Millis};
use crate::deploy::GROUP;
use crate::deploy::project;
use crate::error::{Code, Error, Result};
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use crate::store::projects::Project;
use crate::store::proposals::{self, Proposal};
use crate::store::{Db, blobs};

/// List proposals
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// Those that were decided too
    #[arg(long)]
    #[serde(default)]
    all: bool,
}

impl Operation for List {
    const TOOL: &'static str = "list_proposals";
    const CLI: &'static [&'static str] = &["evolve", "list"];
    const TITLE: &'static str = "List proposals";
    const ABOUT: &'static str = "List the changes made on disk that were proposed to the project";
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let found = context.read(|db, project| proposals::list(db, project.id, self.all))?;
        let rows = found.iter().map(|proposal| {
            let id = proposal.id.to_string();
            vec![id, proposal.state.clone(), proposal.module_id.clone(), proposal.path.clone()]
        });
        let columns = &["id", "state", "module", "made in"];
        let table = Table { columns, rows: rows.collect(), empty: "Nothing is proposed".to_owned() };
        let list: Vec<Value> = found.iter().map(summary).collect();
        Ok(Reply::new(Body::Table(table), json!({ "proposals": list })))
    }
}

fn summary(proposal: &Proposal) -> Value {
    json!({
        "id": proposal.id,
        "state": proposal.state,
        "module_id": proposal.module_id,
        "path": proposal.path,
        "actor": proposal.actor,
        "created_at": clock::rfc3339(proposal.created_at),
    })
}

/// Show a proposal
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// The proposal's number
    #[arg(value_name = "ID")]
    id: i64,
}

impl Operation for Show {
    const TOOL: &'static str = "show_proposal";
    const CLI: &'static [&'static str] = &["evolve", "show"];
    const TITLE: &'static str = "Show a proposal";
    const ABOUT: &'static str = "Show what a proposal would change, line by line";
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        context.read(|db, project| {
            let proposal = get(db, project, self.id)?;
            let (old, new) = (blobs::get(db, proposal.base)?, blobs::get(db, proposal.blob)?);
            let (old, new) = (String::from_utf8_lossy(&old), String::from_utf8_lossy(&new));
            let name = &proposal.module_id;
            let diff = TextDiff::from_lines(&*old, &*new);
            let text =
                diff.unified_diff().context_radius(3).header(&format!("a/{name}"), &format!("b/{name}")).to_string();
            let mut data = summary(&proposal);
            data["unified"] = json!(text);
            Ok(Reply::new(Body::Diff(text), data))
        })
    }
}

fn get(db: &Db<'_>, project: &Project, id: i64) -> Result<Proposal> {
    proposals::get(db, project.id, id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("Project '{}' has no proposal {id}", project.name))
            .with_details(json!({ "id": id }))
            .hint("`mcpkg evolve list` shows those there are")
    })
}

/// Accepts or rejects an open proposal: whoever comes second hears what became of it.
fn decide(db: &Db<'_>, project: &Project, id: i64, accepted: bool, now: Millis) -> Result<Proposal> {
    let proposal = get(db, project, id)?;
    if proposals::decide(db, proposal.id, accepted, now)? {
        return Ok(proposal);
    }
    Err(Error::new(Code::InvalidArgument, format!("The proposal {id} was {} already", proposal.state)))
}

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
    const ABOUT: &'static str = "Write a proposed change into its prompt or resource, as a new revision";
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

/// Reject a proposal
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Reject {
    /// The proposal's number
    #[arg(value_name = "ID")]
    id: i64,
}

impl Operation for Reject {
    const TOOL: &'static str = "reject_proposal";
    const CLI: &'static [&'static str] = &["evolve", "reject"];
    const TITLE: &'static str = "Reject a proposal";
    const ABOUT: &'static str = "Leave the prompt or resource as it is; the file on disk stays too";
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
            decide(db, project, self.id, false, author.now)
        })?;
        let sentence = format!("Rejected proposal {}", self.id);
        Ok(Reply::sentence(sentence, summary(&Proposal { state: "rejected".to_owned(), ..proposal }))
            .hint("`mcpkg deploy --apply --adopt` puts the file on disk back"))
    }
}
