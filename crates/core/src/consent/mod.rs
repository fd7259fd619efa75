//! Consent: how a plan that was shown is approved, and how that approval is used for this plan, once.
//!
//! There are two ways. A caller *confirms* with the token that it was given with the plan ([`token`], for contract 000's
//! writing tools). A person *consents* to a stored request ([`request`]): by answering at a terminal, with
//! `mcpkg consent approve`, or by answering the elicitation of a client that is trusted with it. Nothing that an agent can
//! send consents: no argument, no prompt, no token. Where a request comes with a nonce ([`nonce`]), only the asker can use the
//! approval, and the nonce is worth nothing before it. A person may widen an approval ([`widened`]): for a time, plans of the same
//! asker that only read from one catalog need no consent.

pub mod nonce;
pub mod request;
pub mod token;
pub mod widened;

mod operations;
mod reads;

use crate::op::{Context, Domain, Entry};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_store::{Db, consents};

/// The group of this domain; agents see none of it.
pub const GROUP: &str = "consent";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "consent",
    operations: &[OPS],
    commands: &[("consent", "Approve or deny agents' requests for your consent")],
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

/// How far the clock may go back before the moment of a request.
const SLACK: Millis = 60_000;

/// Whether a request made at `asked_at` is still valid at `now`.
const fn in_time(asked_at: Millis, expires_at: Millis, now: Millis) -> bool {
    now >= asked_at.saturating_sub(SLACK) && now < expires_at
}

/// Records in the trail what happened to a request.
fn event(context: &Context, db: &Db<'_>, kind: &str, project: &str, subject: &str) -> Result<()> {
    let project = Some(project).filter(|project| !project.is_empty());
    context.event(db, context.author(), project, kind, subject)
}
