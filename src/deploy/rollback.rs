//! `rollback`: back to what a snapshot left, or to what stood there before mcpkg came.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::TOOLSET;
use super::apply::{self, Work};
use super::deploying::unconfirmed;
use super::disk::{self, Found};
use super::gather;
use super::plan::{self, After, Change, Drift, Quiet};
use super::planning::{self, changes_json, summary, with_schema};
use super::source::{Choice, Scope, Site};
use crate::error::{Code, Error, Result};
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use crate::store::Db;
use crate::store::deploys::{self, Deployed, Image};
use crate::store::snapshots::{self, Kind, Snapshot, State};

/// The word for what stood there before mcpkg came.
pub const PRISTINE: &str = "pristine";

/// Take deploys back
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Rollback {
    /// Snapshot to go back to; ID^ for what stood there just before it, `pristine` for what stood there before mcpkg came
    #[arg(long, value_name = "ID")]
    to: String,
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Show what would change and write nothing
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
    /// Approve the write
    #[arg(skip)]
    #[serde(default)]
    yes: bool,
}

impl Operation for Rollback {
    const TOOL: &'static str = "rollback";
    const CLI: &'static [&'static str] = &["rollback"];
    const TITLE: &'static str = "Roll back a deploy";
    const ABOUT: &'static str = "Bring the agents' files back to how a snapshot left them, or with `pristine` to how they were before any deploy";
    const HELP: &'static str = "Bytes and modes come back, of exactly the source, machine, root and targets of the snapshot. What is\n\
        overwritten is kept: the rollback is a snapshot too, and `--to` with its own id takes it back.\n\n\
        Examples:\n  mcpkg snapshot list\n  mcpkg rollback --to pristine\n  mcpkg rollback --to 0199c0de-... --dry-run";
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("rollback");
    const TOOLSET: &'static str = TOOLSET;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.to.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if !context.is_shell() && !self.yes {
            return Err(unconfirmed("rollback"));
        }
        let goal = Goal::find(context, &self.to)?;
        let site = goal.site(context, &self.choice)?;
        if self.dry_run {
            let back = context.store.read(|db| Back::compare(db, &site, &goal))?;
            let data = data(&goal, None, &back);
            let body = Body::Several(vec![planning::diffs(&back.changes), planning::table(&back.changes, &site)]);
            return Ok(Reply::new(body, data));
        }
        let right = apply::begin(context)?;
        let back = context.store.read(|db| Back::compare(db, &site, &goal))?;
        if context.is_shell() {
            let preview = Body::Several(vec![planning::diffs(&back.changes), planning::table(&back.changes, &site)]);
            (context.ask)(preview, &format!("Roll {} back to {}?", site.place.root, goal.word))
                .map_err(|error| error.with_details(json!({ "command": "rollback" })))?;
        }
        let mut reply_data = data(&goal, None, &back);
        let warnings = back.warnings();
        let hash = disk::hex(&disk::sha256(reply_data.to_string().as_bytes()));
        let count = back.changes.len();
        let work = Work {
            site: &site,
            kind: Kind::Rollback,
            plan_hash: &hash,
            rolled_back_to: Some(&goal.word),
            changes: back.changes,
            quiet: back.quiet,
            rows: back.rows,
        };
        let id = apply::apply(context, &right, work, |_| Ok(()))?;
        reply_data["event_snapshot_id"] = json!(id.to_string());
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        let sentence = format!("Rolled {files} back to {}. Snapshot {id}", goal.word);
        let hint = format!("`mcpkg rollback --to {id}` takes it back");
        Ok(Reply::sentence(sentence, reply_data).warn(warnings).hint(hint))
    }
}

fn data(goal: &Goal, event: Option<Uuid>, back: &Back) -> serde_json::Value {
    let mut changes = changes_json(&back.changes);
    for (json, change) in changes.iter_mut().zip(&back.changes) {
        // A file that is nobody's afterwards is told of by those who keep it now.
        let row = back.rows.get(change.path.to_string_lossy().as_ref()).filter(|_| change.targets.is_empty());
        if let Some(row) = row {
            json["target"] = json!(row.targets.first());
            json["targets"] = json!(row.targets);
        }
    }
    json!({
        "rolled_back_to": goal.word,
        "event_snapshot_id": event.map(|id| id.to_string()),
        "changes": changes,
        "summary": summary(&back.changes),
    })
}

/// Where a rollback goes.
struct Goal {
    /// As the user wrote it.
    word: String,
    /// The snapshot, and whether it is the time just before it that is meant; `None` for pristine.
    snapshot: Option<(Snapshot, bool)>,
}

impl Goal {
    fn find(context: &Context, word: &str) -> Result<Self> {
        let word = word.trim().to_owned();
        if word == PRISTINE {
            return Ok(Self { word, snapshot: None });
        }
        let (id, before) = match word.strip_suffix('^') {
            Some(id) => (id, true),
            None => (word.as_str(), false),
        };
        let snapshot = find(context, id)?;
        let usable = [State::Applied.word()].contains(&snapshot.state.as_str());
        if !usable {
            let why = format!("The snapshot '{id}' is {}, and cannot be rolled back to", snapshot.state);
            return Err(Error::new(Code::SnapshotUnusable, why).with_details(json!({ "to": id })));
        }
        // Going back to a rollback can only mean to take it back.
        let before = before || snapshot.kind == Kind::Rollback.word();
        Ok(Self { word, snapshot: Some((snapshot, before)) })
    }

    /// The site of the snapshot, which has to be of the source that applies.
    fn site(&self, context: &Context, choice: &Choice) -> Result<Site> {
        let Some((snapshot, _)) = &self.snapshot else {
            return Site::find(context, choice);
        };
        let key = context.store.read(|db| deploys::place_key(db, snapshot.place))?;
        let mut choice = Choice { machine: Some(key.machine.clone()), ..choice.clone() };
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        if key.source.starts_with("project:") && home.as_deref() == Some(Path::new(&key.root)) {
            choice.scope = Scope::User;
        } else {
            choice.root = Some(PathBuf::from(&key.root));
        }
        if choice.repo.is_none() && !key.origin.is_empty() {
            choice.repo = Some(PathBuf::from(&key.origin));
        }
        let site = Site::find(context, &choice)?;
        if site.place.source == key.source && site.place.root == key.root && site.place.machine == key.machine {
            return Ok(Site { place: key, ..site });
        }
        Err(Error::new(Code::SnapshotNotFound, format!("The snapshot '{}' is of another source or place", self.word))
            .with_details(json!({ "to": self.word, "source": key.source, "root": key.root, "machine": key.machine }))
            .hint("`mcpkg snapshot list` shows those of this one"))
    }
}

/// Returns the snapshot that users see as `id`; a beginning that only one has is enough.
///
/// # Errors
/// `E_SNAPSHOT_NOT_FOUND`.
pub fn find(context: &Context, id: &str) -> Result<Snapshot> {
    let missing = || {
        Error::new(Code::SnapshotNotFound, format!("There is no snapshot '{}'", id.escape_debug()))
            .with_details(json!({ "to": id }))
            .hint("`mcpkg snapshot list` shows the snapshots there are")
    };
    context.store.read(|db| {
        if let Ok(uuid) = Uuid::parse_str(id) {
            return snapshots::get(db, uuid)?.ok_or_else(missing);
        }
        let begins = |snapshot: &Snapshot| id.len() >= 4 && snapshot.uuid.to_string().starts_with(id);
        let mut found: Vec<Snapshot> = snapshots::of_place(db, None)?.into_iter().filter(begins).collect();
        match found.len() {
            1 => found.pop().ok_or_else(missing),
            0 => Err(missing()),
            _ => Err(missing().hint(format!("{} snapshots begin with '{id}'", found.len()))),
        }
    })
}

/// A file as a rollback wants it.
struct Wanted {
    path: String,
    root: String,
    targets: Vec<String>,
    module_ids: Vec<String>,
    block: bool,
    image: Image,
    /// Whether it is mcpkg's afterwards.
    managed: bool,
}

/// What a rollback would do.
struct Back {
    changes: Vec<Change>,
    quiet: Vec<Quiet>,
    rows: std::collections::BTreeMap<String, Deployed>,
}

impl Back {
    fn compare(db: &Db<'_>, site: &Site, goal: &Goal) -> Result<Self> {
        let Some(place) = deploys::place(db, &site.place)? else {
            return Ok(Self { changes: Vec::new(), quiet: Vec::new(), rows: std::collections::BTreeMap::new() });
        };
        let rows: std::collections::BTreeMap<String, Deployed> =
            deploys::of_place(db, place)?.into_iter().map(|row| (row.path.clone(), row)).collect();
        let mut back = Self { changes: Vec::new(), quiet: Vec::new(), rows };
        let (wanted, kept) = wanted(db, site, goal, place, &back.rows)?;
        back.quiet = kept;
        for wanted in wanted {
            back.file(db, wanted)?;
        }
        Ok(back)
    }

    fn file(&mut self, db: &Db<'_>, wanted: Wanted) -> Result<()> {
        let path = PathBuf::from(&wanted.path);
        let row = self.rows.get(&wanted.path);
        let found = disk::look(&path)?;
        let untouched = match (row.map(|row| &row.applied), &found) {
            (Some(Image::File { sha256, mode, .. }), Found::File { sha256: there, mode: there_mode, .. }) => {
                sha256 == there && mode == there_mode
            }
            (Some(Image::Absent) | None, Found::Absent) => true,
            (Some(Image::Link(text)), Found::Link(there)) => text == there,
            _ => false,
        };
        let mut after = apply::wanted(db, &wanted.image)?;
        if wanted.block
            && !(untouched && matches!(after, After::Link(_)))
            && let Found::File { bytes, mode, .. } = &found
        {
            // The rest of the file is the user's, also what was there before the last deploy: only the block goes back.
            let block = after.bytes().and_then(gather::find).map(|split| split.block.to_vec());
            let kept = match block {
                Some(block) => After::file(gather::put(bytes, &block), *mode),
                None => plan::take_block_out(db, &wanted.image, bytes, *mode, untouched)?.1,
            };
            if !untouched || kept.bytes() != after.bytes() {
                after = kept;
            }
        }
        if after.is(&found) {
            self.quiet.push(match row {
                Some(row) if wanted.managed => Quiet::Keep(Deployed {
                    targets: wanted.targets,
                    module_ids: wanted.module_ids,
                    applied: wanted.image,
                    stat: None,
                    ..row.clone()
                }),
                _ => Quiet::Forget(wanted.path),
            });
            return Ok(());
        }
        self.changes.push(Change {
            op: apply::op_of(&found, &after),
            path,
            root: PathBuf::from(wanted.root),
            // A file that is nobody's afterwards has no targets: its row goes.
            targets: if wanted.managed { wanted.targets } else { Vec::new() },
            module_ids: wanted.module_ids,
            block: wanted.block,
            before: found,
            after,
            reason: if untouched { "rolled back" } else { "rolled back, and changed since" }.to_owned(),
            adopt: false,
            drifted: !untouched,
            drift: if untouched { Drift::UpstreamPending } else { Drift::UserModified },
        });
        Ok(())
    }

    fn warnings(&self) -> Vec<String> {
        let drifted = self.changes.iter().filter(|change| change.drifted && change.before != Found::Absent);
        drifted
            .map(|change| format!("`{}` was changed since; its bytes are kept in the snapshot", change.path.display()))
            .collect()
    }
}

/// What shall stand where, and the files that stay as they are for targets that are not taken back.
fn wanted(
    db: &Db<'_>,
    site: &Site,
    goal: &Goal,
    place: i64,
    rows: &std::collections::BTreeMap<String, Deployed>,
) -> Result<(Vec<Wanted>, Vec<Quiet>)> {
    let (mut wanted, mut kept) = (Vec::new(), Vec::new());
    let without = |targets: &[String], some: &[String]| -> Vec<String> {
        targets.iter().filter(|target| !some.contains(target)).cloned().collect()
    };
    let Some((snapshot, before)) = &goal.snapshot else {
        let selected = plan::names(&site.selected);
        for row in rows.values() {
            let rest = if site.is_for_all() { Vec::new() } else { without(&row.targets, &selected) };
            if rest.is_empty() {
                wanted.push(Wanted {
                    path: row.path.clone(),
                    root: row.root.clone(),
                    targets: row.targets.clone(),
                    module_ids: row.module_ids.clone(),
                    block: row.block,
                    image: row.pristine.clone(),
                    managed: false,
                });
            } else if rest.len() < row.targets.len() {
                kept.push(Quiet::Keep(Deployed { targets: rest, ..row.clone() }));
            }
        }
        return Ok((wanted, kept));
    };
    let state = match before {
        true => snapshots::state_before(db, place, snapshot.id)?,
        false => snapshots::state_at(db, place, snapshot.id)?,
    };
    for file in state {
        let row = rows.get(&file.path);
        // Of a file that nobody kept then, the targets are those that keep it now.
        let mut targets = match row {
            Some(row) if file.targets.is_empty() => row.targets.clone(),
            _ => file.targets.clone(),
        };
        if !targets.iter().any(|target| snapshot.targets.contains(target)) {
            continue;
        }
        let managed = file.op != snapshots::UNMANAGED && file.after != Image::Absent;
        let others = row.map_or(Vec::new(), |row| without(&row.targets, &snapshot.targets));
        if let Some(row) = row.filter(|_| !managed && !others.is_empty()) {
            kept.push(Quiet::Keep(Deployed { targets: others, ..row.clone() }));
            continue;
        }
        targets.extend(without(&others, &targets));
        targets.sort_unstable();
        wanted.push(Wanted {
            managed,
            path: file.path,
            root: file.root,
            targets,
            module_ids: file.module_ids,
            block: file.block,
            image: file.after,
        });
    }
    Ok((wanted, kept))
}
