//! Starts a program from inside a sandbox, where limits count only the sandbox's own processes.
//!
//! A process can only set limits on itself, and the limit on the number of processes counts all processes in a user
//! namespace. So the sandbox starts mcpkg itself, which limits itself, starts the program and waits for it. Both sides
//! share a socket, which is either standard input or at a path. The request with the program's variables arrives on the
//! socket, so that the sandbox's arguments and variables contain no secrets. mcpkg then sends back the result and the
//! files that the program left.

mod below;
mod enter;
mod inside;
mod libraries;
mod outside;
mod own;
mod protocol;
mod take;

use std::ffi::OsString;
use std::path::Path;

pub use enter::within;
pub use libraries::{Libraries, of_own_program};
pub use outside::{Before, Finished, Left, Meeting, run};
pub use own::{program, set_program};
pub use protocol::{Ceilings, Copied, Ended, Output, Request, Within};

/// If these are the arguments of a starter, runs the starter and returns the exit status.
pub fn answer(arguments: &[OsString]) -> Option<u8> {
    match arguments {
        [_, word] if *word == *protocol::WORD => Some(inside::run(None)),
        [_, word, socket] if *word == *protocol::WORD => Some(inside::run(Some(Path::new(socket)))),
        [_, word, rest @ ..] if *word == *protocol::ENTER => Some(enter::run(rest)),
        _ => None,
    }
}
