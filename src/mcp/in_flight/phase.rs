//! Defines the phases of an MCP session, from its start to the exchange of requests.

/// The phase of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// rmcp waits for the first lifecycle request.
    Starting,
    /// initialize was handed to rmcp, which has not answered it yet.
    Initializing,
    /// A session with a handshake.
    Legacy {
        /// Whether the session's revision has batches.
        batches: bool,
    },
    /// A connection without a handshake, on which each request carries its own metadata (2026-07-28).
    Inline,
}

impl Phase {
    /// Returns whether rmcp accepts notifications and responses.
    pub(in crate::mcp) fn started(self) -> bool {
        self != Phase::Starting
    }
}
