//! `mcpkg snapshot list`: lists the snapshots of deploys and rollbacks, newest first.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::summary::summary;
use crate::GROUP;
use crate::apply::journal;
use crate::source::{Choice, Site};
use mcpkg_base::clock;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use mcpkg_store::deploys;
use mcpkg_store::snapshots::{self, Snapshot, State};

/// List stored deploys
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Also list pruned snapshots, and snapshots of other sources, machines and roots
    #[arg(long)]
    #[serde(default)]
    all: bool,
}

impl Operation for List {
    const TOOL: &'static str = "list_snapshots";
    const CLI: &'static [&'static str] = &["snapshot", "list"];
    const TITLE: &'static str = "List stored deploys";
    const ABOUT: &'static str = "List the stored deploys and rollbacks, newest first";
    const EXAMPLES: &'static [&'static str] = &["mcpkg snapshot list", "mcpkg snapshot list --all --json"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("snapshots");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let key = match self.all {
            true => None,
            false => Some(Site::find(context, &self.choice)?.place),
        };
        let (_, elsewhere) = journal::unfinished(context)?;
        let is_elsewhere = |snapshot: &Snapshot| elsewhere.iter().any(|other| other.id == snapshot.id);
        let found: Vec<(Snapshot, String)> = context.store.read(|db| {
            let place = match &key {
                Some(key) => match deploys::place(db, key)? {
                    Some(place) => Some(place),
                    None => return Ok(Vec::new()),
                },
                None => None,
            };
            let with_root = |snapshot: Snapshot| Ok((deploys::place_key(db, snapshot.place)?.root, snapshot));
            let listed = |snapshot: &Snapshot| self.all || snapshot.state != State::Pruned.word();
            let rows = snapshots::of_place(db, place)?
                .into_iter()
                .filter(listed)
                .map(with_root)
                .collect::<Result<Vec<_>>>()?;
            Ok(rows.into_iter().map(|(root, snapshot)| (snapshot, root)).collect())
        })?;
        let rows = found.iter().map(|(snapshot, root)| {
            vec![
                snapshot.uuid.to_string(),
                clock::rfc3339(snapshot.created_at),
                snapshot.kind.clone(),
                state(snapshot, is_elsewhere(snapshot)),
                snapshot.files.to_string(),
                snapshot.targets.join(","),
                root.clone(),
            ]
        });
        let columns = &["ID", "MADE", "KIND", "STATE", "FILES", "TARGETS", "ROOT"];
        let table = Table { columns, rows: rows.collect(), empty: "Nothing has been deployed yet".to_owned() };
        let summary = |(snapshot, root): &(Snapshot, String)| {
            let mut summary = summary(snapshot, root);
            if is_elsewhere(snapshot) {
                summary["begun_here"] = json!(false);
            }
            summary
        };
        Ok(Reply::new(Body::Table(table), json!({ "snapshots": found.iter().map(summary).collect::<Vec<_>>() })))
    }
}

/// Describes the state of a snapshot. `elsewhere` means that it is unfinished, and that another user or machine began
/// it.
fn state(snapshot: &Snapshot, elsewhere: bool) -> String {
    let pinned = if snapshot.pinned { ", pinned" } else { "" };
    let elsewhere = if elsewhere { ", started by another user or machine" } else { "" };
    format!("{}{elsewhere}{pinned}", snapshot.state)
}
