//! The `mcpkg-gate-worker` binary, which runs one model for `mcpkg gate test` (ADR 33).
//!
//! It is a program of its own, and the engine a part of it and not of the library, so that mcpkg does not hold the engine: it would
//! lengthen each start.

mod engine;
mod extremum;
mod supported;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(mcpkg_workspace::gate_worker(engine::run))
}
