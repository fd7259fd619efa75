//! Claude Desktop, which reads only the user's MCP servers, not instructions or skills.

use super::facts::{Facts, ProjectPlaces, Reading, UserPlaces};
use super::target::Target;

pub(super) const TARGET: Target = Target::new(&Facts {
    name: "claude_desktop",
    in_contract: false,
    title: "Claude Desktop",
    also_called: &[],
    own_folder: ".config/Claude",
    moved_by: None,
    servers_only: true,
    project: ProjectPlaces::NONE,
    user: UserPlaces::NONE,
    subagents: None,
    reading: Reading::PLAIN,
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[],
    no_longer_read: &[],
});
