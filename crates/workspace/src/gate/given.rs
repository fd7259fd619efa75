//! Defines the result of running a model: its outputs, or why it stopped.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::tensor::Tensor;

#[derive(Debug)]
pub struct Given {
    /// The output tensors by name.
    pub outputs: Vec<(String, Tensor)>,
    /// How long loading took.
    pub load: Duration,
    /// How long the run took.
    pub run: Duration,
}

/// Why a model did not run to completion.
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
