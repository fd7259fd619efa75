//! Starting a program inside of a sandbox, where limits count the sandbox's own processes.
//!
//! Limits of a process can only be set from within it, and that of processes counts those of its user namespace. So the
//! sandbox starts mcpkg itself, which limits itself, starts the program and waits for it. Both sides share a socket, its
//! standard input: what is to be started comes in there, variables included, so that neither arguments nor variables of the
//! sandbox hold a secret; how it ended goes out, and the files that it left.

mod enter;
mod inside;
mod outside;
mod own;
mod protocol;

use std::ffi::OsString;

pub use enter::within;
pub use outside::{Finished, run};
pub use own::{program, set_program};
pub use protocol::{Ceilings, Ended, Output, Request};

/// Starts a program where these are the arguments of a starter, and returns the status to end with.
pub fn answer(arguments: &[OsString]) -> Option<u8> {
    match arguments {
        [_, word] if *word == *protocol::WORD => Some(inside::run()),
        [_, word, rest @ ..] if *word == *protocol::ENTER => Some(enter::run(rest)),
        _ => None,
    }
}
