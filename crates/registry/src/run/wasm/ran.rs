//! The result of running a module.

use super::files::Left;
use mcpkg_base::process::Printed;

#[derive(Debug)]
pub struct Ran {
    pub end: End,
    pub stdout: Printed,
    /// The standard error.
    pub stderr: Printed,
    /// The files in `/output`.
    pub left: Left,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The module ended by itself with this status.
    Exited(i32),
    /// An instruction failed, for this reason.
    Trapped(String),
    /// The module failed after it ran out of memory.
    OutOfMemory,
    /// The module exceeded its timeout.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
    /// The module could not be started, for this reason.
    NotStarted(String),
}
