//! `plan`, `diff`, `preview`: what a deploy would do.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use similar::TextDiff;

use super::GROUP;
use super::compare;
use super::disk;
use super::module::Kind;
use super::plan::{self, After, Change, Op, Plan};
use super::repo::Checkouts;
use super::source::{Choice, Composed, Site};
use crate::error::{Code, Error, Result};
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use crate::store::Db;

/// A plan with what it was made of.
pub struct Made {
    /// Where.
    pub site: Site,
    /// What an apply would do.
    pub plan: Plan,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What each module is, by id.
    pub kinds: HashMap<String, Kind>,
    /// The git sources, as they were fetched.
    pub checkouts: Checkouts,
    /// What changes with the source.
    pub fingerprint: Option<disk::Sha>,
    /// The SHA-256 of all that an apply would do, in hex.
    pub hash: String,
}

impl Made {
    /// Makes the plan of a choice. Git sources are fetched first, before anything is held that others wait for.
    ///
    /// # Errors
    /// What the source, the targets and the disk answer.
    pub fn new(context: &Context, choice: &Choice) -> Result<Self> {
        let site = Site::find(context, choice)?;
        let checkouts = site.fetch(context)?;
        Self::of(context, site, checkouts)
    }

    /// Makes the plan of a choice again, with what was fetched for it before: no other host is asked.
    ///
    /// # Errors
    /// As [`Made::new`]; `E_PLAN_CHANGED` where other git sources are wanted now.
    pub fn again(context: &Context, choice: &Choice, checkouts: Checkouts) -> Result<Self> {
        Self::of(context, Site::find(context, choice)?, checkouts)
    }

    fn of(context: &Context, site: Site, checkouts: Checkouts) -> Result<Self> {
        // The files of a config repo may lie on a slow disk: they are read before the database.
        let composed = site.compose_repo(&checkouts)?;
        context.store.read(|db| {
            let composed = site.compose(db, composed)?;
            Self::at(db, site, composed, checkouts)
        })
    }

    fn at(db: &Db<'_>, site: Site, composed: Composed, checkouts: Checkouts) -> Result<Self> {
        let mut desired = super::targets::land(&composed.modules, &site.aims, &site.selected, &site.ground)?;
        let mut warnings = composed.warnings;
        warnings.append(&mut desired.warnings);
        let plan = compare::compare(db, &site, desired)?;
        let hash = hash(&site, &plan);
        let kinds = composed.modules.iter().map(|module| (module.id.clone(), module.kind)).collect();
        Ok(Self { site, plan, warnings, kinds, fingerprint: composed.fingerprint, checkouts, hash })
    }

    /// The data that `plan`, `diff` and `deploy` share (reference: contract 000's original, plan).
    pub fn data(&self) -> Value {
        json!({
            "profile": self.site.profile,
            "targets": plan::names(&self.site.selected),
            "changes": changes_json(&self.plan.changes),
            "summary": summary(&self.plan.changes),
        })
    }
}

/// The SHA-256 of what was asked for and of every change, in order: another byte, mode or path makes another hash.
fn hash(site: &Site, plan: &Plan) -> String {
    let mut hash = Sha256::new();
    // Each field ends with a byte that stands in none of them.
    let mut field = |bytes: &[u8]| {
        hash.update(bytes);
        hash.update([0]);
    };
    field(site.inputs().to_string().as_bytes());
    for change in &plan.changes {
        field(change.op.word().as_bytes());
        change.targets.iter().chain(&change.module_ids).for_each(|word| field(word.as_bytes()));
        field(change.path.as_os_str().as_encoded_bytes());
        field(change.before.sha256().map_or(String::new(), |sha256| disk::hex(sha256)).as_bytes());
        match &change.after {
            After::Absent => field(b"nothing"),
            After::Link(text) => field(text.as_bytes()),
            After::File { sha256, mode, .. } => field(format!("{} {mode:o}", disk::hex(sha256)).as_bytes()),
        }
        field(change.reason.as_bytes());
        field(&[u8::from(change.adopt) + 2 * u8::from(change.drifted) + b'0']);
    }
    let claims = plan.quiet.iter().filter_map(|quiet| match quiet {
        plan::Quiet::Claim(row, _) => Some(row.path.as_str()),
        plan::Quiet::Keep(_) | plan::Quiet::Follow(..) | plan::Quiet::Forget(_) => None,
    });
    let mut claims: Vec<&str> = claims.collect();
    claims.sort_unstable();
    claims.into_iter().for_each(|path| field(path.as_bytes()));
    disk::hex(&hash.finalize())
}

/// The changes as contract 000 writes them.
pub fn changes_json(changes: &[Change]) -> Vec<Value> {
    changes.iter().map(Change::json).collect()
}

/// How many changes of each kind there are.
pub fn summary(changes: &[Change]) -> Value {
    let count = |op: Op| changes.iter().filter(|change| change.op == op).count();
    json!({ "create": count(Op::Create), "update": count(Op::Update), "delete": count(Op::Delete) })
}

/// The changes for a person: a row each, and a line that counts them.
pub fn table(changes: &[Change], site: &Site) -> Body {
    let rows = changes
        .iter()
        .map(|change| {
            let note = match (change.drifted, change.adopt) {
                (true, true) => "adopt: changed since",
                (true, false) => "changed since",
                (false, true) => "adopt",
                (false, false) => "",
            };
            vec![
                change.op.word().to_owned(),
                change.targets.join(","),
                change.path.display().to_string(),
                note.to_owned(),
                change.reason.clone(),
            ]
        })
        .collect();
    let empty = format!("Nothing to do: {} is as it shall be", site.place.root);
    Body::Table(Table { columns: &["op", "targets", "path", "needs", "reason"], rows, empty })
}

/// The failure of an apply whose plan is not the one that was shown any more.
pub fn changed_meanwhile() -> Error {
    Error::new(Code::PlanChanged, "Something changed after the plan was made; nothing was written")
        .hint("look at the plan again")
}

/// The line that counts the changes that are to be made, or that were.
pub fn count_line(changes: &[Change], done: bool) -> String {
    let count = |op: Op| changes.iter().filter(|change| change.op == op).count();
    let (create, update, delete) = (count(Op::Create), count(Op::Update), count(Op::Delete));
    if done {
        return format!("{create} created, {update} updated, {delete} deleted");
    }
    let adopt = changes.iter().filter(|change| change.adopt).count();
    let adopts = if adopt == 0 { String::new() } else { format!("; {adopt} need --adopt") };
    format!("{create} to create, {update} to update, {delete} to delete{adopts}")
}

/// The most bytes of one file's diff.
const MAX_DIFF: usize = 100 << 10;

/// The unified diff of a change, with paths below its root; `Err` says why there is none.
pub fn unified(change: &Change) -> Result<String, String> {
    let relative = relative(change);
    let text = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) => std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| format!("{relative} is not UTF-8")),
        None => Ok(String::new()),
    };
    let (old, new) = (text(change.before.bytes())?, text(change.after.bytes())?);
    if old.len().max(new.len()) > 8 * MAX_DIFF {
        return Err(format!("{relative} is too large for a diff"));
    }
    let old_name = if change.op == Op::Create { "/dev/null".to_owned() } else { format!("a/{relative}") };
    let new_name = if change.op == Op::Delete { "/dev/null".to_owned() } else { format!("b/{relative}") };
    let diff = TextDiff::from_lines(&old, &new);
    let text = diff.unified_diff().context_radius(3).header(&old_name, &new_name).to_string();
    if text.len() > MAX_DIFF {
        Err(format!("the diff of {relative} is longer than {MAX_DIFF} bytes"))
    } else {
        Ok(text)
    }
}

/// The path of a change below the folder of its target.
pub fn relative(change: &Change) -> String {
    disk::posix(change.path.strip_prefix(&change.root).unwrap_or(&change.path))
}

/// The diffs of all changes, for a person.
pub fn diffs(changes: &[Change]) -> Body {
    let text = changes.iter().map(|change| match unified(change) {
        Ok(text) if text.is_empty() => format!("{}: {}\n", relative(change), change.reason),
        Ok(text) => text,
        Err(why) => format!("{why}\n"),
    });
    Body::Diff(text.collect())
}

macro_rules! with_schema {
    ($name:literal) => {
        Some(include_str!(concat!("schemas/", $name, ".json")))
    };
}
pub(super) use with_schema;

/// The arguments that plan, diff and deploy take.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// It reads only, with it or without
    #[arg(long, hide = true)]
    #[serde(default)]
    dry_run: bool,
    /// Exit with status 3 where anything would change
    #[arg(long)]
    #[serde(skip)]
    check: bool,
}

/// Show what a deploy would change
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ShowPlan {
    #[command(flatten)]
    show: Show,
}

impl Operation for ShowPlan {
    const TOOL: &'static str = "plan";
    const CLI: &'static [&'static str] = &["plan"];
    const TITLE: &'static str = "Plan a deploy";
    const ABOUT: &'static str =
        "Show which files of Codex, Claude Code, Cursor and VS Code a deploy would create, update or delete";
    const HELP: &'static str = "Nothing is written. A file that mcpkg did not write, or that was changed since, needs --adopt.\n\n\
        Examples:\n  mcpkg plan\n  mcpkg plan --target claude_code --check\n  mcpkg plan --repo ~/.agentpack/repo --json";
    const EFFECT: Effect = Effect::Read;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let made = Made::new(context, &self.show.choice)?;
        let body = listed(&made);
        Ok(shown(made, body, self.show.check))
    }
}

/// Show the differences a deploy would make
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ShowDiff {
    #[command(flatten)]
    show: Show,
}

impl Operation for ShowDiff {
    const TOOL: &'static str = "diff";
    const CLI: &'static [&'static str] = &["diff"];
    const TITLE: &'static str = "Diff a deploy";
    const ABOUT: &'static str = "Show what a deploy would change in the agents' files, line by line";
    const HELP: &'static str = "Examples:\n  mcpkg diff\n  mcpkg diff --target cursor --check";
    const EFFECT: Effect = Effect::Read;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let made = Made::new(context, &self.show.choice)?;
        let body = diffs(&made.plan.changes);
        Ok(shown(made, body, self.show.check))
    }
}

/// The plan for a person: its rows and their count.
pub fn listed(made: &Made) -> Body {
    let changes = &made.plan.changes;
    let mut parts = vec![table(changes, &made.site)];
    if !changes.is_empty() {
        parts.push(Body::Sentence(count_line(changes, false)));
    }
    Body::Several(parts)
}

fn shown(made: Made, body: Body, check: bool) -> Reply {
    let mut reply = Reply::new(body, made.data());
    reply.differs = check && !made.plan.changes.is_empty();
    if !made.plan.changes.is_empty() {
        reply = reply.hint(format!("`mcpkg deploy --apply{}` does it", made.site.arguments()));
    }
    reply.warn(made.warnings)
}

/// Show the plan and, with --diff, the differences
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Preview {
    #[command(flatten)]
    #[serde(flatten)]
    show: Show,
    /// Show the differences too
    #[arg(long)]
    #[serde(default)]
    diff: bool,
}

impl Operation for Preview {
    const TOOL: &'static str = "preview";
    const CLI: &'static [&'static str] = &["preview"];
    const TITLE: &'static str = "Preview a deploy";
    const ABOUT: &'static str = "Show the plan of a deploy and, with diff, the unified diff of each file";
    const HELP: &'static str = "Examples:\n  mcpkg preview --diff\n  mcpkg preview --diff --json";
    const EFFECT: Effect = Effect::Read;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("preview");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let mut made = Made::new(context, &self.show.choice)?;
        let changes = &made.plan.changes;
        let plan = json!({ "changes": changes_json(changes), "summary": summary(changes) });
        let mut data = json!({
            "profile": made.site.profile,
            "targets": plan::names(&made.site.selected),
            "plan": plan,
        });
        let mut body = vec![listed(&made)];
        if self.diff {
            let mut files = Vec::new();
            for change in changes {
                files.push(file_json(change, &mut made.warnings));
            }
            data["diff"] =
                json!({ "changes": data["plan"]["changes"], "summary": data["plan"]["summary"], "files": files });
            body.push(diffs(changes));
        }
        let mut reply = shown(made, Body::Several(body), self.show.check);
        reply.data = data;
        Ok(reply)
    }
}

/// A file of `preview --diff`; the diff of one that is deleted is its absence.
fn file_json(change: &Change, warnings: &mut Vec<String>) -> Value {
    let prefixed = |sha256: Option<&disk::Sha>| sha256.map(|sha256| format!("sha256:{}", disk::hex(sha256)));
    let relative = relative(change);
    let mut file = json!({
        "target": change.targets.first(),
        "root": change.root.display().to_string(),
        "root_posix": disk::posix(&change.root),
        "path": relative,
        "path_posix": relative,
        "op": change.op.word(),
        "before_hash": prefixed(change.before.sha256()),
        "after_hash": prefixed(change.after.sha256()),
    });
    if change.op != Op::Delete {
        match unified(change) {
            Ok(text) => file["unified"] = json!(text),
            Err(why) => warnings.push(format!("no diff: {why}")),
        }
    }
    file
}
