//! Identifies the requester of a call: the access key of the request, or else the local user.

/// The requester of a call. Two connections with the same key are the same requester.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asker(String);

impl Asker {
    /// Returns the requester with the name that the database stores.
    pub(super) fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}
