//! Defines the reasons why a program did not run to its end.

use std::io;

#[derive(Debug)]
pub enum Failure {
    NotStarted(io::Error),
    /// The program was started, but then communication with it failed.
    Lost(io::Error),
    /// The program exceeded its time limit. `Program::run` has ended it.
    TimedOut,
    /// The call was cancelled. `Program::run` has ended the program; [`super::Running::wait`] leaves it running.
    Cancelled,
}
