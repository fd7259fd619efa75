//! Builds tools: runs `build` and `hooks` of the manifest in a sandbox, on a copy of the files.
//!
//! The build of an archive is stored in the database, also as an archive. It is found by the SHA-256 of the package's
//! archive, and by the runner or image that built it. A stored build is used only if this machine has a record of it,
//! since the database may come from somebody else. Without a record, the tool is built again. The build of a folder is
//! not stored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::answer;
use super::beat::Beat;
use super::call::{Call, Tree};
use super::choose::{self, Wanted, choose};
use super::grants::Granted;
use super::limits::Limits;
use super::plan::Plan;
use super::record::{self, Facts, RunDetails};
use super::runner::{Job, NotRun, Runner, Takes};
use super::trees::{self, Cache};
use super::usual::USUAL;
use super::{left, tree};
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::process::starter::Ended;
use mcpkg_base::redact::Secrets;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::blobs;
use mcpkg_store::tools::builds::{self, Build};

/// The action name in the record of a build.
const ACTION: &str = "build";

/// The timeout of a build.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// A shell script that runs each argument in a new shell, and stops at the first failure.
const EACH: &str = "for text do sh -c \"$text\" || exit; done";

/// Returns the folder of the tool's files, after building them if the manifest requires it.
///
/// # Errors
/// The errors of `tree::of`. If the tool has to be built, also `E_RUNNER_UNAVAILABLE`, `E_IMAGE_MISSING`,
/// `E_TOOL_FAILED`, `E_TOOL_TIMEOUT`, `E_TOOL_LIMIT`, `E_TOOL_OUTPUT` and `E_CANCELLED`. `E_DAMAGED` if a stored build
/// has changed.
pub fn tree(context: &Context, call: &Call, plan: &Plan) -> Result<PathBuf> {
    if call.build.is_empty() {
        return tree::of(context, &call.tree);
    }
    let runner = choose(Wanted { builds: true, kind: None, ..plan.wanted(context, call) })?;
    let archive = match &call.tree {
        // The files in the user's folder may change before the next run, so the build of a folder is not stored.
        Tree::Folder(_) => None,
        Tree::Archive(sha256) => Some(*sha256),
        Tree::Fetched(archive) => Some(archive.sha256()),
    };
    let place = place(&*runner);
    if let Some(archive) = &archive
        && let Some(build) = context.store.read(|db| builds::get(db, archive, &place))?
        && context.approved.get(Kind::ToolBuild, &name(&note(&build)))?.is_some()
    {
        let now = context.clock.now();
        return trees::copy(&Cache::of(context)?, &build.sha256, now, |folder| {
            let bytes = context.store.read(|db| blobs::get(db, build.blob))?;
            check(&bytes, &build)?;
            left::unpack(&bytes, folder)
        });
    }
    let bytes = make(context, call, plan, &*runner)?;
    let sha256 = sha256::of(&bytes);
    if let Some(package) = archive {
        keep(context, package, place, &bytes)?;
    }
    trees::copy(&Cache::of(context)?, &sha256, context.clock.now(), |folder| left::unpack(&bytes, folder))
}

/// Builds a tool before it is installed. If the build fails, the unpacked archive is removed from the cache again.
pub fn ahead(context: &Context, call: &Call) -> Result<()> {
    let built = Plan::of(context, call).and_then(|plan| tree(context, call, &plan));
    if let (Err(_), Tree::Fetched(archive)) = (&built, &call.tree) {
        trees::forget(&trees::folder()?, &archive.sha256())?;
    }
    built.map(drop)
}

fn check(bytes: &[u8], build: &Build) -> Result<()> {
    match sha256::of(bytes) == build.sha256 {
        true => Ok(()),
        false => {
            let why = "The stored build of a tool no longer matches the build's digest";
            Err(Error::new(Code::Damaged, why).hint("install the tool again"))
        }
    }
}

/// Returns a name for the system that a runner builds on. Files built in one image may not run in another image.
fn place(runner: &dyn Runner) -> String {
    match runner.image() {
        Some(image) => format!("{}:{image}", runner.kind().word()),
        None => runner.kind().word().to_owned(),
    }
}

/// Stores the result of a build. First writes the record on this machine, because a row without a record is ignored.
fn keep(context: &Context, package: [u8; 32], runner: String, bytes: &[u8]) -> Result<()> {
    let mut build = Build { package, runner, sha256: sha256::of(bytes), blob: 0, built_at: context.clock.now() };
    let note = note(&build);
    context.approved.put(Kind::ToolBuild, &name(&note), &note)?;
    context.store.write(|db| {
        build.blob = blobs::put(db, bytes)?;
        builds::keep(db, &build)
    })
}

fn note(build: &Build) -> Value {
    let Build { package, runner, sha256, .. } = build;
    json!({ "package": hex::encode(package), "runner": runner, "left": hex::encode(sha256) })
}

fn name(note: &Value) -> String {
    sha256::hex(note.to_string().as_bytes())
}

/// Builds a tool, records the build as a run, and returns the built files as an archive.
fn make(context: &Context, call: &Call, plan: &Plan, runner: &dyn Runner) -> Result<Vec<u8>> {
    (context.step_aside)();
    let input = json!({ "build": call.build });
    let input = input.as_object().cloned().unwrap_or_default();
    let run = record::begin(
        context,
        RunDetails { tool: &call.tool, action: ACTION, input: &input, verdict: call.verdict.word() },
    )?;
    let mut facts = Facts { runner: Some(runner.kind()), ..Facts::default() };
    let made = run_build(context, call, plan, runner, &mut facts);
    record::end(context, &run, facts, made.as_ref().err());
    made
}

fn run_build(context: &Context, call: &Call, plan: &Plan, runner: &dyn Runner, facts: &mut Facts) -> Result<Vec<u8>> {
    let source = tree::of(context, &call.tree)?;
    let scratch = tempfile::Builder::new().prefix("mcpkg-build-").tempdir();
    let scratch = scratch.map_err(|error| Error::file("make", &std::env::temp_dir(), error))?;
    let argv: Vec<String> =
        ["sh", "-c", EACH, "sh"].into_iter().map(str::to_owned).chain(call.build.iter().cloned()).collect();
    let beat = Beat::begin(context, &call.tool.name, &Secrets::new());
    let (variables, limits) = (variables(), limits(plan));
    let told = Some(beat.tell());
    let job = job(&argv, &variables, &source, scratch.path(), &plan.granted, limits, &context.cancelled);
    let ran = runner.run(Job { told, ..job });
    drop(beat);
    let ran = match ran {
        Ok(ran) => ran,
        Err(NotRun::Unavailable(why)) => return Err(choose::unavailable(call, runner.kind(), why)),
        Err(not_run) => return Err(answer::not_run(&call.tool, &limits, not_run)),
    };
    (facts.stdout, facts.stderr) = (ran.stdout.size(), ran.stderr.size());
    facts.exit_code = match &ran.ended {
        Some(Ended::Exited(code)) => Some(*code),
        _ => None,
    };
    let said = format!("{}{}", ran.stdout.text(), ran.stderr.text());
    let built = match ran.reached {
        Some(limit) => Err(answer::reached(&call.tool, limit, "")),
        None => answer::require_success(&call.tool, ran.ended.as_ref(), &said),
    };
    built.map_err(|error| {
        let failed = Error::new(error.code(), format!("The build failed: {}", error.message()));
        failed.with_details(error.details().cloned().unwrap_or_default())
    })?;
    if let Some(first) = ran.left_out.first() {
        let what = format!("Cannot store the files from the build of {}: {first}", call.tool.name);
        return Err(Error::new(Code::ToolOutput, what)
            .with_details(json!({ "errors": ran.left_out }))
            .hint("a build can write at most 10,000 files and 200 MiB, and no pipes or devices"));
    }
    left::pack(ran.files)
}

fn variables() -> BTreeMap<String, String> {
    USUAL.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn limits(plan: &Plan) -> Limits {
    Limits { time: LONGEST, ..plan.limits }
}

fn job<'a>(
    argv: &'a [String],
    variables: &'a BTreeMap<String, String>,
    tree: &'a Path,
    scratch: &'a Path,
    granted: &'a Granted,
    limits: Limits,
    cancelled: &'a CancellationToken,
) -> Job<'a> {
    Job {
        argv,
        variables,
        tree,
        given: &[],
        scratch,
        granted,
        limits,
        takes: Takes::Workspace,
        cancelled,
        told: None,
        before: None,
    }
}
