//! Runs WebAssembly modules inside the mcpkg process, without any program or folder of the machine.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::call::{Call, Content, Tree};
use super::kind::RunnerKind;
use super::mount::{Mount, WORKSPACE};
use super::runner::{Job, NotRun, Ran, Runner};
use super::tree;
use super::wasm::{self, End, FileMap, Program, Setup};
use mcpkg_base::error::{self, Code, Error};
use mcpkg_base::file;
use mcpkg_base::process::starter::{Ended, Left};
use mcpkg_core::op::Context;

/// The maximum size of an input file in bytes.
const MAX_INPUT: u64 = 64 << 20;

/// The folder for the input files of a call.
const INPUT: &str = "/input/";

/// The runner for the module of one call.
pub struct Module {
    context: Context,
    call: Call,
}

impl Module {
    pub fn new(context: &Context, call: &Call) -> Self {
        Self { context: context.clone(), call: call.clone() }
    }
}

impl Runner for Module {
    fn kind(&self) -> RunnerKind {
        RunnerKind::Wasm
    }

    /// Only the result of a build has to be unpacked. Any other module is read directly from its archive or folder.
    fn needs_tree(&self) -> bool {
        !self.call.build.is_empty()
    }

    fn needs_scratch(&self) -> bool {
        false
    }

    fn mounts(&self, job: &Job<'_>) -> Result<Vec<Mount>, String> {
        let given = job.given.iter().map(|(from, at)| Mount::read(from, at));
        Ok([Mount::read(job.tree, WORKSPACE)].into_iter().chain(given).collect())
    }

    fn command(&self, _: &Job<'_>) -> Vec<String> {
        Vec::new()
    }

    fn run(&self, mut job: Job<'_>) -> Result<Ran, NotRun> {
        if job.before.take().is_some_and(|before| !before()) {
            return Err(NotRun::Unavailable("nothing was started".to_owned()));
        }
        let ran = run(&self.context, &self.call, job).map_err(NotRun::Failed)?;
        let wasm::Ran { end, stdout, stderr, left } = ran;
        let (ended, reached) = match end {
            End::Exited(code) => (Some(Ended::Exited(code)), None),
            End::Trapped(why) | End::NotStarted(why) => (Some(Ended::Trapped(why)), None),
            End::OutOfMemory => (None, Some("memory")),
            End::TimedOut => return Err(NotRun::TimedOut),
            End::Cancelled => return Err(NotRun::Cancelled),
        };
        let file = |(path, bytes)| Left::File { path, bytes, executable: false };
        let files = left.files.into_iter().map(file).collect();
        Ok(Ran { ended, stdout, stderr, files, left_out: left.left_out, reached, unlimited: Vec::new() })
    }
}

/// Runs a module to its end.
///
/// # Errors
/// `E_TOOL_FAILED` if the module cannot be started, `E_TOOL_INPUT` if an input file cannot be passed to it, and the
/// errors of reading the tool's files.
fn run(context: &Context, call: &Call, job: Job<'_>) -> error::Result<wasm::Ran> {
    let program = program(context, call, job.tree)?;
    let inputs = inputs(call)?;
    let setup = Setup {
        package: &program.files,
        arguments: job.argv,
        variables: job.variables,
        inputs: &inputs,
        limits: job.limits,
        clock: context.clock.clone(),
        cancelled: job.cancelled.clone(),
    };
    let ran = wasm::run(&program, &setup, job.told)?;
    match ran.end {
        End::NotStarted(why) => Err(not_started(call, &why)),
        _ => Ok(ran),
    }
}

/// Compiles the module named by the first word of the command. `built` is the folder with the result of a build, if
/// there is one.
fn program(context: &Context, call: &Call, built: &Path) -> error::Result<Arc<Program>> {
    let path = call.argv.first().map_or("", String::as_str);
    let program = match &call.tree {
        _ if !call.build.is_empty() => wasm::of_built(built, path)?,
        Tree::Folder(folder) => wasm::of_folder(folder, path)?,
        Tree::Archive(sha256) => wasm::of_archive(sha256, path, || tree::archive(context, sha256))?,
        Tree::Fetched(archive) => wasm::of_archive(&archive.sha256(), path, || Ok(archive.clone()))?,
    };
    program.map_err(|why| not_started(call, &why))
}

/// Returns the input files of a call by their paths below `/input`.
fn inputs(call: &Call) -> error::Result<FileMap> {
    let mut inputs = FileMap::new();
    for given in &call.given {
        let bytes = match &given.content {
            Content::Bytes(bytes) => bytes.clone(),
            Content::Path(path) => file::read(path, MAX_INPUT).map_err(|error| {
                let path = path.display();
                let why = format!("Cannot pass `{path}` to a WebAssembly module, which accepts only files: {error}");
                let at = given.at.trim_start_matches(INPUT).split('/').next().unwrap_or_default();
                let details = json!({ "errors": [{ "path": format!("/{at}"), "message": why }] });
                Error::new(Code::ToolInput, why).with_details(details)
            })?,
        };
        inputs.insert(given.at.trim_start_matches(INPUT).to_owned(), bytes.into());
    }
    Ok(inputs)
}

fn not_started(call: &Call, why: &str) -> Error {
    Error::new(Code::ToolFailed, format!("Cannot start {}: {why}", call.tool.name))
        .with_details(json!({ "exit_code": null, "stderr": "" }))
}
