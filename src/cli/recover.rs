//! Repairs that run before a command or a server starts.

use mcpkg_core::op::Context;

/// Puts right what an earlier process left half done.
pub(super) fn recover(context: &Context) {
    crate::DOMAINS.iter().for_each(|domain| (domain.recover)(context));
}
