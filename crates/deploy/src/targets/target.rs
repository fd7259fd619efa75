//! Wraps a coding agent that mcpkg deploys files for.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use mcpkg_agents::agents::{self, Agent};

/// A coding agent that mcpkg deploys files for. Two targets are equal if they have the same name.
#[derive(Clone, Copy)]
pub struct Target(&'static Agent);

impl Target {
    /// Returns all targets, sorted by name.
    pub fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Target>> =
            LazyLock::new(|| agents::by_id().iter().map(|agent| Target(agent)).collect());
        &ALL
    }

    pub const fn name(self) -> &'static str {
        let Self(agent) = self;
        agent.id
    }

    /// Whether `agent` is the target's name, or the name of an agent that reads the same files.
    pub fn is_called(self, agent: &str) -> bool {
        self.name() == agent || self.0.also_called.contains(&agent)
    }

    /// Returns everything that mcpkg knows about the agent.
    pub const fn facts(self) -> &'static Agent {
        self.0
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Target {}

impl PartialOrd for Target {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Target {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl Hash for Target {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
