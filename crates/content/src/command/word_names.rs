//! The names of a command's words: the MCP argument names of its placeholders.

use super::dialect::Dialect;
use crate::import::matter;
use crate::template;
use mcpkg_store::prompts::Argument;

/// The argument with everything that a user types after a command.
pub const LINE: &str = "arguments";

/// The names of a command's words in its front matter, which only Claude Code reads.
#[derive(Debug, Default)]
pub struct Names(pub Vec<String>);

impl Names {
    /// Returns the names in a file's front matter.
    pub fn of(dialect: Dialect, front: Option<&str>) -> Self {
        match dialect {
            Dialect::Claude => Self(names_of(front.unwrap_or_default())),
            Dialect::OpenCode => Self::default(),
        }
    }

    /// Returns the name that MCP has for a word: its own one, where it can be a template's.
    pub fn argument(&self, word: usize) -> String {
        let good = |name: &&String| {
            let argument = Argument { name: (*name).clone(), description: None, required: false };
            template::check_arguments(&[argument]).is_ok()
        };
        self.0.get(word).filter(good).cloned().unwrap_or_else(|| format!("arg{word}"))
    }

    /// Returns the word with this name.
    pub fn position(&self, argument: &str) -> Option<usize> {
        (0..self.0.len()).find(|word| self.argument(*word) == argument)
    }
}

/// Returns the names of the words in front matter, given with its marks.
pub fn names_of(front: &str) -> Vec<String> {
    matter::split(front).ok().flatten().map(|(yaml, _)| matter::names(yaml)).unwrap_or_default()
}

/// Returns the word for an argument named `arg1`: the one that `$1` refers to.
pub fn number_of(dialect: Dialect, argument: &str) -> Option<usize> {
    let number: usize = argument.strip_prefix("arg")?.parse().ok()?;
    match dialect {
        Dialect::Claude => Some(number),
        Dialect::OpenCode => number.checked_sub(1),
    }
}
