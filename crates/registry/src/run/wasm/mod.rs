//! Tools that are WebAssembly modules: an interpreter in this process runs them, on any system.
//!
//! A module reaches nothing but the calls of WASI preview 1 that stand in `wasi`, which see memory of this process's alone:
//! the files of its package, those that the call gives, what it writes, and what it prints. There is no call that reaches the
//! network, another process, or a path of the machine. It runs in slices of fuel, so that it ends within milliseconds of its
//! deadline or of a cancellation; its memory has a limit, and everything else that it makes one of its own.

mod budget;
mod cache;
mod contained;
mod drive;
mod errno;
mod files;
mod guest;
mod host;
mod package;
mod program;
mod ran;
mod start;
#[cfg(test)]
mod tests;
mod wasi;

use mcpkg_base::error::Result;
use mcpkg_base::process::Tell;

pub use files::Given;
pub use host::Setup;
pub use package::{of_archive, of_built, of_folder};
pub use program::Program;
pub use ran::{End, Ran};

/// Runs a program to its end, and reports each piece of its standard error as it comes.
///
/// # Errors
/// `E_INTERNAL` where the interpreter fails. What a program does is not an error.
pub fn run(program: &Program, setup: &Setup<'_>, told: Option<Tell>) -> Result<Ran> {
    contained::contained(|| drive::run(program, setup, told))
}
