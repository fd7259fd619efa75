//! Writes the audit log of a server (`serve --audit-log`): a line about each call, reads included.
//!
//! Each call has one [`Record`], which is shared by all code that handles the call. When the last owner drops the record,
//! its line goes into a queue, and a thread writes the queue to the file. So a call waits neither for the disk nor for
//! the thread. With `--audit-required`, calls wait while the queue is full, and are refused while the log cannot be
//! written ([`CallLog::admit`]).

mod line;
mod log;
mod queue;
mod record;
pub(super) mod recorded;
mod writer;

pub(super) use log::CallLog;
pub(super) use record::{Record, note_requester};
pub(super) use recorded::record;
