//! The two ways to open an MCP connection. The plugin's protocol version decides which way works.

/// A way to open a connection to a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, for protocol versions up to 2025-11-25.
    Handshake,
    /// `server/discover`, for protocol version 2026-07-28.
    Discover,
}

impl Era {
    /// Returns the word stored in the database.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Discover => "discover",
        }
    }

    /// Parses the word stored in the database.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Handshake, Self::Discover].into_iter().find(|era| era.word() == word)
    }
}
