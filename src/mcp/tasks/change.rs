//! Passes changes to tasks on to the streams of clients that listen for them.

use std::sync::Arc;

use rmcp::model::DetailedTask;
use tokio::sync::broadcast;

use crate::mcp::asker::Asker;

/// The maximum number of changes that wait for one stream. A client that falls further behind has to poll.
const CHANGES: usize = 64;

/// A change to a task, for the streams of its requester.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) asker: Asker,
    pub(super) task: Arc<DetailedTask>,
}

/// Creates the channel for the changes to all tasks of a server.
pub(super) fn channel() -> broadcast::Sender<Change> {
    broadcast::Sender::new(CHANGES)
}
