//! The `mcpkg` binary.

use std::process::ExitCode;

/// With musl's own allocator, all threads of a server would wait for one lock.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(mcpkg::cli::run(std::env::args_os()))
}
