//! The output schemas of contract 002's six tools.
//!
//! No field is required and each schema has `error`: clients validate failures against the schema too.

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// Why a call failed.
#[derive(JsonSchema)]
pub struct Failure {
    /// A code, such as E_TOOL_NOT_FOUND
    pub code: Option<String>,
    /// What went wrong
    pub message: Option<String>,
    /// validation, conflict, not_found, refused, execution or internal
    pub category: Option<String>,
    /// What to do about it
    pub hint: Option<String>,
    /// More facts, by code
    pub details: Option<Map<String, Value>>,
}

/// The verdict on an archive.
#[derive(JsonSchema)]
pub struct Verification {
    /// verified, approved, unverified or refused
    pub status: Option<String>,
    /// Identities whose signatures count
    pub identities: Option<Vec<String>>,
    /// require_attestation, prompt or allow
    pub policy: Option<String>,
}

/// The answer of `enact__search`.
#[derive(JsonSchema)]
pub struct Found {
    /// The tools, best first
    pub results: Option<Vec<FoundTool>>,
    /// How many match
    pub total: Option<u64>,
    /// How each registry stood
    pub registries: Option<Vec<AskedRegistry>>,
    /// Whether an older answer stands in for a registry
    pub stale: Option<bool>,
    /// Why it failed
    pub error: Option<Failure>,
}

/// A tool that was found.
#[derive(JsonSchema)]
pub struct FoundTool {
    /// Its name
    pub name: Option<String>,
    /// Its newest version
    pub version: Option<String>,
    /// Its publisher's words, which nobody checked
    pub description: Option<String>,
    /// Its tags
    pub tags: Option<Vec<String>>,
    /// The registry that has it
    pub registry: Option<String>,
    /// The version that is installed
    pub installed: Option<String>,
    /// verified, approved, unverified, refused or unknown
    pub trust: Option<String>,
}

/// A registry that was asked.
#[derive(JsonSchema)]
pub struct AskedRegistry {
    /// Its name
    pub name: Option<String>,
    /// ok, stale, unreachable, unapproved, refused or failed
    pub state: Option<String>,
    /// When it answered
    pub checked_at: Option<String>,
    /// Why it did not answer
    pub error: Option<Failure>,
}

/// The answer of `enact__learn`.
#[derive(JsonSchema)]
pub struct Learned {
    /// The tool
    pub tool: Option<String>,
    /// The version
    pub version: Option<String>,
    /// What the tool does
    pub description: Option<String>,
    /// Its documentation, from the checked archive
    pub documentation: Option<String>,
    /// Its actions
    pub actions: Option<Vec<LearnedAction>>,
    /// The variables that it takes
    pub env: Option<Vec<LearnedVariable>>,
    /// Its verification
    pub verification: Option<Verification>,
    /// The SHA-256 of its archive
    pub sha256: Option<String>,
    /// Why it failed
    pub error: Option<Failure>,
}

/// An action of a tool.
#[derive(JsonSchema)]
pub struct LearnedAction {
    /// Its name
    pub name: Option<String>,
    /// The tool that it is once installed
    pub mcp_name: Option<String>,
    /// What the tool does
    pub description: Option<Value>,
    /// The JSON Schema of the tool's arguments
    #[serde(rename = "inputSchema")]
    pub input_schema: Option<Value>,
    /// The JSON Schema of the tool's output
    #[serde(rename = "outputSchema")]
    pub output_schema: Option<Value>,
}

/// A variable of a tool.
#[derive(JsonSchema)]
pub struct LearnedVariable {
    /// Its name
    pub name: Option<String>,
    /// What it is for
    pub description: Option<Value>,
    /// Whether it is a secret
    pub secret: Option<bool>,
    /// Whether the tool does not start without it
    pub required: Option<bool>,
}

/// The answer of `enact__install`.
#[derive(JsonSchema)]
pub struct Installed {
    /// Whether it is installed
    pub success: Option<bool>,
    /// The same in a sentence
    pub message: Option<String>,
    /// The tool
    pub tool: Option<String>,
    /// The version
    pub version: Option<String>,
    /// The SHA-256 of its archive
    pub sha256: Option<String>,
    /// The tools that it is called by
    pub mcp_tools: Option<Vec<String>>,
    /// Whom it is installed for: global, project, key or session
    pub scope: Option<String>,
    /// Whether the toolset that applies shows it
    pub exposed: Option<bool>,
    /// Its verification
    pub verification: Option<Verification>,
    /// What the user should know
    pub warnings: Option<Vec<String>>,
    /// Why it failed
    pub error: Option<Failure>,
}

/// The answer of `enact__uninstall`.
#[derive(JsonSchema)]
pub struct Uninstalled {
    /// Whether it was uninstalled
    pub success: Option<bool>,
    /// The same in a sentence
    pub message: Option<String>,
    /// The tool
    pub tool: Option<String>,
    /// The versions that were uninstalled
    pub versions: Option<Vec<String>>,
    /// The tools that it was called by
    pub mcp_tools: Option<Vec<String>>,
    /// Why it failed
    pub error: Option<Failure>,
}

/// The answer of `enact__list`.
#[derive(JsonSchema)]
pub struct Listed {
    /// The installed tools
    pub tools: Option<Vec<ListedTool>>,
    /// The toolset that limits which tools are visible
    #[serde(rename = "activeToolset")]
    pub active_toolset: Option<Value>,
    /// Why it failed
    pub error: Option<Failure>,
}

/// An installed tool.
#[derive(JsonSchema)]
pub struct ListedTool {
    /// Its name
    pub name: Option<String>,
    /// The version
    pub version: Option<String>,
    /// The tools that it is called by
    pub mcp_tools: Option<Vec<String>>,
    /// What the tool does
    pub description: Option<String>,
    /// Whom it is installed for
    pub scope: Option<String>,
    /// Whether it is the version that agents see
    pub active: Option<bool>,
    /// Whether the toolset that applies shows it
    pub exposed: Option<bool>,
    /// verified, approved, unverified or refused
    pub status: Option<String>,
    /// Whether it runs without a sandbox, because a person allowed that
    pub unsandboxed: Option<bool>,
    /// Where it came from
    pub registry: Option<String>,
    /// Whether its publisher yanked it
    pub yanked: Option<bool>,
    /// A newer version, if one is known
    pub newer: Option<Value>,
}

/// The answer of `enact__run`.
#[derive(JsonSchema)]
pub struct Ran {
    /// The tool
    pub tool: Option<String>,
    /// The version
    pub version: Option<String>,
    /// The action
    pub action: Option<String>,
    /// Its standard output, parsed as JSON
    pub output: Option<Value>,
    /// Its standard output
    pub stdout: Option<String>,
    /// Its standard error
    pub stderr: Option<String>,
    /// Its exit status
    pub exit_code: Option<i64>,
    /// How long it took
    pub duration_ms: Option<u64>,
    /// Whether some of its output was left out
    pub truncated: Option<bool>,
    /// The files that it wrote
    pub files: Option<Vec<LeftFile>>,
    /// What ran it
    pub runner: Option<String>,
    /// The id of the image that it ran in
    pub image: Option<String>,
    /// The limits that could not be applied
    pub not_limited: Option<Vec<String>>,
    /// The id of the run in `mcpkg tool runs`
    pub run_id: Option<String>,
    /// Its verification
    pub verification: Option<Verification>,
    /// What the user should know
    pub warnings: Option<Vec<String>>,
    /// Why it failed
    pub error: Option<Failure>,
}

/// A file that a run wrote.
#[derive(JsonSchema)]
pub struct LeftFile {
    /// Its path
    pub path: Option<String>,
    /// Its size in bytes
    pub size: Option<u64>,
}
