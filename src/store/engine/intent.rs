//! What a transaction is for.

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Intent {
    Read,
    Write,
}
