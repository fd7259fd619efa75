//! Starting a program inside of a sandbox, where limits count the sandbox's own processes.
//!
//! Limits of a process can only be set from within it, and that of processes counts those of its user namespace. So the
//! sandbox starts mcpkg itself, which limits itself, starts the program and waits for it. Both sides share a socket, its
//! standard input: what is to be started comes in there, variables included, so that neither arguments nor variables of the
//! sandbox hold a secret; how it ended goes out, and the files that it left.

mod inside;
mod outside;
mod protocol;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

pub use outside::{Finished, run};
pub use protocol::{Ceilings, Ended, Output, Request};

/// Starts a program where these are the arguments of a starter, and returns the status to end with.
pub fn answer(arguments: &[OsString]) -> Option<u8> {
    matches!(arguments, [_, word] if *word == *protocol::WORD).then(inside::run)
}

/// The program that was said to be the starter.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Says which program answers as a starter where this process's own does not, since mcpkg is a library of it. What was said
/// first holds.
pub fn set_program(path: PathBuf) {
    PROGRAM.get_or_init(|| path);
}

/// Returns the program that answers as a starter: the one that was set, else this process's own.
///
/// # Errors
/// How the system refused to tell which one that is.
pub fn program() -> io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |program| Ok(program.clone()))
}
