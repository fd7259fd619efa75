//! What an engine is to the gate. The one there is, tract, is in the program of the worker alone (`src/bin/gate_worker/engine.rs`).

use std::io::Read;

pub use super::given::{Given, Stopped};
pub use super::tensor::{Dtype, Element, Tensor};

/// Runs a model, which it reads, on tensors with the names of its inputs, and returns those of its outputs, whose names are these;
/// or says why it was not run to its end.
pub type Engine = fn(&mut dyn Read, Vec<(String, Tensor)>, &[String]) -> Result<Given, Stopped>;

/// What runs models: `None` where mcpkg was built without the cargo feature `gate-onnx`.
pub const NAME: Option<&str> = if cfg!(all(feature = "gate-onnx", unix)) { Some("tract-onnx 0.23.9") } else { None };

/// What builds an mcpkg that runs models.
pub const BUILD: &str = "`cargo install --path . --features full`";
