//! Defines the reasons why a program gave no output.

use std::io;

#[derive(Debug)]
pub enum Failure {
    NotStarted(io::Error),
    /// It was started, but then communication with it failed.
    Lost(io::Error),
    /// It exceeded its time limit and was ended.
    TimedOut,
    /// The call was cancelled, and the program was ended.
    Cancelled,
}
