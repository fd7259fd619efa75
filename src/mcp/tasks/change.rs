//! Carries changes of tasks to listen streams.

use std::sync::Arc;

use rmcp::model::DetailedTask;
use tokio::sync::broadcast;

use crate::mcp::asker::Asker;

/// The maximum number of changes that wait for one stream. A client that falls further behind has to poll.
const CHANGES: usize = 64;

/// A change of a task, for the streams of its requester.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) asker: Asker,
    pub(super) task: Arc<DetailedTask>,
}

/// Creates the channel for the changes of all tasks of a server.
pub(super) fn channel() -> broadcast::Sender<Change> {
    broadcast::Sender::new(CHANGES)
}
