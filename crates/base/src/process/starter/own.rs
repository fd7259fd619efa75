//! Determines which program is used as the starter.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The program set by [`set_program`].
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the starter's program, for a process that only uses mcpkg as a library. Later calls have no effect.
pub fn set_program(path: PathBuf) {
    PROGRAM.get_or_init(|| path);
}

/// Returns the starter's program: the one that was set, or else this process's own program.
///
/// # Errors
/// The system's error if its path is unknown.
pub fn program() -> io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |program| Ok(program.clone()))
}
