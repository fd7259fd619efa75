//! Connects the agents on the user's machine to mcpkg: writes mcpkg's entry into each agent's configuration, removes it again,
//! and checks whether it works. Other domains may use [`connections`], [`assistant`] and [`on_path`].

mod address;
mod binary;
mod check;
mod config_file;
pub mod connections;
#[cfg(test)]
mod edits;
mod entry;
mod fields;
mod file;
mod health;
mod operations;
mod our_entry;
mod record;
mod runs;
mod standing;

pub use binary::on_path;

use entry::Wanted;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::{Context, Domain, Identity};

/// The group of this domain's operations, which are not tools for agents.
pub const GROUP: &str = "client";

pub static DOMAIN: Domain = Domain {
    name: "client",
    operations: &[operations::OPS],
    commands: &[("client", "Connect the agents on this machine: Claude Code, Codex, Cursor, VS Code and others")],
    health: health::health,
    ..Domain::EMPTY
};

/// Returns the program and the arguments that start this mcpkg on the selected project, as the server for `mcpkg ask`
/// ([`Identity::Assistant`]).
///
/// # Errors
/// `E_NO_PROJECT` or `E_NOT_FOUND` if no project is selected, or if the selected project does not exist;
/// `E_INVALID_ARGUMENT` if the address of the database contains a password; `E_FILE_FAILED` or `E_IO_INVALID_PATH` if
/// the path of this mcpkg or of the database cannot be passed on.
pub fn assistant(context: &Context) -> Result<(String, Vec<String>)> {
    match Wanted::start(context, config_file::Scope::Project, Identity::Assistant)? {
        Wanted::Start { program, args } => Ok((program, args)),
        Wanted::Url { .. } => Err(Error::internal("an entry that starts a program has a URL")),
    }
}
