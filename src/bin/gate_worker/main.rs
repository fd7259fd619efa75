//! The `mcpkg-gate-worker` binary, which runs one model for `mcpkg gate test` (ADR 33).
//!
//! It is a separate program so that mcpkg itself does not link the inference engine, which would slow down each start.

mod engine;
mod extremum;
mod supported;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(mcpkg_workspace::gate_worker(engine::run))
}
