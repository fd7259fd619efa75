//! Implements what Linux and macOS do alike.

mod files;
pub mod folder;
mod programs;
mod terminal;

pub use files::*;
pub use programs::*;
pub use terminal::*;

/// Returns the host name, as printed by `hostname`.
pub fn host() -> Option<String> {
    Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
}

/// Returns the ids of the user and of the group that this process acts as.
pub fn user() -> Option<(u32, u32)> {
    Some((rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()))
}
