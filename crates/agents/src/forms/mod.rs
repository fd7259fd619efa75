//! Reads and writes the file formats of agents: rules, skills, subagents and files with several sections. Import and deploy share
//! one table with the rule format of each agent ([`rule`]).

pub mod cursor_front;
pub mod matter;
pub mod read;
pub mod rule;
pub mod sections;
pub mod skill;
pub mod subagent;
pub mod toml_text;
pub mod write;

use mcpkg_store::modules::Applies;

pub use read::Scope;
pub use rule::RuleFormat;
pub use write::Unsayable;

/// The file name endings by which agents recognize their files.
const ENDINGS: [&str; 7] = [".instructions.md", ".agent.md", ".chatmode.md", ".prompt.md", ".mdc", ".md", ".toml"];

/// Removes the agent's ending from a file name: `a.instructions.md` -> `a`.
pub fn stem(name: &str) -> &str {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Replaces every character except ASCII letters, digits, `_` and `-` with `_`, as a deploy does in file names.
pub fn file_letters(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' }).collect()
}

impl RuleFormat {
    /// Reads the metadata of a rule, as its agent does.
    pub fn read(&self, text: &str) -> Scope {
        read::read(self, text)
    }

    /// Returns when a rule applies, as its agent reads the file; `None` if the agent would not load it.
    pub fn applies(&self, file: &[u8]) -> Option<Applies> {
        let scope = self.read(std::str::from_utf8(file).ok()?);
        scope.is_loaded.then_some(scope.applies)
    }

    /// Returns the front matter of a rule with its `---` lines, or an empty text if none is needed. Fails if this format cannot
    /// express when the rule applies.
    pub fn write(&self, applies: &Applies, description: Option<&str>) -> Result<String, Unsayable> {
        write::write(self, applies, description)
    }
}
