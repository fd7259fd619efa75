//! What the tests expect of each agent: a file of `tests/fixtures/agents` for each one that the program knows.

use std::sync::LazyLock;

use mcpkg_agents::agents::ALL;
use serde::Deserialize;
use serde_json::Value;

/// The expectations of one agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentFixture {
    /// Such as `claude-code`.
    #[serde(skip)]
    pub name: &'static str,
    /// Such as `claude_code`.
    #[serde(skip)]
    pub id: &'static str,
    /// Its file of MCP servers in the home folder.
    pub user_file: String,
    /// Its file of MCP servers in a project.
    pub project_file: Option<String>,
    /// The key in both that holds the servers.
    pub key: String,
    /// The entry that `client add` writes; `{BINARY}` and `{DB}` stand for paths.
    pub start: Value,
    /// The entries that a deploy writes for the servers `docs`, `files`, `old` and `plain`; a list of texts for TOML.
    pub servers: Value,
    /// The servers that a deploy leaves out, each with the reason.
    pub left_out: LeftOut,
    /// The file that a deploy writes for a rule with globs, or the reason for none; empty if it reads another agent's.
    pub scoped_rule: String,
    /// The file that a deploy writes for a rule for one folder, if that is a file which no other agent reads.
    #[serde(default)]
    pub folder_rule: String,
    /// The files that a deploy for the user writes for instructions and a rule with globs, if a test looks at them.
    pub user_instructions: Vec<String>,
    /// Where import finds its MCP servers.
    pub server_files: Vec<String>,
    /// What such a file holds; the server `m` has the token `tok-SECRET-123`.
    pub server_text: String,
    /// Further files that import knows: path, text, and what it becomes.
    pub imports: Vec<(String, String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    pub project: Vec<String>,
    pub user: Vec<String>,
}

impl AgentFixture {
    pub fn is_toml(&self) -> bool {
        self.user_file.ends_with(".toml")
    }
}

/// Returns the fixtures of all agents, in the order that users see.
pub fn agents() -> &'static [AgentFixture] {
    static ALL_OF_THEM: LazyLock<Vec<AgentFixture>> = LazyLock::new(|| {
        let read = |agent: &&mcpkg_agents::agents::Agent| {
            let path = format!("{}/tests/fixtures/agents/{}.json", env!("CARGO_MANIFEST_DIR"), agent.name);
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            let fixture: AgentFixture = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            AgentFixture { name: agent.name, id: agent.id, ..fixture }
        };
        ALL.iter().map(read).collect()
    });
    &ALL_OF_THEM
}
