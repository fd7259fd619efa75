//! Runs repairs before a command or a server starts.

use mcpkg_core::op::Context;

/// Finishes or undoes what an earlier process left half done.
pub(super) fn recover(context: &Context) {
    crate::DOMAINS.iter().for_each(|domain| (domain.recover)(context));
}
