//! Defines the state that a client sets up in its session, such as its log level.

#![allow(deprecated, reason = "the newest protocol revision has no logging, but older revisions do")]

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rmcp::model::LoggingLevel;
use tokio_util::sync::CancellationToken;

use super::subscriptions::Subscriber;

/// The state of one session, for clients of protocol revisions with a handshake.
pub(super) struct Session {
    /// The id of the connection in the audit trail (`events`).
    pub(super) id: Arc<str>,
    /// The client's subscription to changes.
    pub(super) subscriber: OnceLock<Arc<Subscriber>>,
    /// Whether the client is already being notified of changes.
    pub(super) notified: AtomicBool,
    /// The minimum level of log messages for the client.
    level: Mutex<Option<LoggingLevel>>,
    /// Cancelled when the session ends.
    pub(super) ended: CancellationToken,
    /// The protocol revision that the client agreed on.
    pub(super) revision: OnceLock<&'static str>,
}

impl Default for Session {
    fn default() -> Self {
        let id = mcpkg_base::clock::short_id().into();
        Self {
            id,
            subscriber: OnceLock::default(),
            notified: AtomicBool::default(),
            level: Mutex::default(),
            ended: CancellationToken::default(),
            revision: OnceLock::default(),
        }
    }
}

impl Session {
    pub(super) fn level(&self) -> MutexGuard<'_, Option<LoggingLevel>> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}
