//! Tests with faults that happen to real processes, such as kill -9, power loss and a full disk. The number
//! in a test's name, as in `f01`, stands for a kind of fault. A test prints `skipped: why` if the machine lacks what it
//! needs.

mod compacting;
mod damage;
mod deploys;
mod disk;
mod flood;
mod killed;
mod litestream;
mod noise;
mod pipes;
mod power;
mod published;
mod replaced;
mod sources;
mod strangers;
mod syncs;
mod together;
mod tools;
mod versions;

use std::collections::BTreeSet;
use std::process::Command;

use mcpkg_store::page::Page;
use mcpkg_store::prompts;

pub(crate) use disk::fill;
pub(crate) use versions::faketime;

use crate::support::{Ran, Scratch, finds};

/// Returns a command that runs mcpkg under strace with the fault `inject`, such as `fsync:error=EIO:when=3`.
pub(crate) fn under_strace(scratch: &Scratch, inject: &str) -> Option<Command> {
    let words = strace(inject)?;
    Some(scratch.command_under(&words.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// Returns the words that start strace with the fault `inject`, or `None` if strace is not installed.
pub(crate) fn strace(inject: &str) -> Option<Vec<String>> {
    let strace = finds("strace")?.display().to_string();
    let trace = inject.split(':').next().unwrap_or_default();
    let words = format!("-f -qq -o /dev/null -e trace={trace} -e inject={inject}");
    Some(std::iter::once(strace).chain(words.split(' ').map(str::to_owned)).collect())
}

/// Returns the names of the project's prompts. Reads them in this process.
fn prompts(scratch: &Scratch) -> BTreeSet<String> {
    let listed = scratch.context().read(|db, project| prompts::list(db, project.id, &Page::all()));
    listed.expect("prompts can be listed").rows.into_iter().map(|prompt| prompt.name).collect()
}

/// Returns content that is derived from `name`, so that a test can compute again what it should read back.
fn content_of(name: &str, size: usize) -> String {
    format!("{name} ").chars().cycle().take(size.max(1)).collect()
}

/// Checks that `mcpkg check --deep` finds no problem.
#[track_caller]
pub(crate) fn assert_sound(scratch: &Scratch) {
    let checked = scratch.ok(&["check", "--deep"]);
    assert!(checked.contains("is sound"), "{checked}");
}

/// Checks that the command fails with `code` and exit status 1.
#[track_caller]
pub(crate) fn assert_refused(scratch: &Scratch, arguments: &[&str], code: &str) {
    let ran = scratch.run(&[&["--json"], arguments].concat());
    assert_eq!(ran.status, 1, "{ran}");
    assert!(fails(&ran, code), "not {code}: {ran}");
}

/// Returns whether a command with `--json` failed with `code`. Lines of the log may precede the error.
fn fails(ran: &Ran, code: &str) -> bool {
    error_code(ran).as_deref() == Some(code)
}

/// Returns the error code of a command that ran with `--json`.
pub(crate) fn error_code(ran: &Ran) -> Option<String> {
    // `serve` prints the error on standard error.
    let of_server = || ran.stderr.find("{\n").map(|at| &ran.stderr[at..]);
    let json = if ran.stdout.is_empty() { of_server()? } else { &ran.stdout };
    let error: serde_json::Value = serde_json::from_str(json).ok()?;
    error["error"]["code"].as_str().map(str::to_owned)
}
