//! `rollback`: back to what a snapshot left, or to what stood there before mcpkg came.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::TOOLSET;
use super::apply::{self, Work};
use super::deploying::unconfirmed;
use super::disk::{self, Found};
use super::plan::{self, After, Change, Drift, Keep, Quiet, op_of};
use super::planning::{self, changes_json, summary, with_schema};
use super::source::{Choice, Scope, Site};
use super::{block, gather, undo};
use crate::error::{Code, Error, Result};
use crate::op::{Body, Consent, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
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
        let approved = if context.is_shell() { context.consent != Consent::Nobody } else { self.yes };
        if !approved && !self.dry_run {
            return Err(unconfirmed("rollback"));
        }
        let goal = Goal::find(context, &self.to)?;
        let site = goal.site(context, &self.choice)?;
        let compare = || context.store.read(|db| Back::compare(db, &site, &goal));
        if self.dry_run {
            let back = compare()?;
            return Ok(Reply::new(shown(&back, &site), data(&goal, &back)).warn(back.warnings));
        }
        // A person is asked before the right to apply is taken, which keeps everybody else from applying.
        let asked = if context.consent == Consent::Ask {
            let back = compare()?;
            if !back.changes.is_empty() {
                (context.ask)(shown(&back, &site), &format!("Roll {} back to {}?", site.place.root, goal.word))
                    .map_err(|error| error.with_details(json!({ "command": "rollback" })))?;
            }
            Some(data(&goal, &back))
        } else {
            None
        };
        let right = apply::begin(context)?;
        let back = compare()?;
        let mut data = data(&goal, &back);
        if asked.is_some_and(|asked| asked != data) {
            return Err(planning::changed_meanwhile());
        }
        if back.changes.is_empty() {
            return nothing_to_do(context, &goal, &site, back);
        }
        let hash = disk::hex(&disk::sha256(data.to_string().as_bytes()));
        let count = back.changes.len();
        let work = Work {
            site: &site,
            kind: Kind::Rollback,
            plan_hash: &hash,
            rolled_back_to: Some(&goal.word),
            targets: goal.targets(&site),
            adopt: false,
            changes: back.changes,
            quiet: back.quiet,
            rows: back.rows,
        };
        let id = apply::apply(context, &right, work, |_| Ok(()))?;
        take_empty_folders(context, &site)?;
        data["event_snapshot_id"] = json!(id.to_string());
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        let sentence = format!("Rolled {files} back to {}. Snapshot {id}", goal.word);
        let hint = format!("`mcpkg rollback{} --to {id}` takes it back", site.arguments());
        Ok(Reply::sentence(sentence, data).warn(back.warnings).hint(hint))
    }
}

fn shown(back: &Back, site: &Site) -> Body {
    Body::Several(vec![planning::diffs(&back.changes), planning::table(&back.changes, site)])
}

/// Where every file is as it shall be; what is nobody's any more is let go all the same.
fn nothing_to_do(context: &Context, goal: &Goal, site: &Site, back: Back) -> Result<Reply> {
    let elsewhere = context.store.read(|db| {
        let Some(place) = deploys::place(db, &site.place)? else {
            return deploys::places_of(db, &site.place.source);
        };
        let rows = deploys::of_place(db, place)?;
        if rows.is_empty() { deploys::places_of(db, &site.place.source) } else { Ok(Vec::new()) }
    })?;
    if !back.quiet.is_empty() {
        context.store.write(|db| match deploys::place(db, &site.place)? {
            Some(place) => apply::note_quiet(db, &site.place.machine, place, &back.quiet),
            None => Ok(()),
        })?;
        take_empty_folders(context, site)?;
    }
    let mut data = data(goal, &back);
    data["reason"] = json!("no_changes");
    let sentence = format!("Nothing to roll back below {} on machine {}", site.place.root, site.place.machine);
    let mut reply = Reply::sentence(sentence, data).warn(back.warnings);
    for place in elsewhere {
        reply = reply.hint(format!("it is deployed below {} on machine {}", place.root, place.machine));
    }
    Ok(reply)
}

fn take_empty_folders(context: &Context, site: &Site) -> Result<()> {
    match context.store.read(|db| deploys::place(db, &site.place))? {
        Some(place) => undo::take_empty_folders(context, place, 0),
        None => Ok(()),
    }
}

fn data(goal: &Goal, back: &Back) -> serde_json::Value {
    json!({
        "rolled_back_to": goal.word,
        "event_snapshot_id": null,
        "changes": changes_json(&back.changes),
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
        if snapshot.state != State::Applied.word() {
            let why = format!("The snapshot '{id}' is {}, and cannot be rolled back to", snapshot.state);
            return Err(Error::new(Code::SnapshotUnusable, why).with_details(json!({ "to": id })));
        }
        // Going back to a rollback can only mean to take it back.
        let before = before || snapshot.kind == Kind::Rollback.word();
        Ok(Self { word, snapshot: Some((snapshot, before)) })
    }

    /// The site of the snapshot, which has to be of the source that applies.
    fn site(&self, context: &Context, choice: &Choice) -> Result<Site> {
        let choice = &Choice { may_be_gone: true, ..choice.clone() };
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
            count => Err(Error::new(Code::SnapshotNotFound, format!("{count} snapshots begin with '{id}'"))
                .with_details(json!({ "to": id }))
                .hint("give more of the id")),
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
    keep: Keep,
    /// The first snapshot that is taken back.
    from: i64,
}

/// What a rollback would do.
#[derive(Default)]
struct Back {
    changes: Vec<Change>,
    quiet: Vec<Quiet>,
    rows: BTreeMap<String, Deployed>,
    warnings: Vec<String>,
}

impl Back {
    fn compare(db: &Db<'_>, site: &Site, goal: &Goal) -> Result<Self> {
        let Some(place) = deploys::place(db, &site.place)? else { return Ok(Self::default()) };
        let rows = deploys::of_place(db, place)?.into_iter().map(|row| (row.path.clone(), row)).collect();
        let mut back = Self { rows, ..Self::default() };
        let stands = Path::new(&site.place.root).is_dir();
        for wanted in goal.wanted(db, site, place, &mut back)? {
            if stands {
                back.file(db, site, place, wanted)?;
            } else {
                // With the root everything went; nothing is brought back into a folder that was taken away.
                back.quiet.push(Quiet::Forget(wanted.path));
            }
        }
        Ok(back)
    }

    fn file(&mut self, db: &Db<'_>, site: &Site, place: i64, wanted: Wanted) -> Result<()> {
        let path = PathBuf::from(&wanted.path);
        let row = self.rows.get(&wanted.path);
        let found = disk::look(&path)?;
        let touches = snapshots::touches(db, place, &wanted.path, wanted.from)?;
        let left_by_us = |image: &Image| match (image, &found) {
            (Image::File { sha256, mode, .. }, Found::File { sha256: there, mode: bits, .. }) => {
                sha256 == there && mode == bits
            }
            (Image::Absent, Found::Absent) => true,
            (Image::Link(text), Found::Link(there)) => text == there,
            _ => false,
        };
        let last = row.map(|row| &row.applied).or_else(|| touches.first().map(|touch| &touch.after));
        let untouched = last.is_some_and(left_by_us);
        let is_kept = row.is_some_and(|row| row.applied != Image::Absent);
        if row.is_none() && deploys::at(db, &site.place.machine, &wanted.path)?.is_some() {
            self.warnings.push(format!("`{}` is left as it is: another project or repo keeps it now", wanted.path));
            return Ok(());
        }
        if found == Found::Other || !(is_kept || untouched || found == Found::Absent) {
            self.warnings.push(format!("`{}` is left as it is: mcpkg did not leave it there", wanted.path));
            return Ok(());
        }
        let after = match &found {
            Found::File { bytes, .. } if wanted.block => {
                let after = block::undo(db, &found, &touches)?;
                // What the user changed in the block before it was taken back is not what the snapshot left.
                match (after.bytes(), block::of_image(db, &wanted.image)?) {
                    (Some(text), Some(block)) if wanted.keep != Keep::Nobody && !goes_back_exactly(&touches) => {
                        let mode = after.mode().unwrap_or(disk::FILE);
                        After::file(gather::put(text, &gather::with_newline(&block)), mode)
                    }
                    _ if bytes.is_empty() => apply::wanted(db, &wanted.image)?,
                    _ => after,
                }
            }
            _ => apply::wanted(db, &wanted.image)?,
        };
        if after.is(&found) {
            let is_same = |row: &Deployed| {
                row.applied == wanted.image && row.targets == wanted.targets && row.module_ids == wanted.module_ids
            };
            if wanted.keep == Keep::Written && row.is_some_and(|row| row.written && is_same(row)) {
                return Ok(());
            }
            let before_us = touches.last().map_or(Image::Absent, |touch| touch.before.clone());
            self.quiet.push(match wanted.keep {
                Keep::Nobody => Quiet::Forget(wanted.path),
                keep => Quiet::Keep(Deployed {
                    path: wanted.path,
                    place,
                    root: wanted.root,
                    targets: wanted.targets,
                    module_ids: wanted.module_ids,
                    block: wanted.block,
                    written: keep == Keep::Written,
                    applied: wanted.image,
                    pristine: row.map_or(before_us, |row| row.pristine.clone()),
                    stat: None,
                }),
            });
            return Ok(());
        }
        if !untouched && found != Found::Absent {
            self.warnings.push(format!("`{}` was changed since; its bytes are kept in the snapshot", wanted.path));
        }
        self.changes.push(Change {
            op: op_of(&found, &after),
            path,
            root: PathBuf::from(wanted.root),
            targets: wanted.targets,
            module_ids: wanted.module_ids,
            block: wanted.block,
            before: found,
            after,
            reason: if untouched { "rolled back" } else { "rolled back, and changed since" }.to_owned(),
            adopt: false,
            drifted: !untouched,
            drift: if untouched { Drift::UpstreamPending } else { Drift::UserModified },
            keep: wanted.keep,
        });
        Ok(())
    }
}

/// Whether one change is taken back and no other: then what stood before it is what is wanted, the user's part too.
fn goes_back_exactly(touches: &[snapshots::File]) -> bool {
    matches!(touches, [only] if only.op != "claim")
}

impl Goal {
    /// The targets that the rollback is of: those of the snapshot, as far as they were chosen.
    fn targets(&self, site: &Site) -> Vec<String> {
        let selected = plan::names(&site.selected);
        match &self.snapshot {
            Some((snapshot, _)) => {
                snapshot.targets.iter().filter(|target| selected.contains(target)).cloned().collect()
            }
            None => selected,
        }
    }

    fn wanted(&self, db: &Db<'_>, site: &Site, place: i64, back: &mut Back) -> Result<Vec<Wanted>> {
        let chosen = self.targets(site);
        let is_chosen = |targets: &[String]| targets.iter().any(|target| chosen.contains(target));
        let others = |targets: &[String]| -> Vec<String> {
            targets.iter().filter(|target| !chosen.contains(target)).cloned().collect()
        };
        let mut found = Vec::new();
        let Some((snapshot, before)) = &self.snapshot else {
            // All of them are meant where none is named, those that are configured no more too.
            for row in back.rows.values().filter(|row| site.is_for_all() || is_chosen(&row.targets)) {
                let rest = others(&row.targets);
                if !rest.is_empty() && !site.is_for_all() {
                    // It goes when the last target lets go.
                    back.quiet.push(Quiet::Keep(Deployed { targets: rest, ..row.clone() }));
                    continue;
                }
                found.push(Wanted {
                    path: row.path.clone(),
                    root: row.root.clone(),
                    targets: row.targets.clone(),
                    module_ids: row.module_ids.clone(),
                    block: row.block,
                    image: row.pristine.clone(),
                    keep: Keep::Nobody,
                    from: pristine_from(db, row)?,
                });
            }
            return Ok(found);
        };
        let state = match before {
            true => snapshots::state_before(db, place, snapshot.id)?,
            false => snapshots::state_at(db, place, snapshot.id)?,
        };
        let from = if *before { snapshot.id } else { snapshot.id + 1 };
        for file in state.into_iter().filter(|file| is_chosen(&file.targets)) {
            let snapshots::File { path, root, mut targets, module_ids, block, keep, after: image, .. } = file;
            // Targets that are not taken back and have the file now go on having it.
            let row = back.rows.get(&path).filter(|row| row.applied != Image::Absent);
            let rest = row.map_or(Vec::new(), |row| others(&row.targets));
            if let Some(row) = row.filter(|_| keep == Keep::Nobody && !rest.is_empty()) {
                back.quiet.push(Quiet::Keep(Deployed { targets: rest, ..row.clone() }));
                continue;
            }
            targets.extend(rest.into_iter().filter(|target| !targets.contains(target)).collect::<Vec<_>>());
            targets.sort_unstable();
            found.push(Wanted { path, root, targets, module_ids, block, image, keep, from });
        }
        Ok(found)
    }
}

/// The first snapshot of what mcpkg did to a file since it stood there as it was before.
fn pristine_from(db: &Db<'_>, row: &Deployed) -> Result<i64> {
    let touches = snapshots::touches(db, row.place, &row.path, 0)?;
    let first = touches.iter().find(|touch| touch.before == row.pristine).or(touches.last());
    Ok(first.map_or(0, |touch| touch.snapshot))
}
