//! What a manifest says, once it was read.

use std::time::Duration;

use semver::Version;
use serde_json::{Map, Value};

use crate::package::name::Name;
use crate::package::template::CommandLine;

/// The action that a call without one means.
pub const MAIN: &str = "main";

/// What a package says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    pub name: Name,
    /// Its version; packing asks for one.
    pub version: Option<Version>,
    /// What it is for.
    pub description: String,
    /// Its documentation: the body of its Markdown file.
    pub doc: Option<String>,
    /// What can be run, in the order of the manifest; none for a document.
    pub actions: Vec<Action>,
    pub from: Base,
    /// The variables that it reads.
    pub env: Vec<Variable>,
    /// Shell commands that make it ready, run at install in the sandbox.
    pub build: Vec<String>,
    /// Shell commands run after the build, in the sandbox.
    pub postinstall: Vec<String>,
    /// What it needs of the machine.
    pub resources: Resources,
    pub license: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// All that the manifest says, as JSON, with what a second file filled in.
    pub json: Map<String, Value>,
}

/// Something that a package can be asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Its name; `main` for a tool that has one command.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// What it does, where that is not what the tool does.
    pub description: Option<String>,
    pub command: CommandLine,
    /// The JSON Schema of its arguments: its own, else the tool's.
    pub input_schema: Option<Value>,
    /// The JSON Schema of what it writes to standard output: its own, else the tool's.
    pub output_schema: Option<Value>,
    /// MCP's hints: its own, else the tool's.
    pub annotations: Option<Map<String, Value>>,
    /// How long it may take: its own, else the tool's.
    pub timeout: Option<Duration>,
}

/// Where a tool runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// On the host's own `/usr`.
    #[default]
    Host,
    /// In a container's image.
    Image(String),
}

/// A variable that a tool reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether its value is a secret.
    pub secret: bool,
    /// Whether nothing runs without it.
    pub required: bool,
    /// Its value where the user gave none.
    pub default: Option<String>,
}

/// What a tool needs of the machine: memory and disk lower the limits of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Bytes of `/tmp`.
    pub disk: Option<u64>,
    /// The graphics processor that it asks for; no runner gives it one.
    pub gpu: Option<String>,
}
