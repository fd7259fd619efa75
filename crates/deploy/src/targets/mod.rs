//! The coding agents that mcpkg deploys to: one file each, with the places where it reads and how it reads them.
//!
//! To add one, write its file and list it here; everything else walks [`Target::ALL`].

pub mod bases;
pub mod config;
pub mod facts;

mod target;

pub use config::{Layout, TargetConfig};
pub use target::Target;

/// Declares the files and lists the targets, by name.
macro_rules! targets {
    ($($target:ident),* $(,)?) => {
        $(mod $target;)*

        impl Target {
            /// Every target, by name.
            pub const ALL: &'static [Target] = &[$($target::TARGET),*];
        }
    };
}

targets!(claude_code, claude_desktop, codex, copilot, cursor, gemini, opencode, vscode, windsurf);

impl Target {
    /// Returns the target called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|target| target.name() == name)
    }

    /// The names of all targets.
    pub fn all_names() -> Vec<&'static str> {
        Self::ALL.iter().map(|target| target.name()).collect()
    }

    /// Returns the targets of contract 000, which a project is deployed to by default.
    pub fn of_contract() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|target| target.facts().in_contract)
    }

    /// The names of the targets that contract 000 knows.
    pub fn contract_names() -> Vec<&'static str> {
        Self::of_contract().map(Self::name).collect()
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
