//! Runs a tool that is a WebAssembly module, in this process: neither a program nor a folder of the machine is needed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::call::{Call, Content, Tree};
use super::limits::Limits;
use super::tree;
use super::wasm::{self, End, Given, Program, Ran, Setup};
use crate::disk;
use crate::error::{Code, Error, Result};
use crate::file;
use crate::op::Context;

/// Bytes of the largest file that a call gives.
const MAX_INPUT: u64 = 64 << 20;

/// The folder that a call's own files are below.
const INPUT: &str = "/input/";

/// Runs a module to its end, with these variables.
///
/// # Errors
/// `E_TOOL_FAILED` where it cannot be started, `E_TOOL_INPUT` for a file that it is given, `E_DAMAGED`, `E_ARCHIVE_INVALID`,
/// `E_FILE_FAILED`; `E_INTERNAL` where the interpreter fails.
pub fn run(context: &Context, call: &Call, variables: &BTreeMap<String, String>, limits: Limits) -> Result<Ran> {
    let program = program(context, call)?;
    let inputs = inputs(call)?;
    let setup = Setup {
        package: &program.files,
        arguments: &call.argv,
        variables,
        inputs: &inputs,
        limits,
        clock: context.clock.clone(),
        cancelled: context.cancelled.clone(),
    };
    let ran = wasm::run(&program, &setup)?;
    match ran.end {
        End::NotStarted(why) => Err(not_started(call, &why)),
        _ => Ok(ran),
    }
}

/// Returns the module that is the first word of a call, compiled.
fn program(context: &Context, call: &Call) -> Result<Arc<Program>> {
    let path = call.argv.first().map_or("", String::as_str);
    let program = match &call.tree {
        Tree::Folder(folder) => wasm::of_folder(folder, path)?,
        Tree::Archive(sha256) => wasm::of_archive(sha256, path, || tree::archive(context, sha256))?,
        Tree::Fetched(bytes) => wasm::of_archive(&disk::sha256(bytes), path, || Ok(Arc::clone(bytes)))?,
    };
    program.map_err(|why| not_started(call, &why))
}

/// Returns what a call gives, by the paths below `/input`.
fn inputs(call: &Call) -> Result<Given> {
    let mut inputs = Given::new();
    for given in &call.given {
        let bytes = match &given.content {
            Content::Bytes(bytes) => bytes.clone(),
            Content::Path(path) => file::read(path, MAX_INPUT).map_err(|error| {
                let path = path.display();
                let why = format!("`{path}` cannot be given to a module, which is given files alone: {error}");
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
    Error::new(Code::ToolFailed, format!("{} cannot be started: {why}", call.tool.name))
        .with_details(json!({ "exit_code": null, "stderr": "" }))
}
