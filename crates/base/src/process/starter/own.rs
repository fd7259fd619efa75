//! Which program answers as a starter.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

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
