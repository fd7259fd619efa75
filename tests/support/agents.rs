//! Reads the tests' expectations of each agent: one file in `tests/fixtures/agents` for each agent that mcpkg knows.

use std::sync::LazyLock;

use mcpkg_agents::agents::ALL;
use serde::Deserialize;
use serde_json::Value;

/// The expectations of one agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentFixture {
    /// The agent's name, such as `claude-code`.
    #[serde(skip)]
    pub name: &'static str,
    /// The agent's id, such as `claude_code`.
    #[serde(skip)]
    pub id: &'static str,
    /// The agent's file of MCP servers in the home folder.
    pub user_file: String,
    /// The agent's file of MCP servers in a project.
    pub project_file: Option<String>,
    /// The key in both files that contains the servers.
    pub key: String,
    /// The entry that `client add` writes; `{BINARY}` and `{DB}` stand for paths.
    pub start: Value,
    /// The entries that a deploy writes for the servers `docs`, `files`, `old` and `plain`; a list of texts for TOML.
    pub servers: Value,
    /// The servers that a deploy leaves out, each with the reason.
    pub left_out: LeftOut,
    /// The file that a deploy writes for a rule with globs, or the reason why it writes none. Empty if the agent reads
    /// the rule in another agent's file.
    pub scoped_rule: String,
    /// The file that a deploy writes for a rule for one folder. Empty if other agents read that file too.
    #[serde(default)]
    pub folder_rule: String,
    /// The files that a deploy for the user writes for instructions and for a rule with globs. Empty if no test checks
    /// them.
    pub user_instructions: Vec<String>,
    /// The paths at which import finds the agent's MCP servers.
    pub server_files: Vec<String>,
    /// The content of a file in `server_files`. The server `m` has the token `tok-SECRET-123`.
    pub server_text: String,
    /// Further files that import knows: the path, the text, and the result of the import.
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

/// Returns the fixtures of all agents, in display order.
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
