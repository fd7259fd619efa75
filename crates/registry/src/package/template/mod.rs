//! Command templates of tools: a program with arguments, or a shell script, with placeholders for parameters.
//!
//! A value remains a single argument, unless a script asks for its words with `${param:raw}`. No shell runs a value as
//! code.

mod argv;
mod command;
mod piece;
mod scan;
mod shell;
mod value;
mod words;

use serde_json::{Map, Value};

use mcpkg_base::error::Result;

pub use argv::Argv;
pub use shell::Shell;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A program with arguments, without a shell.
    Argv(Argv),
    /// A shell script that gets its values as positional parameters.
    Shell(Shell),
}

/// The arguments of a call, and what is needed to insert them.
pub struct CallArguments<'a> {
    pub schema: Option<&'a Value>,
    /// The arguments, already checked against the schema. Paths of the user's files are already replaced by their
    /// paths in the sandbox.
    pub values: &'a Map<String, Value>,
    /// Writes a parameter's value to a private file, and returns the path that the tool sees.
    pub file: &'a mut dyn FnMut(&str, &str) -> Result<String>,
}

impl CommandLine {
    /// Returns the program and its arguments for a call.
    ///
    /// # Errors
    /// `E_TOOL_INPUT` if a required parameter is missing, or if a value starts with `-` where that is not allowed,
    /// contains NUL, or is too long for an argument; and the errors of `given.file`.
    pub fn render(&self, given: &mut CallArguments<'_>) -> Result<Vec<String>> {
        match self {
            Self::Argv(argv) => argv.render(given),
            Self::Shell(shell) => shell.render(given),
        }
    }

    /// Returns the program of a command without a shell, unless it depends on the values of a call.
    pub fn program(&self) -> Option<&str> {
        match self {
            Self::Argv(argv) => argv.program(),
            Self::Shell(_) => None,
        }
    }

    /// Returns the names written as `${name}` in a command without a shell, where they have no effect.
    pub fn literal_names(&self) -> Vec<&str> {
        match self {
            Self::Argv(argv) => argv.in_shell_braces(),
            Self::Shell(_) => Vec::new(),
        }
    }

    /// Returns the names of the parameters in order, each name once.
    pub fn parameters(&self) -> Vec<&str> {
        let mut names = match self {
            Self::Argv(argv) => argv.parameters(),
            Self::Shell(shell) => shell.parameters(),
        };
        let mut seen = Vec::new();
        names.retain(|name| {
            let is_new = !seen.contains(name);
            seen.push(name);
            is_new
        });
        names
    }
}

/// Returns whether a text is a valid parameter name.
fn is_parameter(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
}
