//! `mcpkg evolve restore`: writes the files of a deploy that are missing on disk, and leaves existing files unchanged.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::answer::{self, Page};
use crate::apply::{self, Work};
use crate::operations::gates::{check_module, unconfirmed};
use crate::operations::with_schema;
use crate::plan::prepare::Prepared;
use crate::plan::{Change, Op, RowChange, code, show};
use crate::source::Choice;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::Db;
use mcpkg_store::snapshots::Kind;

/// Restore deployed files that are missing
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Restore {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Restore only files of this module
    #[arg(long, value_name = "ID")]
    module_id: Option<String>,
    /// Show what would be written, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Confirm that files may be written
    #[arg(skip)]
    #[serde(default)]
    yes: bool,
}

impl Operation for Restore {
    const TOOL: &'static str = "evolve_restore";
    const CLI: &'static [&'static str] = &["evolve", "restore"];
    const TITLE: &'static str = "Restore missing files";
    const ABOUT: &'static str = "Restore deployed files that are missing on disk; existing files are not touched";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg evolve restore --dry-run", "mcpkg evolve restore --module-id skill:review --yes"];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("evolve_restore");
    const MAY_NEED_CONSENT: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let is_wanted = |change: &Change| {
            self.module_id.as_ref().is_none_or(|id| change.module_ids.iter().any(|known| known == id))
        };
        let prepared = Prepared::new(context, &self.choice)?;
        if let Some(id) = &self.module_id {
            check_module(&prepared, id)?;
        }
        let missing: Vec<&Change> =
            prepared.plan.changes.iter().filter(|change| change.op == Op::Create && is_wanted(change)).collect();
        let existing =
            prepared.plan.changes.iter().filter(|change| change.op == Op::Update && is_wanted(change)).count();
        let data = |missing: &[&Change], reason: &str| {
            let restored = if reason == "restored" { missing.len() } else { 0 };
            json!({
                "restored": missing.iter().map(|change| json!({
                    "target": change.targets.first(),
                    "path": change.path.display().to_string(),
                    "path_posix": disk::posix(&change.path),
                    "module_ids": change.module_ids,
                })).collect::<Vec<_>>(),
                "summary": {
                    "missing": missing.len(),
                    "restored": restored,
                    "skipped_existing": existing,
                    "skipped_read_error": 0,
                },
                "reason": reason,
            })
        };
        let reason = match (missing.is_empty(), self.dry_run) {
            (true, _) => Some("no_missing"),
            (false, true) => Some("dry_run"),
            (false, false) => None,
        };
        if let Some(reason) = reason {
            let data = data(&missing, reason);
            let body = Body::Several(missing.iter().map(|change| line(change)).collect());
            let empty = Body::Sentence("No deployed file is missing".to_owned());
            let body = if missing.is_empty() { empty } else { body };
            let reply = Reply::new(body, data).warn(prepared.warnings.iter().cloned());
            return Ok(answer::reply(context, &prepared.site, &Page::default(), reply));
        }
        if !self.yes {
            if !context.is_shell() {
                return Err(unconfirmed("evolve restore"));
            }
            let preview = Body::Several(missing.iter().map(|change| line(change)).collect());
            (context.ask)(preview, &format!("Write to {}?", prepared.site.place.root))
                .map_err(|error| error.with_details(json!({ "command": "evolve restore" })))?;
        }
        let checkouts = prepared.checkouts;
        let right = apply::begin(context)?;
        let prepared = Prepared::again(context, &self.choice, checkouts)?;
        let Prepared { site, mut plan, warnings, hash, .. } = prepared;
        let changes: Vec<Change> = std::mem::take(&mut plan.changes)
            .into_iter()
            .filter(|change| change.op == Op::Create && is_wanted(change))
            .collect();
        let mut restored = data(&changes.iter().collect::<Vec<_>>(), "restored");
        let count = changes.len();
        let row_changes: Vec<RowChange> = Vec::new();
        let work = Work { kind: Kind::Restore, changes, row_changes, ..Work::deploy(&site, plan, &hash, false.into()) };
        // A person must consent to files that agents run. At a terminal, the person has already answered the question above.
        let consent = match context.confirmation == Confirmation::Ask {
            true => None,
            false => {
                let effects = show::effects(&work.changes);
                code::consent(
                    context,
                    Self::TOOL,
                    &site,
                    &site.inputs(),
                    &hash,
                    &code::Risks::of_code(&work.changes),
                    effects,
                )?
            }
        };
        let id = apply::apply(context, &right, work, |db: &Db<'_>| {
            consent.as_ref().map_or(Ok(()), |consent| consent.consume(context, db))
        })?;
        restored["snapshot_id"] = json!(id.to_string());
        let sentence = format!("Restored {}. Snapshot {id}", plural::count(count, "file"));
        Ok(answer::reply(context, &site, &Page::default(), Reply::sentence(sentence, restored).warn(warnings)))
    }
}

fn line(change: &Change) -> Body {
    Body::Sentence(change.path.display().to_string())
}
