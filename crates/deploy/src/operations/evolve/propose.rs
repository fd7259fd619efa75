//! `mcpkg evolve propose`: turns a user's changes on disk into proposals for the project, or into a branch of the
//! config repo.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::candidates::{Candidate, Candidates};
use super::new_skills;
use super::proposal::new_item;
use crate::GROUP;
use crate::answer::{self, Page};
use crate::desired::unmap::Edit;
use crate::module::Layer;
use crate::operations::gates::{check_module, unconfirmed};
use crate::operations::with_schema;
use crate::plan::prepare::Prepared;
use crate::project;
use crate::repo::{self, Repo};
use crate::source::{Choice, Site, Source};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::note;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::blobs;
use mcpkg_store::proposals::{self, Action, NewProposal, Origin, Proposal};

/// The overlay of a config repo that a proposal is written into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum OverlayScope {
    /// Overlay for every machine and project
    #[default]
    Global,
    /// Overlay for this machine
    Machine,
    /// Overlay for this project
    Project,
}

impl OverlayScope {
    const fn layer(self) -> Layer {
        match self {
            OverlayScope::Global => Layer::Global,
            OverlayScope::Machine => Layer::Machine,
            OverlayScope::Project => Layer::Project,
        }
    }
}

/// Propose what users changed on disk
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Propose {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Propose only changes to this module
    #[arg(long, value_name = "ID")]
    module_id: Option<String>,
    /// Overlay to write to, in the config repo
    #[arg(long = "overlay", value_name = "SCOPE", value_enum, default_value_t)]
    #[serde(default, rename = "scope")]
    overlay: OverlayScope,
    /// Branch to create in the config repo [default: evolve/propose-<scope>-<module>-<time>]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Show what would be proposed, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Confirm that files may be written
    #[arg(skip)]
    #[serde(default)]
    yes: bool,
}

impl Operation for Propose {
    const TOOL: &'static str = "evolve_propose";
    const CLI: &'static [&'static str] = &["evolve", "propose"];
    const TITLE: &'static str = "Propose changes made on disk";
    const ABOUT: &'static str = "Turn users' changes to deployed files into proposals for the project, or into an overlay on a new \
        branch of the config repo";
    const HELP: &'static str = "mcpkg does not propose changes made only in the source. If a folder of deployed skills contains a new \
        skill that the project does not have, mcpkg also proposes that skill, with one proposal per file. To list a project's proposals, \
        run `mcpkg evolve list`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg evolve propose --dry-run", "mcpkg evolve propose", "mcpkg evolve accept 1"];
    const EFFECT: Effect = Effect::Write;
    const IDEMPOTENT: bool = false;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("evolve_propose");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let prepared = Prepared::new(context, &self.choice)?;
        let mut found = Candidates::find(&prepared, self.module_id.as_deref());
        if let Source::Project(_) = prepared.site.source {
            new_skills::find(&prepared, &mut found);
        }
        if let Some(id) = self.module_id.as_deref() {
            found.candidates.retain(|candidate| candidate.edit.module_id == id);
            if found.candidates.is_empty() {
                check_module(&prepared, id)?;
            }
        }
        if answer::is_brief(context) {
            found.for_agent();
        }
        let reason = match (found.candidates.is_empty(), found.skipped.is_empty(), self.dry_run) {
            (true, true, _) => Some("no_drift"),
            (true, false, _) => Some("no_proposeable_drift"),
            (false, _, true) => Some("dry_run"),
            (false, _, false) => None,
        };
        found.warnings.splice(0..0, prepared.warnings.iter().cloned());
        if let Some(reason) = reason {
            let data = json!({
                "created": false,
                "reason": reason,
                "candidates": found.candidates.iter().map(Candidate::json).collect::<Vec<_>>(),
                "summary": found.summary(),
                "skipped": found.skipped_json(),
            });
            let table = found.table(&prepared.site.place.root);
            let body = match reason {
                "no_proposeable_drift" => {
                    let why = Body::Sentence(found.nothing_recorded());
                    let next = found.next_steps(&prepared.site).map(Body::Sentence);
                    Body::Several([why, table].into_iter().chain(next).collect())
                }
                _ => table,
            };
            let reply = Reply::new(body, data).warn(found.warnings);
            return Ok(answer::reply(context, &prepared.site, &Page::default(), reply));
        }
        // The contract requires `yes` from agents. A person need not confirm: a proposal does not change their data.
        if !self.yes && !context.is_shell() {
            return Err(unconfirmed("evolve propose"));
        }
        let mut data = match &prepared.site.source {
            Source::Repo(repo) => self.overlay_branch(context, repo, &prepared, &mut found)?,
            Source::Project(_) => record(context, &prepared.site, &mut found, self.overlay)?,
        };
        data["summary"] = found.summary();
        data["skipped"] = json!(found.skipped_json());
        let text = match data["branch"].as_str() {
            Some(branch) => {
                format!("Committed {} to the branch {branch}", plural::count(array_len(&data["files"]), "file"))
            }
            None => {
                let proposals = plural::count(array_len(&data["proposals"]), "proposal");
                format!("Recorded {proposals}; see `mcpkg evolve list`")
            }
        };
        let reply = Reply::sentence(text, data).warn(found.warnings);
        Ok(answer::reply(context, &prepared.site, &Page::default(), reply))
    }
}

fn array_len(value: &Value) -> usize {
    value.as_array().map_or(0, Vec::len)
}

impl Propose {
    fn overlay_branch(
        &self,
        context: &Context,
        repo: &Repo,
        prepared: &Prepared,
        found: &mut Candidates,
    ) -> Result<Value> {
        let files = found.candidates.iter().map(|candidate| repo::ProposedFile {
            module_id: candidate.edit.module_id.clone(),
            path: candidate.edit.file.clone(),
            bytes: candidate.edit.bytes.clone(),
            executable: candidate.executable,
        });
        let proposal = repo::Proposal {
            choice: prepared.site.repo_choice(),
            checkouts: &prepared.checkouts,
            scope: self.overlay.layer(),
            files: files.collect(),
            branch: self.branch.as_deref(),
            now: context.clock.now(),
            cancelled: &context.cancelled,
        };
        let proposed = repo.propose(&proposal)?;
        let line = |skipped: &repo::SkippedFile| {
            format!("skipped `{}` of module '{}': {}", skipped.path, skipped.module_id, skipped.why)
        };
        found.warnings.extend(proposed.skipped.iter().map(line));
        let absolute: Vec<String> =
            proposed.files.iter().map(|file| repo.folder().join(file).display().to_string()).collect();
        Ok(json!({
            "created": proposed.committed,
            "branch": proposed.branch,
            "scope": self.overlay,
            "files": absolute,
            "files_posix": proposed.files,
            "committed": proposed.committed,
        }))
    }
}

/// Stores the changes as proposals.
fn record(context: &Context, site: &Site, found: &mut Candidates, scope: OverlayScope) -> Result<Value> {
    let Some(project) = site.project() else { return Ok(json!({})) };
    let candidates = &found.candidates;
    let (recorded, said) = context.store.write(|db| {
        let (mut recorded, mut said) = (Vec::new(), Vec::new());
        for candidate in candidates {
            let Edit { module_id, file, bytes } = &candidate.edit;
            let item = match candidate.is_new {
                true => Some(new_item(module_id, file)),
                false => project::item_of(db, project, module_id, file)?,
            };
            let Some(item) = item else { continue };
            let blob = blobs::put(db, bytes)?;
            let noted = proposals::noted(db, project.id, &item, blob)?;
            let id = proposals::insert(
                db,
                NewProposal {
                    project: project.id,
                    origin: Origin::Deploy,
                    action: Action::Change,
                    item: &item,
                    module_id,
                    path: &candidate.path,
                    base: Some(blobs::put(db, &candidate.base)?),
                    blob: Some(blob),
                    entry: None,
                    actor: context.caller.actor(),
                    now: context.clock.now(),
                },
            )?;
            context.event(db, context.author(), Some(&project.name), "evolve.propose", module_id)?;
            let mut proposal = json!({ "id": id, "module_id": module_id, "path": candidate.path });
            if let Some(Proposal { id, state, note: Some(note), .. }) = noted {
                let word = state.word();
                said.push(format!("proposal {id} for the same change was {word}: {}", note::quoted(&note)));
                proposal["decided_before"] = json!({ "id": id, "state": word, "note": note });
            }
            recorded.push(proposal);
        }
        Ok((recorded, said))
    })?;
    let files: Vec<&str> = candidates.iter().map(|candidate| candidate.path.as_str()).collect();
    let data = json!({
        "created": true,
        "branch": null,
        "scope": scope,
        "files": files,
        "files_posix": files,
        "committed": false,
        "proposals": recorded,
    });
    found.warnings.extend(said);
    Ok(data)
}
