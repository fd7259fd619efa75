//! The requester: the access key of a request, or else this user on this machine.

/// The requester. Two connections with the same key are one requester.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asker(String);

impl Asker {
    /// Returns the asker that the database knows by this name.
    pub(super) fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Returns the asker as the database has it.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}
