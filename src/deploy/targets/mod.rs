//! The coding agents that are deployed to: a file for each, with where it reads and what it makes of what it reads.
//!
//! To add one, write its file and name it twice here; everything else walks [`Target::ALL`].

pub mod bases;
pub mod config;
pub mod facts;

mod claude_code;
mod codex;
mod cursor;
mod target;
mod vscode;

pub use config::{Layout, TargetConfig};
pub use target::Target;

impl Target {
    /// Every target, by name.
    pub const ALL: &'static [Target] = &[claude_code::TARGET, codex::TARGET, cursor::TARGET, vscode::TARGET];

    /// Returns the target called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|target| target.name() == name)
    }

    /// The names of all targets.
    pub fn all_names() -> Vec<&'static str> {
        Self::ALL.iter().map(|target| target.name()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_order() {
        assert!(Target::all_names().is_sorted_by(|a, b| a < b), "{:?}", Target::ALL);
    }
}
