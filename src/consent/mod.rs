//! Consent: how a plan that was shown gets its yes, and how that yes is good for this plan, once.
//!
//! There are two ways. A caller *confirms* with the token that it was given with the plan ([`token`], for contract 000's
//! writing tools). A person *consents* to a stored request ([`request`]): at the question of a terminal, with
//! `mcpkg consent approve`, or by an answer to the elicitation of a client that is trusted with it. An agent can send
//! nothing that consents: no argument, no prompt, no token. Where a request comes with a nonce ([`nonce`]), the yes is good
//! for who asked alone, and the nonce for nothing before the yes. A yes may be widened
//! ([`widened`]): for a time, who asked needs none for plans of nothing but reads of one catalog.

pub mod nonce;
pub mod request;
pub mod token;
pub mod widened;

mod operations;
mod reads;

use crate::clock::Millis;
use crate::error::Result;
use crate::op::{Context, Domain, Entry};
use crate::store::{Db, consents};

/// The group of this domain; agents see none of it.
pub const GROUP: &str = "consent";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "consent",
    operations: &[OPS],
    commands: &[("consent", "Decide on what agents ask your consent for")],
    growing: &[consents::GROWING],
    ..Domain::EMPTY
};

/// The operations of this domain, in documentation order.
const OPS: &[Entry] = &[
    Entry::of::<operations::List>(),
    Entry::of::<operations::Show>(),
    Entry::of::<operations::Approve>(),
    Entry::of::<operations::Deny>(),
];

/// How far the clock may go back behind the moment in which something was asked.
const SLACK: Millis = 60_000;

/// Whether what was asked at `asked_at` is still good at `now`.
const fn in_time(asked_at: Millis, expires_at: Millis, now: Millis) -> bool {
    now >= asked_at.saturating_sub(SLACK) && now < expires_at
}

/// Appends to the trail what became of a request.
fn event(context: &Context, db: &Db<'_>, kind: &str, project: &str, subject: &str) -> Result<()> {
    let project = Some(project).filter(|project| !project.is_empty());
    context.event(db, context.author(), project, kind, subject)
}
