//! The interface of every gate, embedded or remote, and the data that it returns.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::files::Files;
use super::header::Port;
use super::tensor::Tolerance;
use mcpkg_base::error::{Code, Error, Result};

/// What a gate does, wherever it is. Who implements it names the codes of its failures.
pub trait Gate {
    /// Returns how it is.
    fn status(&self) -> Result<Status>;
    /// Returns its models, by name.
    fn models(&self) -> Result<Vec<Model>>;
    /// Returns what registering a file as a model of this name would register; nothing is changed.
    fn look(&self, files: &mut Files, path: &str, name: &str) -> Result<Model>;
    /// Registers a file as a model of this name; returns whether it is new.
    fn add(&self, files: &mut Files, path: &str, name: &str) -> Result<(Model, bool)>;
    fn remove(&self, name: &str) -> Result<()>;
    /// Returns its routes, by endpoint.
    fn routes(&self) -> Result<Vec<Route>>;
    /// Makes an endpoint stand for a model.
    fn set_route(&self, route: &Route) -> Result<Route>;
    /// Runs a model on an input.
    fn test(&self, files: &mut Files, model: &str, input: &str, options: Options) -> Result<Value>;
    /// Returns its newest log lines, the newest last.
    fn logs(&self, lines: usize) -> Result<Vec<Line>>;
}

/// How a test is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How far outputs may differ from the expected ones.
    pub tolerance: Tolerance,
    /// Whether all elements of the outputs are wanted.
    pub whole: bool,
}

/// How a gate is.
#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    /// healthy, degraded or unhealthy.
    pub status: String,
    /// The version of what answers.
    pub version: String,
    /// For how long it has run; `None` of an embedded one, which does not run by itself.
    pub uptime_secs: Option<u64>,
    /// How many models it has.
    pub model_count: u64,
    /// The kind of gate: remote or embedded.
    #[serde(default)]
    pub mode: String,
    /// Address of the gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The engine of an embedded gate; `None` if this build of mcpkg has no engine.
    #[serde(default)]
    pub engine: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Model {
    pub name: String,
    /// Format of the model's file.
    #[serde(default = "onnx")]
    pub format: String,
    /// The bytes of its file.
    pub size_bytes: u64,
    /// When it was registered.
    pub registered_at: Option<String>,
    /// loaded, unloaded or error.
    pub status: String,
    /// SHA-256 of the model's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Version of the ONNX operator set that the model uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opset: Option<u64>,
    /// Inputs that the model takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<Port>>,
    /// Outputs that the model returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<Port>>,
}

/// Returns the form of ONNX's models.
pub fn onnx() -> String {
    "onnx".to_owned()
}

/// An endpoint that stands for a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Route {
    pub model: String,
    pub endpoint: String,
    /// Whether it is used.
    pub active: bool,
    /// Number of requests; `None` if the gate does not count them.
    #[serde(default)]
    pub request_count: Option<u64>,
}

/// A line of a gate's log.
#[derive(Debug, Serialize)]
pub struct Line {
    /// Time of the log line, if the gate reports a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    pub line: String,
}

/// Returns the failure of a model that there is not.
pub fn no_model(name: &str, known: &[Model]) -> Error {
    let known = known.iter().map(|model| model.name.as_str());
    Error::new(Code::NotFound, format!("Model '{}' is not registered", name.escape_debug()))
        .with_details(json!({ "model": name, "suggestion": "Run smctl_gate_models_add first" }))
        .suggest(name, known, "list the models: `mcpkg gate models list`")
}
