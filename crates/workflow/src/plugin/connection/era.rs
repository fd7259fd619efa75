//! How plugins are greeted.

/// How a plugin is greeted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`: the revisions up to 2025-11-25.
    Handshake,
    /// `server/discover`: 2026-07-28.
    Discover,
}

impl Era {
    /// Returns the word in the table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Discover => "discover",
        }
    }

    /// Returns the era of a word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Handshake, Self::Discover].into_iter().find(|era| era.word() == word)
    }
}
