//! Defines the reasons why a program did not run to its end.

use std::io;

#[derive(Debug)]
pub enum Failure {
    NotStarted(io::Error),
    /// The program was started, but then communication with it failed.
    Lost(io::Error),
    /// The program exceeded its time limit and was ended.
    TimedOut,
    /// The call was cancelled, and the program was ended.
    Cancelled,
}
