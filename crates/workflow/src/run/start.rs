//! A plan is run: a person consents, the run begins, and the work on it goes on.

use std::time::Instant;

use super::plan::Plan;
use super::{changes, gates, reply};
use crate::engine::{Asked, begin};
use mcpkg_base::error::Result;
use mcpkg_core::consent::nonce::Held;
use mcpkg_core::op::{Context, Reply};

/// Runs a plan, once a person has consented to it; answers at `until` at the latest how far it is.
pub fn start(context: &Context, plan: Plan, held: Held<'_>, until: Instant) -> Result<Reply> {
    let consent = gates::consent(context, &plan, held)?;
    let record = changes::record(&plan);
    let asked = Asked { program: &plan.program, definition: &record, plan_hash: &plan.hash };
    let begun = begin(context, asked, &consent)?;
    reply::carry(context, plan, begun, until)
}
