//! Defines what calls send to the thread that writes the audit log, and what that thread reports to them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use super::line::Line;

/// What the calls and the writing thread share.
#[derive(Default)]
pub(super) struct State {
    /// The number of lines that are not written yet.
    pub(super) queued: AtomicUsize,
    /// The number of lines that were dropped since the server started.
    pub(super) lost: AtomicU64,
    pub(super) is_failing: AtomicBool,
    /// Why the file cannot be written.
    pub(super) problem: Mutex<Option<String>>,
}

pub(super) enum Job {
    Write(Box<Line>),
    /// Open the file again, because another program renamed it.
    Reopen,
    End,
}
