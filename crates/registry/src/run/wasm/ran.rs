//! What came of a run.

use super::files::Left;
use mcpkg_base::process::Printed;

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    pub end: End,
    pub stdout: Printed,
    /// What it printed to standard error.
    pub stderr: Printed,
    /// What it left in `/output`.
    pub left: Left,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By an instruction that cannot be executed, and which it was.
    Trapped(String),
    /// It could not go on without more memory than there was.
    OutOfMemory,
    /// Its time was over.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
    /// It could not be started, and why.
    NotStarted(String),
}
