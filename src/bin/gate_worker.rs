//! The `mcpkg-gate-worker` binary, which runs one model for `mcpkg gate test` (ADR 33).
//!
//! It is a program of its own so that mcpkg does not hold the engine, which would lengthen each of its starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(mcpkg::workspace::gate_worker())
}
