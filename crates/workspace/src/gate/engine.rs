//! Defines what the gate expects of an engine: how it is called, and the result of running a model. The only engine, tract,
//! is part of the worker program (`src/bin/gate_worker/engine.rs`).

use std::io::Read;
use std::time::Duration;

use mcpkg_base::platform::HAS_LIMITS;
use serde::{Deserialize, Serialize};

pub use super::tensor::{Dtype, Element, Tensor};

/// Reads a model, runs it on named tensors, and returns the outputs with the requested names, or the reason why the
/// model did not run to completion.
pub type Engine = fn(&mut dyn Read, Vec<(String, Tensor)>, &[String]) -> Result<ModelOutput, Stopped>;

/// The engine that runs models; `None` if mcpkg was built without the cargo feature `gate-onnx`, and on systems where
/// mcpkg cannot limit a process.
pub const NAME: Option<&str> = if cfg!(feature = "gate-onnx") && HAS_LIMITS { Some("tract-onnx 0.23.9") } else { None };

/// The command that builds an mcpkg with an engine.
pub const BUILD: &str = "`cargo install --path . --features full`";

#[derive(Debug)]
pub struct ModelOutput {
    /// The output tensors by name.
    pub outputs: Vec<(String, Tensor)>,
    /// The time that loading took.
    pub load: Duration,
    /// The time that the run took.
    pub run: Duration,
}

/// The reason why a model did not run to completion.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stopped {
    /// The kind of failure as a word for programs, such as `time_limit`.
    pub kind: String,
    /// A description for people.
    pub message: String,
}

impl Stopped {
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into() }
    }
}
