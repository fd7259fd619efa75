//! The forms in which agents read what is written for them: the front matter that says when a rule applies. Import reads
//! them and a deploy writes them, by one table ([`rule`]).

pub mod cursor_front;
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

/// How the names of files end that an agent reads by them.
const ENDINGS: [&str; 7] = [".instructions.md", ".agent.md", ".chatmode.md", ".prompt.md", ".mdc", ".md", ".toml"];

/// Returns the name of an agent's file without its ending.
pub fn stem(name: &str) -> &str {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Returns the letters of a name that a deploy has in the name of a file, `_` for any other.
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

    /// Returns the front matter of a rule, with its marks; empty if there is nothing to say.
    ///
    /// # Errors
    /// Why the form cannot say it.
    pub fn write(&self, applies: &Applies, description: Option<&str>) -> Result<String, Unsayable> {
        write::write(self, applies, description)
    }
}
