//! The purpose of a transaction.

/// The purpose of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    Read,
    /// To write anything: other writers wait until it has ended.
    Write,
    /// To write to the one project that it locks, and events: where the engine has many writers, those to other projects go on.
    WriteProject,
}
