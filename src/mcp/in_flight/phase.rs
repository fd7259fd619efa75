//! How far a session is.

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// rmcp waits for the first lifecycle request.
    Starting,
    /// initialize went to rmcp and was not answered yet.
    Initializing,
    /// A session with a handshake.
    Legacy {
        /// Whether its revision has batches.
        batches: bool,
    },
    /// Requests that carry their own metadata (2026-07-28).
    Inline,
}

impl Phase {
    /// Whether rmcp takes notifications and responses.
    pub(in crate::mcp) fn started(self) -> bool {
        self != Phase::Starting
    }
}
