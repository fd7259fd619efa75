//! What an engine gives, or why it does not.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::tensor::Tensor;

/// What a model gave, and how long it took.
#[derive(Debug)]
pub struct Given {
    /// Its outputs, each with its name.
    pub outputs: Vec<(String, Tensor)>,
    /// How long it took to read and prepare the model.
    pub load: Duration,
    /// How long it took to run it.
    pub run: Duration,
}

/// Why a model was not run to its end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stopped {
    /// The word for programs.
    pub kind: String,
    /// The sentence for people.
    pub message: String,
}

impl Stopped {
    /// Returns why a model was not run to its end.
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into() }
    }
}
