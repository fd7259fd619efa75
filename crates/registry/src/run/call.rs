//! What is run, with what, and what came of it.

use std::path::PathBuf;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::kind::RunnerKind;
use super::limits::Wished;
use crate::package::manifest::Base;
use mcpkg_base::hex;
use mcpkg_store::new_content::NewContent;

/// A call of one action of a tool, by what was checked of it: its archive, its manifest and its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    pub tool: Tool,
    /// The action; `main` where the tool has only one.
    pub action: String,
    /// Where the tool's files are.
    pub tree: Tree,
    /// What it runs on: this machine's own programs, or an image.
    pub from: Base,
    /// The shell commands that make its files ready, once for each archive.
    pub build: Vec<String>,
    /// What is started, with the arguments in their places.
    pub argv: Vec<String>,
    /// Files that are mounted for the tool, such as an argument of `format: path`.
    pub given: Vec<Given>,
    /// The arguments as they were given: their hash is kept.
    pub input: Map<String, Value>,
    /// The variables that the manifest declares.
    pub variables: Vec<Variable>,
    /// The limits that the manifest and the caller ask for.
    pub limits: Wished,
    /// What standard output has to be, as a JSON Schema.
    pub output_schema: Option<Value>,
    /// What is thought of the archive: verified, approved or unverified.
    pub verdict: String,
    /// Whether it is asked for on this machine, and not over a network.
    pub is_local: bool,
    /// The runner that its caller names.
    pub runner: Option<RunnerKind>,
}

/// A tool to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its full name, such as `alice/utils/weather`; a folder's own where it is used by its path.
    pub name: String,
    /// Its version; `None` for a folder's without one.
    pub version: Option<String>,
    /// The digest of its archive; `None` for a folder that is used by its path.
    pub sha256: Option<[u8; 32]>,
    /// The identity that published it, `folder:PATH` for a folder; empty where nobody signed it.
    pub publisher: String,
}

impl Tool {
    /// Returns what grants are bound to: the publisher, else exactly this archive.
    pub fn holder(&self) -> String {
        match (&self.publisher, &self.sha256) {
            (publisher, Some(sha256)) if publisher.is_empty() => format!("sha256:{}", hex::encode(sha256)),
            (publisher, _) => publisher.clone(),
        }
    }
}

/// Where a tool's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// A folder of the user's.
    Folder(PathBuf),
    /// The archive in the database of this digest, which is unpacked into the cache.
    Archive([u8; 32]),
    /// An archive that was fetched and checked, and is not kept.
    Fetched(NewContent),
}

/// A file that is mounted for a tool, read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The path inside of the sandbox.
    pub at: String,
    pub content: Content,
}

/// What a given file is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file or folder of the user's.
    Path(PathBuf),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A variable that a manifest declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// Whether its value is a secret.
    pub secret: bool,
    /// Whether the tool does not start without it.
    pub required: bool,
    /// Its value where the user set none.
    pub default: Option<String>,
}

/// What came of a run that ended with status 0.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The run's id: `mcpkg tool runs ID` shows it.
    pub run: Uuid,
    pub runner: RunnerKind,
    /// The id of the image that it ran in, where it ran in one.
    pub image: Option<String>,
    /// The limits that could not be applied.
    pub unlimited: Vec<&'static str>,
    /// What it printed, parsed where it is JSON; with an output schema it fits that.
    pub output: Option<Value>,
    /// What it wrote to standard output, its middle left out where it is long.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Whether a part of either was left out.
    pub truncated: bool,
    /// The exit status: 0.
    pub exit_code: i32,
    /// How long it took.
    pub duration_ms: u64,
    /// The files that it left in `/output`.
    pub files: Vec<OutputFile>,
    /// What it left there that was not taken: links, pipes, devices, and what was too much.
    pub left_out: Vec<String>,
}

/// A file that a tool left in `/output`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Its path below `/output`.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}
