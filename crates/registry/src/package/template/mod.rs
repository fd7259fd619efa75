//! Commands of tools: a program with its arguments, or a shell's text, with places for parameters.
//!
//! Whatever a value holds, it stays one argument, and no shell reads it.

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

/// What an action runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A program with its arguments: no shell.
    Argv(Argv),
    /// The text of a shell, with values as positional parameters.
    Shell(Shell),
}

/// The arguments of a call, with what a template asks of them.
pub struct Given<'a> {
    pub schema: Option<&'a Value>,
    /// The arguments, which fit it. One that names a file of the user's is the file's path in the sandbox by now.
    pub values: &'a Map<String, Value>,
    /// Puts a parameter's text into a private file, and returns the path that the file has for the tool.
    pub file: &'a mut dyn FnMut(&str, &str) -> Result<String>,
}

impl CommandLine {
    /// Returns the program and its arguments for a call.
    ///
    /// # Errors
    /// `E_TOOL_INPUT` where a required parameter is missing, a value begins an argument with `-` and may not, holds NUL, or is
    /// longer than an argument can be.
    pub fn render(&self, given: &mut Given<'_>) -> Result<Vec<String>> {
        match self {
            Self::Argv(argv) => argv.render(given),
            Self::Shell(shell) => shell.render(given),
        }
    }

    /// Returns the names that stand in it as `${name}` where no shell reads them.
    pub fn literal_names(&self) -> Vec<&str> {
        match self {
            Self::Argv(argv) => argv.in_shell_braces(),
            Self::Shell(_) => Vec::new(),
        }
    }

    /// Returns the names of its parameters, in the order in which they stand there.
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

/// Whether a text can name a parameter.
fn is_parameter(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
}
