//! `mcpkg tool run` (`enact__run`): runs an action of a tool.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::calling::{Called, require};
use super::{TOOLS, checked, dry, named, publisher, schemas, visible};
use crate::GROUP;
use crate::alias;
use crate::backend::{Choice, download, resolve};
use crate::package::manifest::{self, MAIN, Manifest};
use crate::package::{Reference, Wanted};
use crate::run::limits::LONGEST;
use crate::run::operations::subject;
use crate::run::plan::Plan;
use crate::run::{self, Call, Outcome, RunnerKind, Tool, Tree};
use crate::trust::{Policy, Status, Subject, Verb, Verdict};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::inside::stays_inside;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, Operation, Reply, Shape};

/// Run any tool by name, even if not installed. For installed tools, prefer calling them directly.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Run {
    /// Tool name (e.g., 'alice/utils/weather' or 'alice/utils/weather@1.0.0')
    #[arg(value_name = "TOOL[@VERSION][:ACTION]|./FOLDER[:ACTION]", add = TOOLS)]
    tool: String,
    /// Arguments to pass to the tool
    #[arg(short = 'a', long, value_name = "JSON", conflicts_with = "file")]
    args: Option<Arguments>,
    /// File with the arguments as JSON
    #[arg(short, long, value_name = "FILE")]
    #[serde(skip)]
    file: Option<PathBuf>,
    /// One argument; mcpkg reads the value as JSON unless the tool expects text
    #[arg(short, long, value_name = "NAME=VALUE")]
    #[serde(skip)]
    input: Vec<String>,
    /// Folder for the files that the tool writes; existing files are not overwritten
    #[arg(short, long, value_name = "DIR")]
    #[serde(skip)]
    output: Option<PathBuf>,
    /// Maximum run time, such as 30s, 10m or 1h
    #[arg(short, long, value_name = "TIME")]
    #[serde(skip)]
    time: Option<Span>,
    /// Runner to use; mcpkg refuses the run if this runner cannot run the tool [default: the first runner that works]
    #[arg(long, value_enum)]
    #[serde(skip)]
    runner: Option<RunnerKind>,
    /// Show what would run, and with which variables, files and limits, without running the tool
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

/// Arguments of a tool, as an object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
struct Arguments(Map<String, Value>);

impl FromStr for Arguments {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map(Self).map_err(|error| format!("not a JSON object: {error}"))
    }
}

/// A span of time.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
struct Span(u64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let unit = match &text[digits..] {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return Err("use a whole number and a unit, such as 30s, 10m or 1h".to_owned()),
        };
        let seconds = text[..digits].parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        match seconds {
            Some(seconds) if seconds > LONGEST.as_secs() => Err("a run can take at most 1h".to_owned()),
            Some(seconds) if seconds > 0 => Ok(Self(seconds)),
            _ => Err("not a valid duration".to_owned()),
        }
    }
}

impl Operation for Run {
    const TOOL: &'static str = "enact__run";
    const CLI: &'static [&'static str] = &["tool", "run"];
    const TITLE: &'static str = "Run a tool";
    const ABOUT: &'static str =
        "Run any tool by name, even if not installed. For installed tools, prefer calling them directly.";
    const HELP: &'static str = "The tool runs in a sandbox with time and memory limits. By default, the tool has no access to the \
        network, your files or your environment variables. If the tool is not installed, mcpkg downloads and checks its archive, and \
        runs the tool without installing it. To run a tool from a folder, give the folder's path.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool run alice/utils/weather -i city=Bern",
        "mcpkg tool run alice/utils/weather@^1.2:forecast -a '{\"city\": \"Bern\", \"days\": 3}'",
        "mcpkg tool run ./my-tool --dry-run",
    ];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::NO_LIST;
    const LONG: bool = true;
    const MAY_NEED_CONSENT: bool = true;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(include_str!("schemas/run.json"));
    const STRUCTURED: bool = true;
    type Output = schemas::Ran;

    fn subject(&self) -> String {
        self.tool.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let folder = if context.is_shell() { subject::folder_and_action(&self.tool)? } else { None };
        let chosen = match folder {
            Some((folder, action)) => of_folder(folder, action)?,
            None => of_name(context, &named(&alias::expanded(context, &self.tool)?, None)?)?,
        };
        let input = self.arguments(&chosen)?;
        let action = chosen.action.as_deref().unwrap_or(MAIN);
        let verdict = match &chosen.folder {
            Some(_) => unverified(),
            None => {
                let (subject, before) = (&chosen.subject, chosen.published_before.as_deref());
                require(context, Verb::Run, (subject, before), action, &input)?
            }
        };
        let called = Called { subject: &chosen.subject, manifest: &chosen.manifest, verdict: &verdict };
        let Some(mut call) = called.prepare(context, chosen.action.as_deref(), input)? else {
            return Ok(document(&chosen, &verdict));
        };
        if let Some(folder) = &chosen.folder {
            let publisher = subject::publisher_of(folder);
            call.tool = Tool { sha256: None, publisher, ..call.tool };
        }
        call.tree = chosen.tree.clone();
        call.runner = self.runner;
        if let Some(Span(seconds)) = self.time {
            (call.limits.time, call.limits.time_is_callers) = (Some(Duration::from_secs(seconds)), true);
        }
        if self.dry_run {
            return planned(context, &call);
        }
        self.output.as_deref().map_or(Ok(()), require_folder)?;
        let outcome = run::run(context, &call)?;
        let written = self.output.as_deref().map(|folder| write(folder, &outcome)).transpose()?;
        Ok(reply(&chosen, &call, &verdict, outcome, written))
    }
}

impl Run {
    fn arguments(&self, chosen: &Chosen) -> Result<Map<String, Value>> {
        let mut input = match (&self.args, &self.file) {
            (Some(Arguments(input)), _) => input.clone(),
            (None, Some(path)) => {
                let text = file::read_text(path, file::TEXT).map_err(|error| Error::file("read", path, error))?;
                let wrong = |error| {
                    Error::new(Code::InvalidArgument, format!("`{}` is not a JSON object: {error}", path.display()))
                };
                serde_json::from_str(&text).map_err(wrong)?
            }
            (None, None) => Map::new(),
        };
        let action = chosen.manifest.action(chosen.action.as_deref())?;
        let schema = action.and_then(|action| action.input_schema.as_ref());
        for given in &self.input {
            let Some((name, text)) = given.split_once('=') else {
                return Err(Error::new(Code::InvalidArgument, "An input must have the form NAME=VALUE")
                    .hint("for example -i city=Bern"));
            };
            let kind = schema.and_then(|schema| schema.get("properties")?.get(name)?.get("type")?.as_str());
            let parsed = match kind {
                None | Some("string") => None,
                Some(_) => serde_json::from_str(text).ok(),
            };
            input.insert(name.to_owned(), parsed.unwrap_or_else(|| Value::String(text.to_owned())));
        }
        Ok(input)
    }
}

struct Chosen {
    subject: Subject,
    manifest: Arc<Manifest>,
    action: Option<String>,
    tree: Tree,
    folder: Option<PathBuf>,
    /// The tool's previous publisher, if this version is not the installed one.
    published_before: Option<String>,
}

/// Returns the tool in a folder, which has no signatures.
fn of_folder(folder: PathBuf, action: Option<String>) -> Result<Chosen> {
    let manifest = manifest::of_folder(&folder)?.manifest()?;
    let version = manifest.version.as_ref().map(ToString::to_string).unwrap_or_default();
    let subject = Subject { name: manifest.name.to_string(), version, sha256: [0; 32] };
    let (tree, folder) = (Tree::Folder(folder.clone()), Some(folder));
    Ok(Chosen { subject, manifest: Arc::new(manifest), action, tree, folder, published_before: None })
}

/// Returns the tool with this name, which the active toolset must allow: the installed version if it matches, or else
/// the version from a registry.
fn of_name(context: &Context, reference: &Reference) -> Result<Chosen> {
    let audience = context.audience();
    let action = reference.action.clone();
    let (installed, install) = context.store.read(|db| {
        visible::Border::of(db, &audience)?.require(db, reference.name.as_str())?;
        let Some(install) = visible::active(db, &audience, reference.name.as_str())? else { return Ok((None, None)) };
        let is_meant = match &reference.version {
            Wanted::Latest => true,
            wanted => install.version.parse().is_ok_and(|version| wanted.choose([&version], true).is_some()),
        };
        match is_meant {
            true => Ok((Some((checked::subject(&install), checked::manifest(db, &install)?)), None)),
            false => Ok((None, Some(install))),
        }
    })?;
    if let Some((subject, manifest)) = installed {
        let tree = Tree::Archive(subject.sha256);
        return Ok(Chosen { subject, manifest, action, tree, folder: None, published_before: None });
    }
    let published_before = publisher::before(context, reference.name.as_str(), install.as_ref())?;
    (context.step_aside)();
    let resolved = resolve(context, reference, Choice::default()).map_err(|error| {
        let name = reference.name.as_str();
        match error.code() == Code::ToolNotFound && context.is_shell() && Path::new(name).is_dir() {
            true => error.hint(format!("to run the folder, pass its path: `mcpkg tool run ./{name}`")),
            false => error,
        }
    })?;
    let archive = download(context, &resolved)?;
    let manifest = checked::of_archive(&archive.sha256(), || Ok(archive.clone()))?;
    let subject = checked::subject_of(&resolved, &manifest, archive.sha256())?;
    Ok(Chosen { subject, manifest, action, tree: Tree::Fetched(archive), folder: None, published_before })
}

/// Returns the verdict on a tool in a folder, which has no signatures.
fn unverified() -> Verdict {
    Verdict {
        status: Status::Unverified,
        policy: Policy::default(),
        minimum: 1,
        identities: Vec::new(),
        publishers: Vec::new(),
        attestations: Vec::new(),
    }
}

fn document(chosen: &Chosen, verdict: &Verdict) -> Reply {
    let text = chosen.manifest.doc.clone().unwrap_or_default();
    let data = json!({
        "tool": chosen.subject.name,
        "version": chosen.subject.version,
        "output": null,
        "stdout": text,
        "verification": verdict.verification(),
    });
    Reply::new(Body::Text(text), data)
}

fn planned(context: &Context, call: &Call) -> Result<Reply> {
    let plan = Plan::of(context, call)?;
    let tree = match &call.tree {
        Tree::Folder(folder) => folder.clone(),
        Tree::Archive(_) | Tree::Fetched(_) => PathBuf::from("the tool's archive"),
    };
    let data = plan.data(context, call, &tree);
    Ok(Reply::new(Body::Text(dry::text(&data)), data))
}

/// Fails before the run if the output folder could not be created afterwards.
fn require_folder(folder: &Path) -> Result<()> {
    match folder.ancestors().find(|path| path.symlink_metadata().is_ok()) {
        Some(there) if !there.is_dir() => {
            let why = format!("Cannot write the tool's files into `{}`: it is a file, not a folder", there.display());
            Err(Error::new(Code::InvalidArgument, why).hint("the tool was not run; choose a folder with `-o DIR`"))
        }
        _ => Ok(()),
    }
}

/// Writes the output files of a run below `folder`, without overwriting existing files.
fn write(folder: &Path, outcome: &Outcome) -> Result<Vec<String>> {
    let mut written = Vec::new();
    for file in &outcome.files {
        // The runner reports paths relative to /output. A path that leads out of the folder is skipped, in case the
        // runner is wrong.
        if !stays_inside(&file.path) {
            continue;
        }
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| Error::file("make", parent, error))?;
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        let kept = made.and_then(|mut made| std::io::Write::write_all(&mut made, &file.bytes));
        kept.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Error::new(Code::AlreadyExists, format!("`{}` already exists", path.display()))
                    .hint("the tool has already run; to run the tool again, choose an empty folder")
            }
            _ => Error::file("write", &path, error),
        })?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

fn reply(chosen: &Chosen, call: &Call, verdict: &Verdict, outcome: Outcome, written: Option<Vec<String>>) -> Reply {
    let files: Vec<Value> =
        outcome.files.iter().map(|file| json!({ "path": file.path, "size": file.bytes.len() })).collect();
    let mut data = json!({
        "tool": chosen.subject.name,
        "version": chosen.subject.version,
        "action": call.action,
        "output": outcome.output,
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "exit_code": outcome.exit_code,
        "duration_ms": outcome.duration_ms,
        "truncated": outcome.truncated,
        "files": files,
        "runner": outcome.runner.word(),
        "not_limited": outcome.unlimited,
        "run_id": outcome.run.to_string(),
        "verification": verdict.verification(),
    });
    if let Some(image) = outcome.image {
        data["image"] = image.into();
    }
    let mut reply = Reply::new(Body::Text(outcome.stdout), data);
    if let Some(written) = written {
        reply.details.extend(written.into_iter().map(|path| format!("wrote {path}")));
    } else if !files.is_empty() {
        reply = reply.hint("the tool wrote files; to keep the files, run the tool with `-o DIR`");
    }
    if outcome.runner == RunnerKind::None {
        reply = reply.warn(["the tool ran without a sandbox, because a person allowed it".to_owned()]);
    }
    if !outcome.left_out.is_empty() {
        reply = reply.warn([format!("not copied from /output: {}", outcome.left_out.join(", "))]);
    }
    reply
}
