//! Who asked: the access key of a request, else this user on this machine.

/// Who asked. Two connections of one asker are one asker.
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
