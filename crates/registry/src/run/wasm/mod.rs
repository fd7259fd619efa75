//! Runs tools that are WebAssembly modules, in an interpreter inside this process and on any system.
//!
//! A module can use only the calls of WASI preview 1, which `wasi` implements. All files that a module sees are in
//! the memory of this process: the files of the package, the input files, and the files that the module writes. No
//! call reaches the network, another process, or a path of the machine. A module runs in slices of fuel, so that it
//! ends within milliseconds of its timeout or a cancellation. Its memory and everything else that it creates are
//! limited.

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

pub use files::FileMap;
pub use host::Setup;
pub use package::{of_archive, of_built, of_folder};
pub use program::Program;
pub use ran::{End, Ran};

/// Runs a program to its end, and reports each piece of its standard error immediately.
///
/// # Errors
/// `E_INTERNAL` if the interpreter fails. A failure of the program itself is not an error.
pub fn run(program: &Program, setup: &Setup<'_>, told: Option<Tell>) -> Result<Ran> {
    contained::contained(|| drive::run(program, setup, told))
}
