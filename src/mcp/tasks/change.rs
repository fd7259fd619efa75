//! Changes of tasks, on their way to listen streams.

use std::sync::Arc;

use rmcp::model::DetailedTask;
use tokio::sync::broadcast;

use crate::mcp::asker::Asker;

/// Limit on changes that wait for one stream; a client that is further behind polls.
const CHANGES: usize = 64;

/// A change of a task, for the streams of its asker.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) asker: Asker,
    pub(super) task: Arc<DetailedTask>,
}

/// Returns a channel for the changes of all tasks of a server.
pub(super) fn channel() -> broadcast::Sender<Change> {
    broadcast::Sender::new(CHANGES)
}
