//! The events of changes to agents' files.

use crate::op::Context;

/// Appends to the trail; a database that takes no more does not undo what stands in the agent's file.
pub fn append(context: &Context, kind: &str, subject: &str) {
    let appended = context.store.write(|db| context.event(db, context.author(), None, kind, subject));
    if let Err(error) = appended {
        tracing::warn!(kind, subject, %error, "the event could not be recorded");
    }
}
