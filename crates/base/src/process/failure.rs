//! Why a program gave no output.

use std::io;

/// Reasons why a program has no output.
#[derive(Debug)]
pub enum Failure {
    /// It could not be started.
    NotStarted(io::Error),
    /// It was started, and could not be written to or waited for.
    Lost(io::Error),
    /// It ran for longer than it may, and was ended.
    TimedOut,
    /// The call was cancelled, and the program was ended.
    Cancelled,
}
