//! `snapshot list|show|diff|prune|pin`: the stored deploys.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::clock;
use crate::deploy::GROUP;
use crate::deploy::apply::journal;
use crate::deploy::operations::rollback;
use crate::deploy::source::{Choice, Site};
use crate::disk;
use crate::error::{Code, Error, Result};
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use crate::store::deploys::{self, Image};
use crate::store::snapshots::{self, File, Snapshot, State};
use crate::store::{Db, blobs};

/// List stored deploys
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Of every source, machine and root, those that were pruned too
    #[arg(long)]
    #[serde(default)]
    all: bool,
}

impl Operation for List {
    const TOOL: &'static str = "list_snapshots";
    const CLI: &'static [&'static str] = &["snapshot", "list"];
    const TITLE: &'static str = "List stored deploys";
    const ABOUT: &'static str = "List the stored deploys and rollbacks, newest first";
    const HELP: &'static str = "Examples:\n  mcpkg snapshot list\n  mcpkg snapshot list --all --json";
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
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
        let columns = &["id", "made", "kind", "state", "files", "targets", "root"];
        let table = Table { columns, rows: rows.collect(), empty: "Nothing was deployed yet".to_owned() };
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

/// `elsewhere` says that it did not end, and was not begun by this user on this machine.
fn state(snapshot: &Snapshot, elsewhere: bool) -> String {
    let pinned = if snapshot.pinned { ", pinned" } else { "" };
    let elsewhere = if elsewhere { ", not begun here" } else { "" };
    format!("{}{elsewhere}{pinned}", snapshot.state)
}

fn summary(snapshot: &Snapshot, root: &str) -> Value {
    json!({
        "id": snapshot.uuid.to_string(),
        "created_at": clock::rfc3339(snapshot.created_at),
        "kind": snapshot.kind,
        "state": snapshot.state,
        "pinned": snapshot.pinned,
        "files": snapshot.files,
        "targets": snapshot.targets,
        "profile": snapshot.profile,
        "rolled_back_to": snapshot.rolled_back_to,
        "actor": snapshot.actor,
        "root": root,
    })
}

/// Show a stored deploy
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// The snapshot, or the beginning of its id
    #[arg(value_name = "ID")]
    id: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_snapshot";
    const CLI: &'static [&'static str] = &["snapshot", "show"];
    const TITLE: &'static str = "Show a stored deploy";
    const ABOUT: &'static str = "Show the files of a stored deploy, with the SHA-256 of each before and after";
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let snapshot = rollback::find(context, &self.id)?;
        let (files, root) = context
            .store
            .read(|db| Ok((snapshots::files(db, snapshot.id)?, deploys::place_key(db, snapshot.place)?.root)))?;
        let short = |image: &Image| match image {
            Image::Absent => "-".to_owned(),
            Image::Link(text) => format!("-> {text}"),
            Image::File { sha256, mode, .. } => format!("{} {mode:o}", &disk::hex(sha256)[..12]),
        };
        let rows = files
            .iter()
            .map(|file| vec![file.op.clone(), file.path.clone(), short(&file.before), short(&file.after)])
            .collect();
        let table = Table { columns: &["op", "path", "before", "after"], rows, empty: "No files".to_owned() };
        let mut data = summary(&snapshot, &root);
        data["files"] = files.iter().map(file_json).collect();
        Ok(Reply::new(Body::Table(table), data))
    }
}

fn file_json(file: &File) -> Value {
    let image = |image: &Image| match image {
        Image::Absent => Value::Null,
        Image::Link(text) => json!({ "link": text }),
        Image::File { sha256, mode, .. } => json!({ "sha256": disk::hex(sha256), "mode": format!("{mode:04o}") }),
    };
    json!({
        "path": file.path,
        "op": file.op,
        "targets": file.targets,
        "module_ids": file.module_ids,
        "before": image(&file.before),
        "after": image(&file.after),
    })
}

/// Show what a stored deploy changed
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Diff {
    /// The snapshot, or the beginning of its id
    #[arg(value_name = "ID")]
    id: String,
}

impl Operation for Diff {
    const TOOL: &'static str = "diff_snapshot";
    const CLI: &'static [&'static str] = &["snapshot", "diff"];
    const TITLE: &'static str = "Diff a stored deploy";
    const ABOUT: &'static str = "Show what a stored deploy changed, line by line";
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let snapshot = rollback::find(context, &self.id)?;
        let diffs = context.store.read(|db| {
            let changed = snapshots::files(db, snapshot.id)?.into_iter().filter(|file| file.before != file.after);
            changed.map(|file| Ok((file_diff(db, &file)?, file.path))).collect::<Result<Vec<_>>>()
        })?;
        let list: Vec<Value> = diffs.iter().map(|(diff, path)| json!({ "path": path, "unified": diff })).collect();
        let text = diffs.into_iter().map(|(diff, _)| diff).collect();
        Ok(Reply::new(Body::Diff(text), json!({ "id": snapshot.uuid.to_string(), "files": list })))
    }
}

fn file_diff(db: &Db<'_>, file: &File) -> Result<String> {
    let text = |image: &Image| match image {
        Image::Absent => Ok(Some(String::new())),
        Image::Link(text) => Ok(Some(format!("link to {text}\n"))),
        Image::File { blob, .. } => Ok::<_, Error>(String::from_utf8(blobs::get(db, *blob)?).ok()),
    };
    let (Some(before), Some(after)) = (text(&file.before)?, text(&file.after)?) else {
        return Ok(format!("Binary files differ: {}\n", file.path));
    };
    let name = |image: &Image, side: &str| match image {
        Image::Absent => "/dev/null".to_owned(),
        Image::File { .. } | Image::Link(_) => format!("{side}{}", file.path),
    };
    let diff = TextDiff::from_lines(&before, &after);
    let header = (name(&file.before, "a"), name(&file.after, "b"));
    Ok(diff.unified_diff().context_radius(3).header(&header.0, &header.1).to_string())
}

/// Pin a stored deploy
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Pin {
    /// The snapshot, or the beginning of its id
    #[arg(value_name = "ID")]
    id: String,
    /// Let it go again
    #[arg(long)]
    #[serde(default)]
    off: bool,
}

impl Operation for Pin {
    const TOOL: &'static str = "pin_snapshot";
    const CLI: &'static [&'static str] = &["snapshot", "pin"];
    const TITLE: &'static str = "Pin a stored deploy";
    const ABOUT: &'static str = "Keep pruning away from a stored deploy";
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let snapshot = rollback::find(context, &self.id)?;
        if snapshot.state != State::Applied.word() {
            let why = format!("The snapshot '{}' is {}: there is nothing to pin", self.id, snapshot.state);
            return Err(Error::new(Code::SnapshotUnusable, why));
        }
        let id = snapshot.uuid.to_string();
        context.store.write(|db| {
            snapshots::pin(db, snapshot.id, !self.off)?;
            context.event(db, context.author(), None, "snapshot.pin", &id)
        })?;
        let verb = if self.off { "Unpinned" } else { "Pinned" };
        Ok(Reply::sentence(format!("{verb} snapshot {id}"), json!({ "id": id, "pinned": !self.off })))
    }
}

/// How many snapshots pruning leaves unless told otherwise.
fn keep() -> usize {
    10
}

/// Prune stored deploys
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Prune {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// How many of the newest stay
    #[arg(long, value_name = "N", default_value_t = keep())]
    #[serde(default = "keep")]
    keep: usize,
    /// Show which would go and change nothing
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Prune {
    const TOOL: &'static str = "prune_snapshots";
    const CLI: &'static [&'static str] = &["snapshot", "prune"];
    const TITLE: &'static str = "Prune stored deploys";
    const ABOUT: &'static str = "Let old stored deploys go; what a rollback to a later one or to pristine needs stays";
    const HELP: &'static str =
        "Examples:\n  mcpkg snapshot prune --keep 5 --dry-run\n  mcpkg snapshot prune --keep 5 --yes";
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
        let count = if ids.len() == 1 { "1 snapshot".to_owned() } else { format!("{} snapshots", ids.len()) };
        (context.ask)(Body::Several(Vec::new()), &format!("Prune {count}? They can no longer be rolled back to."))?;
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
