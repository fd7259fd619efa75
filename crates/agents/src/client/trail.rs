//! The events of changes to agents' files.

use mcpkg_core::op::Context;

/// Appends to the trail. If the database cannot be written, the change in the agent's file stays.
pub fn append(context: &Context, kind: &str, subject: &str) {
    let appended = context.store.write(|db| context.event(db, context.author(), None, kind, subject));
    if let Err(error) = appended {
        tracing::warn!(kind, subject, %error, "the event could not be recorded");
    }
}
