//! Starts a run: asks for consent, begins the run, and works on it.

use std::time::Instant;

use super::plan::Plan;
use super::{changes, gates, reply};
use crate::runner::{Asked, begin};
use mcpkg_base::error::Result;
use mcpkg_core::consent::nonce::Held;
use mcpkg_core::op::{Context, Reply};

/// Runs a plan after a person has consented to it. An agent gets the state of the run at `until` at the latest.
pub fn start(context: &Context, plan: Plan, held: Held<'_>, until: Instant) -> Result<Reply> {
    let consent = gates::consent(context, &plan, held)?;
    let record = changes::record(&plan);
    let asked = Asked { program: &plan.program, definition: &record, plan_hash: &plan.hash };
    let begun = begin(context, asked, &consent)?;
    reply::carry(context, plan, begun, until)
}
