//! Defines the interface of every gate, embedded or remote, and its data types.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::files::Files;
use super::header::Port;
use super::tensor::Tolerance;
use mcpkg_base::error::{Code, Error, Result};

/// A gate that stores and runs models. The error codes depend on the implementation.
pub trait Gate {
    /// Whether the models are stored in mcpkg's database.
    fn is_embedded(&self) -> bool;
    fn status(&self) -> Result<Status>;
    /// Returns the models, sorted by name.
    fn models(&self) -> Result<Vec<Model>>;
    /// Returns the model that [`Gate::add`] would register, without changing anything.
    fn look(&self, files: &mut Files, path: &str, name: &str) -> Result<Model>;
    /// Registers a file as the model `name`; returns the model, and whether it is new. A remote gate does not report
    /// this, so all its models count as new.
    fn add(&self, files: &mut Files, path: &str, name: &str) -> Result<(Model, bool)>;
    fn remove(&self, name: &str) -> Result<()>;
    /// Returns the routes, sorted by endpoint.
    fn routes(&self) -> Result<Vec<Route>>;
    /// Points an endpoint to a model.
    fn set_route(&self, route: &Route) -> Result<Route>;
    fn test(&self, files: &mut Files, model: &str, input: &str, options: Options) -> Result<Value>;
    /// Returns the last `lines` log lines, the newest last.
    fn logs(&self, lines: usize) -> Result<Vec<Line>>;
}

/// The options of a test run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The allowed difference between the outputs and the expected ones.
    pub tolerance: Tolerance,
    /// Whether to return all elements of the outputs.
    pub whole: bool,
}

/// The state of a gate.
#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    /// One of `healthy`, `degraded` or `unhealthy`.
    pub status: String,
    /// The version of the program that answers.
    pub version: String,
    /// The time since the gate was started; `None` for an embedded gate, which has no process of its own.
    pub uptime_secs: Option<u64>,
    pub model_count: u64,
    /// One of `remote` or `embedded`.
    #[serde(default)]
    pub mode: String,
    /// The URL of a remote gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The engine of an embedded gate; `None` for a remote gate, and if this build of mcpkg has no engine.
    #[serde(default)]
    pub engine: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Model {
    pub name: String,
    /// Format of the model's file.
    #[serde(default = "onnx")]
    pub format: String,
    /// The size of the file in bytes.
    pub size_bytes: u64,
    /// The time at which the model was registered.
    pub registered_at: Option<String>,
    /// One of `loaded`, `unloaded` or `error`.
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

/// Returns the default model format, for gates that do not report one.
pub fn onnx() -> String {
    "onnx".to_owned()
}

/// An endpoint and the model that answers there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Route {
    pub model: String,
    pub endpoint: String,
    /// Whether the gate uses this route.
    pub active: bool,
    /// Number of requests; `None` if the gate does not count them.
    #[serde(default)]
    pub request_count: Option<u64>,
}

#[derive(Debug, Serialize)]
pub struct Line {
    /// Time of the log line, if the gate reports a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    pub line: String,
}

/// Returns the error for an unknown model.
pub fn no_model(name: &str, known: &[Model]) -> Error {
    let known = known.iter().map(|model| model.name.as_str());
    Error::new(Code::NotFound, format!("Model '{}' is not registered", name.escape_debug()))
        .with_details(json!({ "model": name, "suggestion": "Run smctl_gate_models_add first" }))
        .suggest(name, known, "list the models: `mcpkg gate models list`")
}
