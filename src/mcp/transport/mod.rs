//! How bytes come and go.

mod lines;
pub(super) mod stdio;
