//! Defines what the gate expects of an engine. The only engine, tract, is part of the worker program
//! (`src/bin/gate_worker/engine.rs`).

use std::io::Read;

pub use super::given::{Given, Stopped};
pub use super::tensor::{Dtype, Element, Tensor};

/// Reads a model, runs it on named tensors, and returns the outputs with the requested names, or the reason why it
/// stopped.
pub type Engine = fn(&mut dyn Read, Vec<(String, Tensor)>, &[String]) -> Result<Given, Stopped>;

/// The engine that runs models; `None` if mcpkg was built without the cargo feature `gate-onnx`.
pub const NAME: Option<&str> = if cfg!(all(feature = "gate-onnx", unix)) { Some("tract-onnx 0.23.9") } else { None };

/// The command that builds an mcpkg with an engine.
pub const BUILD: &str = "`cargo install --path . --features full`";
