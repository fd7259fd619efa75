//! Lists the coding agents that mcpkg deploys to, and finds the folders that their files are relative to.

pub mod bases;
pub mod config;

mod target;

pub use config::{Layout, TargetConfig};
pub use target::Target;

impl Target {
    pub fn named(name: &str) -> Option<Self> {
        Self::all().iter().copied().find(|target| target.name() == name)
    }

    pub fn all_names() -> Vec<&'static str> {
        Self::all().iter().map(|target| target.name()).collect()
    }

    /// Returns the targets of contract 000. A project is deployed to them by default.
    pub fn of_contract() -> impl Iterator<Item = Self> {
        Self::all().iter().copied().filter(|target| target.facts().in_contract)
    }

    pub fn contract_names() -> Vec<&'static str> {
        Self::of_contract().map(Self::name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_order() {
        assert!(Target::all_names().is_sorted_by(|a, b| a < b), "{:?}", Target::all());
    }
}
