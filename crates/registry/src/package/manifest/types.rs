//! The types of a parsed manifest.

use std::time::Duration;

use semver::Version;
use serde_json::{Map, Value};

use crate::package::name::Name;
use crate::package::template::CommandLine;

/// The action that a call without an action name runs.
pub const MAIN: &str = "main";

#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    pub name: Name,
    /// The version; packing requires one.
    pub version: Option<Version>,
    pub description: String,
    /// The documentation, from the body of the Markdown file.
    pub doc: Option<String>,
    /// The actions in manifest order; empty for a package that only has instructions.
    pub actions: Vec<Action>,
    pub from: Base,
    /// The variables that the tool reads.
    pub env: Vec<Variable>,
    /// Shell commands that prepare the tool, in the sandbox, before the tool can run.
    pub build: Vec<String>,
    /// Shell commands that run after `build`, also in the sandbox.
    pub postinstall: Vec<String>,
    /// The machine resources that the tool needs.
    pub resources: Resources,
    pub license: Option<String>,
    pub tags: Vec<String>,
    /// The complete manifest as JSON, including the fields from `SKILL.md`.
    pub json: Map<String, Value>,
}

/// An action that a tool can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The name in `scripts`; `main` for the action of the field `command`.
    pub name: String,
    pub title: Option<String>,
    /// The action's own description, if it has one.
    pub description: Option<String>,
    pub command: CommandLine,
    /// The JSON Schema of the arguments: the action's own or the tool's.
    pub input_schema: Option<Value>,
    /// The JSON Schema of the standard output: the action's own or the tool's.
    pub output_schema: Option<Value>,
    /// The hints for MCP clients: the action's own or the tool's.
    pub annotations: Option<Map<String, Value>>,
    /// The timeout: the action's own or the tool's.
    pub timeout: Option<Duration>,
}

/// The base system that a tool runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The host's own `/usr`.
    #[default]
    Host,
    /// A container image.
    Image(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub description: Option<String>,
    pub secret: bool,
    /// Whether the tool cannot run without the variable.
    pub required: bool,
    /// The value if the user sets none.
    pub default: Option<String>,
}

/// The resources that a tool needs. Memory and disk become limits of its runs where they are lower than the usual
/// limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Bytes of `/tmp`.
    pub disk: Option<u64>,
    /// The requested graphics processor; no runner provides one.
    pub gpu: Option<String>,
}
