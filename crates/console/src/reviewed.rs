//! The user's "reviewed" marks on diffs. A mark belongs to the exact diff that was shown, and only the console reads
//! it.

use serde_json::json;

use mcpkg_base::approved::Kind;
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::diff::digest;

/// The age at which a mark expires, in milliseconds (90 days). Expired marks are removed when the user makes a new one.
const KEPT: i64 = 90 * 24 * 3_600_000;

/// Returns whether this user has marked a unified diff as reviewed.
pub fn is_reviewed(context: &Context, unified: &str) -> bool {
    !unified.is_empty() && context.approved.has(Kind::Reviewed, &digest(unified)).unwrap_or(false)
}

/// Marks the diff with this hash as reviewed, or takes the mark back. Returns whether it is reviewed now.
pub fn toggle(context: &Context, digest: &str) -> Result<bool> {
    if context.approved.has(Kind::Reviewed, digest)? {
        context.approved.withdraw(Kind::Reviewed, digest)?;
        return Ok(false);
    }
    let now = context.clock.now();
    for (old, note) in context.approved.all(Kind::Reviewed)? {
        if note["at"].as_i64().is_none_or(|at| now.saturating_sub(at) > KEPT) {
            context.approved.withdraw(Kind::Reviewed, &old)?;
        }
    }
    context.approved.put_unsynced(Kind::Reviewed, digest, &json!({ "at": now }))?;
    Ok(true)
}
