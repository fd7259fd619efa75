//! `mcpkg rollback`: restores the files of a snapshot, or the files as they were before the first deploy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::answer::{self, Page};
use crate::apply::roots;
use crate::apply::{self, Work};
use crate::completions::GOALS;
use crate::operations::gates::{check_adopt, unconfirmed};
use crate::operations::with_schema;
use crate::plan::{changes_json, summary};
use crate::plan::{code, show};
use crate::rollback::goal::{Goal, PRISTINE};
use crate::rollback::plan::RollbackPlan;
use crate::source::{Choice, Site};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_base::sha256;
use mcpkg_core::consent::request::{self, Consent, Need};
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::deploys;
use mcpkg_store::snapshots::{self, Kind};

/// Take deploys back
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Rollback {
    /// Snapshot to restore; ID^ for the state just before the snapshot, `pristine` for the state before the first deploy
    #[arg(long, value_name = "ID")]
    #[arg(add = GOALS)]
    to: String,
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Overwrite or delete files even if they changed after they were deployed; mcpkg saves the changed content first
    #[arg(long)]
    #[serde(default)]
    adopt: bool,
    /// Show what would change, without writing anything
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
    /// Forget the files deployed below a root that no longer exists; you can then no longer roll back these files
    #[arg(long)]
    #[serde(skip)]
    forget: bool,
    /// Confirm that files may be written
    #[arg(skip)]
    #[serde(default)]
    yes: bool,
}

impl Operation for Rollback {
    const TOOL: &'static str = "rollback";
    const CLI: &'static [&'static str] = &["rollback"];
    const TITLE: &'static str = "Roll back a deploy";
    const ABOUT: &'static str = "Restore the agents' files to the state recorded in a snapshot, or to their state before the first \
        deploy; `to` is the snapshot's id, or pristine";
    const USER_WORDS: &'static str = "Undo a deploy";
    const HELP: &'static str = "A rollback restores the content and modes of files, but only for the snapshot's source, machine, root \
        and targets. To roll back a file that changed after it was deployed, you need --adopt. mcpkg keeps overwritten content: each \
        rollback is a snapshot too, so you can undo the rollback with `--to ID`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg snapshot list", "mcpkg rollback --to pristine", "mcpkg rollback --to 0199c0de-... --dry-run"];
    const EFFECT: Effect = Effect::Write;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("rollback");
    const ADDED: &'static str = r#"{ "adopt": { "type": "boolean", "default": false, "description": "Overwrite files changed since the deploy." } }"#;
    const MAY_NEED_CONSENT: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.to.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let goal = Goal::find(context, &self.to)?;
        let approved = if context.is_shell() { context.confirmation != Confirmation::Nobody } else { self.yes };
        if !approved && !self.dry_run {
            return Err(unconfirmed("rollback"));
        }
        let site = goal.site(context, &self.choice)?;
        if !self.forget {
            check_root(context, &site, &goal)?;
        }
        let compare = || context.store.read(|db| RollbackPlan::compare(db, &site, &goal));
        if self.dry_run {
            let planned = compare()?;
            let reply = Reply::new(shown(&planned, &site), data(&goal, &planned)).warn(planned.warnings);
            return Ok(answer::reply(context, &site, &Page::default(), reply));
        }
        // Ask a person at the terminal before taking the apply lock, which blocks all other applies.
        let mut approved = BTreeSet::new();
        let asked = if context.confirmation == Confirmation::Ask {
            let planned = compare()?;
            self.check_adopt(&planned, &goal, &site)?;
            if !planned.changes.is_empty() {
                let roots = roots::of_changes(&planned.changes);
                let question = question(&goal, &site, &roots::unapproved(context, &roots)?);
                let replaced = show::replaced(&planned.changes, &site.place.root);
                let question = replaced.into_iter().fold(question, |question, one| format!("{question} {one}"));
                (context.ask)(shown(&planned, &site), &question)
                    .map_err(|error| error.with_details(json!({ "command": "rollback" })))?;
                approved = roots;
            }
            Some(data(&goal, &planned))
        } else {
            None
        };
        let right = apply::begin(context)?;
        let planned = compare()?;
        let mut data = data(&goal, &planned);
        if asked.is_some_and(|asked| asked != data) {
            return Err(show::changed_meanwhile());
        }
        if planned.changes.is_empty() {
            let reply = nothing_to_do(context, &goal, &site, planned)?;
            return Ok(answer::reply(context, &site, &Page::default(), reply));
        }
        self.check_adopt(&planned, &goal, &site)?;
        let hash = sha256::hex(data.to_string().as_bytes());
        let consent = match context.confirmation {
            Confirmation::Ask => None,
            _ => self.consent(context, &goal, &site, &planned, &hash)?,
        };
        if consent.is_some() {
            approved = roots::of_changes(&planned.changes);
        }
        let count = planned.changes.len();
        let work = Work {
            site: &site,
            kind: Kind::Rollback,
            plan_hash: &hash,
            rolled_back_to: Some(&goal.word),
            targets: goal.targets(&site),
            adopt: self.adopt.into(),
            changes: planned.changes,
            row_changes: planned.row_changes,
            rows: planned.rows,
            roots: approved,
        };
        let id = apply::apply(context, &right, work, |db| match &consent {
            Some(consent) => consent.consume(context, db),
            None => Ok(()),
        })?;
        let left = take_empty_folders(context, &site);
        data["event_snapshot_id"] = json!(id.to_string());
        let files = plural::count(count, "file");
        let sentence = format!("Rolled {files} back to {}. Snapshot {id}", goal.word);
        let hint = format!("undo this rollback with `mcpkg rollback{} --to {id}`", site.arguments());
        let reply = Reply::sentence(sentence, data).warn(planned.warnings).warn(left).hint(hint);
        Ok(answer::reply(context, &site, &Page::default(), reply))
    }
}

impl Rollback {
    /// Creates a rollback to the state before a snapshot, for a person who has confirmed it or will be asked.
    pub fn before(snapshot: &str, choice: Choice, dry_run: bool, context: &Context) -> Self {
        let yes = context.confirmation != Confirmation::Nobody;
        Self { to: format!("{snapshot}^"), choice, adopt: false, dry_run, forget: false, yes }
    }

    /// Creates a rollback to the state before the first deploy, for a person who has confirmed it.
    pub fn to_pristine(choice: Choice) -> Self {
        Self { to: PRISTINE.to_owned(), choice, adopt: false, dry_run: false, forget: false, yes: true }
    }

    fn check_adopt(&self, planned: &RollbackPlan, goal: &Goal, site: &Site) -> Result<()> {
        let look = format!("mcpkg rollback --to {}{} --dry-run", goal.word, site.arguments());
        check_adopt(&planned.changes, &self.adopt.into(), &look)
    }

    /// Asks for a person's consent if the rollback lets agents run code, or if it writes below a folder that this user
    /// never deployed to. In the second case, only the database claims that files were deployed there.
    fn consent(
        &self,
        context: &Context,
        goal: &Goal,
        site: &Site,
        planned: &RollbackPlan,
        hash: &str,
    ) -> Result<Option<Consent>> {
        let mut inputs = site.inputs();
        inputs["to"] = json!(goal.word);
        inputs["adopt"] = json!(self.adopt);
        let unapproved = roots::unapproved(context, &roots::of_changes(&planned.changes))?;
        if unapproved.is_empty() {
            let changes = &planned.changes;
            let risks = code::Risks::of_code(changes);
            return code::consent(context, Rollback::TOOL, site, &inputs, hash, &risks, show::effects(changes));
        }
        let code = code::lines(&code::of(&planned.changes));
        let roots: Vec<String> = unapproved.iter().map(|root| root.display().to_string()).collect();
        let need = Need {
            operation: Rollback::TOOL,
            project: site.project_name(),
            inputs: &inputs,
            plan_hash: hash,
            summary: format!(
                "Roll back to {} below {}; only the database claims that you have deployed there",
                goal.word,
                roots.join(", ")
            ),
            effects: code.into_iter().chain(show::effects(&planned.changes)).collect(),
            effect: Rollback::EFFECT,
        };
        request::ask(context, &need).map(Some)
    }
}

/// Refuses a missing root if files are deployed below it. The root's disk may just be unmounted, and forgetting the
/// files would make it impossible to roll them back later.
fn check_root(context: &Context, site: &Site, goal: &Goal) -> Result<()> {
    let root = &site.place.root;
    if Path::new(root).is_dir() {
        return Ok(());
    }
    let count = context.store.read(|db| match deploys::place(db, &site.place)? {
        Some(place) => Ok(deploys::of_place(db, place)?.len()),
        None => Ok(0),
    })?;
    if count == 0 {
        return Ok(());
    }
    let files = plural::count(count, "file");
    Err(Error::new(
        Code::InvalidArgument,
        format!("The root `{root}` does not exist, but {files} are deployed below it"),
    )
    .with_details(json!({ "root": root, "files": count }))
    .hint("check that its disk is mounted; nothing was changed")
    .hint(format!(
        "to forget these files for good: `mcpkg rollback --to {}{} --forget`",
        goal.word,
        site.arguments()
    )))
}

/// Returns the question for a person. If the user never deployed to some of the folders, the question names them.
fn question(goal: &Goal, site: &Site, unapproved: &BTreeSet<PathBuf>) -> String {
    if unapproved.is_empty() {
        return format!("Roll {} back to {}?", site.place.root, goal.word);
    }
    let roots: Vec<String> = unapproved.iter().map(|root| root.display().to_string()).collect();
    format!(
        "Only the database claims that files below {} were deployed; you have never deployed there from this \
            machine. Roll back to {} anyway?",
        roots.join(", "),
        goal.word
    )
}

fn shown(planned: &RollbackPlan, site: &Site) -> Body {
    let mut parts = vec![show::diffs(&planned.changes, site), show::table(&planned.changes, site)];
    if !planned.changes.is_empty() {
        parts.push(Body::Sentence(show::count_line(&planned.changes, false)));
    }
    Body::Several(parts)
}

/// Returns the reply for a rollback that changes no file. Changes to the records of deployed files are still stored.
fn nothing_to_do(context: &Context, goal: &Goal, site: &Site, mut planned: RollbackPlan) -> Result<Reply> {
    let elsewhere = context.store.read(|db| {
        let Some(place) = deploys::place(db, &site.place)? else {
            return deploys::places_of(db, &site.place.source);
        };
        let rows = deploys::of_place(db, place)?;
        if rows.is_empty() { deploys::places_of(db, &site.place.source) } else { Ok(Vec::new()) }
    })?;
    if !planned.row_changes.is_empty() {
        context.store.write(|db| match deploys::place(db, &site.place)? {
            Some(place) => apply::write_row_changes(db, &site.place.machine, place, &planned.row_changes),
            None => Ok(()),
        })?;
        planned.warnings.extend(take_empty_folders(context, site));
    }
    let mut data = data(goal, &planned);
    data["reason"] = json!("no_changes");
    let sentence = format!("Nothing to roll back below {} on machine {}", site.place.root, site.place.machine);
    let mut reply = Reply::sentence(sentence, data).warn(planned.warnings);
    for place in elsewhere {
        reply = reply.hint(format!("there are deployed files below {} on machine {}", place.root, place.machine));
    }
    Ok(reply)
}

/// Removes folders that are now empty. A failure is only a warning: the files themselves are already rolled back.
fn take_empty_folders(context: &Context, site: &Site) -> Option<String> {
    let take = || -> Result<()> {
        if let Some(place) = context.store.read(|db| deploys::place(db, &site.place))? {
            roots::folders(context)?.remove_empty(&context.store.read(|db| snapshots::folders(db, place, 0))?);
        }
        Ok(())
    };
    take().err().map(|error| format!("empty folders may be left behind: {}", error.message()))
}

fn data(goal: &Goal, planned: &RollbackPlan) -> serde_json::Value {
    json!({
        "rolled_back_to": goal.word,
        "event_snapshot_id": null,
        "changes": changes_json(&planned.changes),
        "summary": summary(&planned.changes),
    })
}
