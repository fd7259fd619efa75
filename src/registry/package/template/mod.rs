//! Commands of tools: programs with their arguments, and a shell's text, with places for parameters.

mod argv;
mod shell;

pub use argv::{Argv, Element, Piece};
pub use shell::Shell;

/// What an action runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A program with its arguments: no shell.
    Argv(Argv),
    /// The text of a shell, with values as positional parameters.
    Shell(Shell),
}
