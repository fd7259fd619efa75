//! Names the words of a command: the MCP argument names of its placeholders.

use super::dialect::Dialect;
use crate::forms::matter;
use crate::template;
use mcpkg_store::prompts::Argument;

/// The argument that stands for everything typed after a command.
pub const LINE: &str = "arguments";

/// The names of a command's words, from its front matter. Only Claude Code supports them.
#[derive(Debug, Default)]
pub struct Names(pub Vec<String>);

impl Names {
    /// Reads the names from a file's front matter.
    pub fn of(dialect: Dialect, front: Option<&str>) -> Self {
        match dialect {
            Dialect::Claude => Self(names_of(front.unwrap_or_default())),
            Dialect::OpenCode => Self::default(),
        }
    }

    /// Returns the MCP argument name of a word: the word's own name if that is valid in a template, otherwise one such as `arg0`.
    pub fn argument(&self, word: usize) -> String {
        let good = |name: &&String| {
            let argument = Argument { name: (*name).clone(), description: None, required: false };
            template::check_arguments(&[argument]).is_ok()
        };
        self.0.get(word).filter(good).cloned().unwrap_or_else(|| format!("arg{word}"))
    }

    /// Returns the number of the word with this argument name, from zero.
    pub fn position(&self, argument: &str) -> Option<usize> {
        (0..self.0.len()).find(|word| self.argument(*word) == argument)
    }
}

/// Returns the names of the words in front matter, given with its `---` lines.
pub fn names_of(front: &str) -> Vec<String> {
    matter::split(front).ok().flatten().map(|(yaml, _)| matter::names(yaml)).unwrap_or_default()
}

/// Returns the number of the word that an argument such as `arg1` stands for: the word that `$1` means in this dialect.
pub fn number_of(dialect: Dialect, argument: &str) -> Option<usize> {
    let number: usize = argument.strip_prefix("arg")?.parse().ok()?;
    match dialect {
        Dialect::Claude => Some(number),
        Dialect::OpenCode => number.checked_sub(1),
    }
}
