//! Starts a program through the starter: a second mcpkg process that runs inside the sandbox, if there is one.
//!
//! The starter limits itself, starts the program and waits for it. mcpkg cannot set the limits before bubblewrap
//! creates the sandbox: the limit on the number of processes would count all processes of the user.
//!
//! The mcpkg outside and the starter share a socket, which the starter gets as its standard input or by a path. The
//! request with the program's variables is sent over the socket, so that the sandbox's arguments and variables contain
//! no secrets. The starter then sends back the result and the files that the program left.

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
