//! How much of what domains answer beside MCP is worked on at once.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Requests that are worked on at once; others wait.
const WORKED_ON: usize = 8;

/// Large bodies that come in, or are worked on, at once. Each may lie on the disk whole, and in memory once.
const UPLOADS: usize = 2;

/// How much is worked on at once.
pub(super) struct Permits {
    /// Answers that are made.
    pub(super) work: Arc<Semaphore>,
    /// Bodies that are read, and what is made of them.
    pub(super) uploads: Arc<Semaphore>,
}

impl Default for Permits {
    fn default() -> Self {
        Self { work: Arc::new(Semaphore::new(WORKED_ON)), uploads: Arc::new(Semaphore::new(UPLOADS)) }
    }
}
