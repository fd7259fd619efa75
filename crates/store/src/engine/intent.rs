//! The purpose of a transaction.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    Read,
    /// To write anything. Other writers wait until the transaction ends.
    Write,
    /// To write only to the one project that it locks, and to append events. On PostgreSQL, writers to other projects
    /// need not wait.
    WriteProject,
}
