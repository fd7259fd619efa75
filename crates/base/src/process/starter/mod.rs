//! Starting a program inside of a sandbox, where limits count the sandbox's own processes.
//!
//! Limits of a process can only be set from within it, and that of processes counts those of its user namespace. So the
//! sandbox starts mcpkg itself, which limits itself, starts the program and waits for it. Both sides share a socket, its
//! standard input or one at a path: the request comes in there with its variables, so that neither the arguments nor
//! the variables of the sandbox contain a secret. The outcome and the files that the program left go out.

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

/// Starts a program where these are the arguments of a starter, and returns the status to end with.
pub fn answer(arguments: &[OsString]) -> Option<u8> {
    match arguments {
        [_, word] if *word == *protocol::WORD => Some(inside::run(None)),
        [_, word, socket] if *word == *protocol::WORD => Some(inside::run(Some(Path::new(socket)))),
        [_, word, rest @ ..] if *word == *protocol::ENTER => Some(enter::run(rest)),
        _ => None,
    }
}
