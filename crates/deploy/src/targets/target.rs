//! A coding agent's place on disk.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::facts::{AgentsMd, Facts};

/// A coding agent's place on disk, known by its name.
#[derive(Clone, Copy)]
pub struct Target(&'static Facts);

impl Target {
    /// Returns the target that these facts describe.
    ///
    /// A program whose facts leave instructions without a place, so that they would be lost without a word, does not compile.
    pub(super) const fn new(facts: &'static Facts) -> Self {
        let has_place = match facts.project.agents_md {
            AgentsMd::Always | AgentsMd::ImportedBy(_) => true,
            AgentsMd::UnlessHiddenBy(_) => facts.project.own_instructions.is_some(),
            AgentsMd::Never => facts.servers_only,
        };
        assert!(
            has_place,
            "a target that may not read AGENTS.md needs an instructions file of its own, and an arm for it in desired/layout"
        );
        Self(facts)
    }

    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Whether `agent` is its name, or that of an agent that reads the same files.
    pub fn is_called(self, agent: &str) -> bool {
        self.name() == agent || self.0.also_called.contains(&agent)
    }

    /// What its own file states about it.
    pub const fn facts(self) -> &'static Facts {
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
