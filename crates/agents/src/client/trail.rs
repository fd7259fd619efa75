//! Records changes to agents' files in the audit trail (`events`).

use mcpkg_core::op::Context;

/// Appends an event to the audit trail. If this fails, the change to the agent's file is kept.
pub fn append(context: &Context, kind: &str, subject: &str) {
    let appended = context.store.write(|db| context.event(db, context.author(), None, kind, subject));
    if let Err(error) = appended {
        tracing::warn!(kind, subject, %error, "the event could not be recorded");
    }
}
