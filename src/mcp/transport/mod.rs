//! How bytes come and go.

pub(super) mod stdio;
