//! The types for a run: what to run, with which inputs, and the result.

use std::path::PathBuf;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::kind::RunnerKind;
use super::limits::Wished;
use crate::package::manifest::Base;
use crate::trust::Status;
use mcpkg_base::hex;
use mcpkg_store::blobs::NewContent;

/// A call of an action. The archive, the manifest and the arguments are already checked.
#[derive(Clone, Debug)]
pub struct Call {
    pub tool: Tool,
    /// The action's name; `main` for the manifest's `command`.
    pub action: String,
    pub tree: Tree,
    /// The base system: this machine's own programs, or an image.
    pub from: Base,
    /// The shell commands that build the tool, once per archive.
    pub build: Vec<String>,
    /// The program and its arguments, with all values inserted.
    pub argv: Vec<String>,
    /// Files to mount for the tool, such as an argument with `format: path`.
    pub given: Vec<InputFile>,
    /// The arguments of the call; only their hash is recorded.
    pub input: Map<String, Value>,
    pub variables: Vec<Variable>,
    /// The limits that the manifest and the caller ask for.
    pub limits: Wished,
    /// The JSON Schema for standard output.
    pub output_schema: Option<Value>,
    /// The verdict on the archive; never [`Status::Refused`].
    pub verdict: Status,
    /// Whether the caller is on this machine, and not connected over a network.
    pub is_local: bool,
    /// The runner that the caller asks for.
    pub runner: Option<RunnerKind>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The full name, such as `alice/utils/weather`; for a folder, the name in its manifest.
    pub name: String,
    /// The version; `None` for a folder whose manifest has no version.
    pub version: Option<String>,
    /// The SHA-256 of the archive; `None` for a folder that is used by its path.
    pub sha256: Option<[u8; 32]>,
    /// The identity of the publisher, or `folder:PATH` for a folder; empty if no trusted identity published the
    /// archive.
    pub publisher: String,
}

impl Tool {
    /// Returns the identity that permissions are bound to: the publisher, or the archive's SHA-256 if no trusted
    /// identity published it.
    pub fn holder(&self) -> String {
        match (&self.publisher, &self.sha256) {
            (publisher, Some(sha256)) if publisher.is_empty() => format!("sha256:{}", hex::encode(sha256)),
            (publisher, _) => publisher.clone(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// A folder of the user.
    Folder(PathBuf),
    /// The archive in the database with this SHA-256, which is unpacked into the cache.
    Archive([u8; 32]),
    /// An archive that was fetched and checked, but is not stored.
    Fetched(NewContent),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The path inside the sandbox.
    pub at: String,
    pub content: Content,
}

/// The content of a mounted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file or folder of the user.
    Path(PathBuf),
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub secret: bool,
    /// Whether the tool cannot start without the variable.
    pub required: bool,
    /// The value if the user sets none.
    pub default: Option<String>,
}

/// The result of a run that ended with status 0.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The id of the run: `mcpkg tool runs ID` shows it.
    pub run: Uuid,
    pub runner: RunnerKind,
    /// The id of the container image, if there is one.
    pub image: Option<String>,
    /// The limits that could not be enforced.
    pub unlimited: Vec<&'static str>,
    /// The standard output as JSON if it is JSON; it matches the output schema, if there is one.
    pub output: Option<Value>,
    /// The standard output, shortened in the middle if it is long.
    pub stdout: String,
    /// The standard error, also shortened.
    pub stderr: String,
    /// Whether the standard output or the standard error was shortened.
    pub truncated: bool,
    /// Always 0: any other exit status is an error.
    pub exit_code: i32,
    pub duration_ms: u64,
    /// The files that the tool wrote to `/output`.
    pub files: Vec<OutputFile>,
    /// Files in `/output` that are not returned: links, pipes, devices, those over the limits, and those with a secret
    /// that cannot be hidden.
    pub left_out: Vec<String>,
}

/// A file that a tool wrote to `/output`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// The path below `/output`.
    pub path: String,
    pub bytes: Vec<u8>,
}
