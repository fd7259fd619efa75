//! Observes the calls of a server, reads included: the audit log (`serve --audit-log`) gets a line about each call, and a
//! receiver of OpenTelemetry gets a span.
//!
//! Each call has one [`Record`], which is shared by all code that handles the call. When the last owner drops the record,
//! its line goes into a queue, and a thread writes the queue to the file. So a call waits neither for the disk nor for
//! the thread. With `--audit-required`, calls wait while the queue is full, and are refused while the log cannot be
//! written ([`Calls::admit`]). Spans have a queue of their own, and no call ever waits for it.

mod calls;
mod line;
mod log;
mod otlp;
mod queue;
mod record;
pub(super) mod recorded;
mod trace;
mod writer;

pub(super) use calls::Calls;
pub(super) use line::Message;
pub(super) use log::CallLog;
pub(super) use record::{Record, note_requester};
pub(super) use recorded::record;
