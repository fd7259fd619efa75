//! `mcpkg snapshot prune`: deletes old snapshots.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::source::{Choice, Site};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::deploys;
use mcpkg_store::snapshots::{self, Snapshot, State};

/// Returns the default number of snapshots to keep.
fn keep() -> usize {
    10
}

/// Prune stored deploys
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Prune {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// How many of the newest snapshots to keep
    #[arg(long, value_name = "N", default_value_t = keep())]
    #[serde(default = "keep")]
    keep: usize,
    /// Show which snapshots would be pruned, without changing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Prune {
    const TOOL: &'static str = "prune_snapshots";
    const CLI: &'static [&'static str] = &["snapshot", "prune"];
    const TITLE: &'static str = "Prune stored deploys";
    const ABOUT: &'static str =
        "Delete old stored deploys; you can still roll back to the deploys that remain, and to pristine";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg snapshot prune --keep 5 --dry-run", "mcpkg snapshot prune --keep 5 --yes"];
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let site = Site::find(context, &self.choice)?;
        let of_place = context.store.read(|db| match deploys::place(db, &site.place)? {
            Some(place) => snapshots::of_place(db, Some(place)),
            None => Ok(Vec::new()),
        })?;
        let applied = |snapshot: &&Snapshot| snapshot.state == State::Applied.word();
        let kept: HashSet<i64> =
            of_place.iter().filter(applied).take(self.keep.max(1)).map(|snapshot| snapshot.id).collect();
        let goes = |snapshot: &&Snapshot| applied(snapshot) && !snapshot.pinned && !kept.contains(&snapshot.id);
        let going: Vec<&Snapshot> = of_place.iter().filter(goes).collect();
        let ids: Vec<String> = going.iter().map(|snapshot| snapshot.uuid.to_string()).collect();
        let mut data = json!({ "pruned": ids, "kept": kept.len(), "dry_run": self.dry_run });
        if going.is_empty() {
            return Ok(Reply::sentence("There is nothing to prune", data));
        }
        if self.dry_run {
            return Ok(Reply::sentence(format!("Would prune {}", ids.join(", ")), data));
        }
        let count = plural::count(ids.len(), "snapshot");
        (context.ask)(Body::Several(Vec::new()), &format!("Prune {count}? You cannot roll back to them afterwards."))?;
        let keys: Vec<i64> = going.iter().map(|snapshot| snapshot.id).collect();
        let images = context.store.write(|db| {
            let images = snapshots::prune(db, &keys)?;
            context.event(db, context.author(), None, "snapshot.prune", &ids.join(","))?;
            Ok(images)
        })?;
        data["images"] = json!(images);
        Ok(Reply::sentence(format!("Pruned {count}"), data))
    }
}
