//! The `mcpkg` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(mcpkg::cli::run(std::env::args_os()))
}
