//! The output schemas of the six `enact__*` tools of contract 002.
//!
//! No field is required and each schema has `error`, because clients also validate failures against the schema.

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// Why a call failed.
#[derive(JsonSchema)]
pub struct Failure {
    /// Error code, such as E_TOOL_NOT_FOUND
    pub code: Option<String>,
    /// What went wrong
    pub message: Option<String>,
    /// Category of the error: validation, conflict, not_found, refused, execution or internal
    pub category: Option<String>,
    /// How to fix the problem
    pub hint: Option<String>,
    /// More facts about the error; the fields depend on the code
    pub details: Option<Map<String, Value>>,
}

/// Whether an archive is verified, and why.
#[derive(JsonSchema)]
pub struct Verification {
    /// Status of the archive: verified, approved, unverified or refused
    pub status: Option<String>,
    /// Identities whose signatures count
    pub identities: Option<Vec<String>>,
    /// Trust policy: require_attestation, prompt or allow
    pub policy: Option<String>,
}

/// The response of `enact__search`.
#[derive(JsonSchema)]
pub struct Found {
    /// The tools that were found, best match first
    pub results: Option<Vec<FoundTool>>,
    /// Number of tools that match
    pub total: Option<u64>,
    /// Whether each registry responded
    pub registries: Option<Vec<AskedRegistry>>,
    /// Whether the results include an outdated cached response
    pub stale: Option<bool>,
    /// Why the call failed
    pub error: Option<Failure>,
}

/// A tool that was found.
#[derive(JsonSchema)]
pub struct FoundTool {
    /// The tool's name
    pub name: Option<String>,
    /// The tool's newest version
    pub version: Option<String>,
    /// The publisher's description of the tool; mcpkg does not check it
    pub description: Option<String>,
    /// The tool's tags
    pub tags: Option<Vec<String>>,
    /// The registry that has the tool
    pub registry: Option<String>,
    /// The installed version, if the tool is installed
    pub installed: Option<String>,
    /// Trust status of the tool: verified, approved, unverified, refused or unknown
    pub trust: Option<String>,
}

/// A registry that was asked.
#[derive(JsonSchema)]
pub struct AskedRegistry {
    /// The registry's name
    pub name: Option<String>,
    /// State of the registry: ok, stale, unreachable, unapproved, refused or failed
    pub state: Option<String>,
    /// When the registry responded
    pub checked_at: Option<String>,
    /// Why the registry did not respond
    pub error: Option<Failure>,
}

/// The response of `enact__learn`.
#[derive(JsonSchema)]
pub struct Learned {
    /// The tool
    pub tool: Option<String>,
    /// The version
    pub version: Option<String>,
    /// What the tool does
    pub description: Option<String>,
    /// The tool's documentation, from the checked archive
    pub documentation: Option<String>,
    /// The tool's actions
    pub actions: Option<Vec<LearnedAction>>,
    /// The environment variables that the tool takes
    pub env: Option<Vec<LearnedVariable>>,
    /// Whether the tool's archive is verified
    pub verification: Option<Verification>,
    /// The SHA-256 of the tool's archive
    pub sha256: Option<String>,
    /// Why the call failed
    pub error: Option<Failure>,
}

/// An action of a tool.
#[derive(JsonSchema)]
pub struct LearnedAction {
    /// The action's name
    pub name: Option<String>,
    /// The MCP tool that runs the action after installation
    pub mcp_name: Option<String>,
    /// What the action does
    pub description: Option<Value>,
    /// The JSON Schema of the action's arguments
    #[serde(rename = "inputSchema")]
    pub input_schema: Option<Value>,
    /// The JSON Schema of the action's output
    #[serde(rename = "outputSchema")]
    pub output_schema: Option<Value>,
}

/// A variable of a tool.
#[derive(JsonSchema)]
pub struct LearnedVariable {
    /// The variable's name
    pub name: Option<String>,
    /// What the variable is for
    pub description: Option<Value>,
    /// Whether the variable is a secret
    pub secret: Option<bool>,
    /// Whether the tool needs the variable to start
    pub required: Option<bool>,
}

/// The response of `enact__install`.
#[derive(JsonSchema)]
pub struct Installed {
    /// Whether the tool is installed
    pub success: Option<bool>,
    /// The result as a sentence
    pub message: Option<String>,
    /// The tool
    pub tool: Option<String>,
    /// The version
    pub version: Option<String>,
    /// The SHA-256 of the tool's archive
    pub sha256: Option<String>,
    /// Names of the MCP tools that run this tool
    pub mcp_tools: Option<Vec<String>>,
    /// Scope of the installation: global, project, key or session
    pub scope: Option<String>,
    /// Whether the current toolset shows the tool to agents
    pub exposed: Option<bool>,
    /// Whether the tool's archive is verified
    pub verification: Option<Verification>,
    /// Warnings for the user
    pub warnings: Option<Vec<String>>,
    /// Why the call failed
    pub error: Option<Failure>,
}

/// The response of `enact__uninstall`.
#[derive(JsonSchema)]
pub struct Uninstalled {
    /// Whether the tool was uninstalled
    pub success: Option<bool>,
    /// The result as a sentence
    pub message: Option<String>,
    /// The tool
    pub tool: Option<String>,
    /// The versions that were uninstalled
    pub versions: Option<Vec<String>>,
    /// Names of the MCP tools that ran this tool
    pub mcp_tools: Option<Vec<String>>,
    /// Why the call failed
    pub error: Option<Failure>,
}

/// The response of `enact__list`.
#[derive(JsonSchema)]
pub struct Listed {
    /// The installed tools
    pub tools: Option<Vec<ListedTool>>,
    /// The toolset that limits which tools are visible
    #[serde(rename = "activeToolset")]
    pub active_toolset: Option<Value>,
    /// Why the call failed
    pub error: Option<Failure>,
}

/// An installed tool.
#[derive(JsonSchema)]
pub struct ListedTool {
    /// The tool's name
    pub name: Option<String>,
    /// The version
    pub version: Option<String>,
    /// Names of the MCP tools that run this tool
    pub mcp_tools: Option<Vec<String>>,
    /// What the tool does
    pub description: Option<String>,
    /// Scope of the installation: global, project, key or session
    pub scope: Option<String>,
    /// Whether agents see this version
    pub active: Option<bool>,
    /// Whether the current toolset shows the tool to agents
    pub exposed: Option<bool>,
    /// Trust status of the tool: verified, approved, unverified or refused
    pub status: Option<String>,
    /// Whether a person has allowed the tool to run without a sandbox
    pub unsandboxed: Option<bool>,
    /// Where the tool was installed from
    pub registry: Option<String>,
    /// Whether the publisher yanked this version
    pub yanked: Option<bool>,
    /// A newer version of the tool, if mcpkg knows one
    pub newer: Option<Value>,
}

/// The response of `enact__run`.
#[derive(JsonSchema)]
pub struct Ran {
    /// The tool
    pub tool: Option<String>,
    /// The version
    pub version: Option<String>,
    /// The action
    pub action: Option<String>,
    /// The tool's standard output, parsed as JSON
    pub output: Option<Value>,
    /// The tool's standard output as text
    pub stdout: Option<String>,
    /// The tool's standard error as text
    pub stderr: Option<String>,
    /// The tool's exit status
    pub exit_code: Option<i64>,
    /// Duration of the run, in milliseconds
    pub duration_ms: Option<u64>,
    /// Whether the output was truncated
    pub truncated: Option<bool>,
    /// The files that the tool wrote
    pub files: Option<Vec<LeftFile>>,
    /// The runner that ran the tool
    pub runner: Option<String>,
    /// The id of the container image that the tool ran in
    pub image: Option<String>,
    /// The limits that the runner could not apply
    pub not_limited: Option<Vec<String>>,
    /// The run's id, as listed by `mcpkg tool runs`
    pub run_id: Option<String>,
    /// Whether the tool's archive is verified
    pub verification: Option<Verification>,
    /// Warnings for the user
    pub warnings: Option<Vec<String>>,
    /// Why the call failed
    pub error: Option<Failure>,
}

/// A file that a run wrote.
#[derive(JsonSchema)]
pub struct LeftFile {
    /// The file's path
    pub path: Option<String>,
    /// The file's size in bytes
    pub size: Option<u64>,
}
