//! Consent: how a plan is approved after it was shown. Except for widened approvals, an approval is valid once, and
//! only for that plan.
//!
//! There are two ways. A caller *confirms* a plan with the token that came with it ([`token`], for the writing tools of
//! contract 000, agentpack). A person *consents* to a stored request ([`request`]): at a terminal, with `mcpkg consent
//! approve`, or by answering a question (an MCP elicitation) of a client that has the right to pass on consent
//! (`Rights::consent`). Nothing that an agent can send counts as consent: no argument, no prompt, no token.
//!
//! If a request comes with a nonce ([`nonce`]), only the asker can use the approval, and the nonce is worthless until a person
//! approves. A person may widen an approval ([`widened`]): for a limited time, the same asker's plans that only read from one
//! catalog need no consent.

pub mod approvable;
pub mod nonce;
pub mod request;
pub mod token;
pub mod widened;

mod approvals;
mod operations;
mod reads;
mod undo;

use crate::op::{Context, Domain, Entry};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_store::{Db, consents};

/// The group of the operations on consent requests, which are not offered to agents.
pub const GROUP: &str = "consent";

pub static DOMAIN: Domain = Domain {
    name: "consent",
    operations: &[OPS],
    commands: &[
        ("consent", "Approve or deny agents' requests for your consent"),
        ("approval", "Show and revoke what you approved on this machine"),
    ],
    growing: &[consents::GROWING],
    undo: undo::UNDO,
    ..Domain::EMPTY
};

const OPS: &[Entry] = &[
    Entry::of::<operations::List>(),
    Entry::of::<operations::Show>(),
    Entry::of::<operations::Approve>(),
    Entry::of::<operations::Deny>(),
    Entry::of::<approvals::List>(),
    Entry::of::<approvals::Revoke>(),
];

/// How far the clock may be set back, in milliseconds, before a request seems to come from the future and becomes invalid.
const SLACK: Millis = 60_000;

/// Whether a request made at `asked_at` is still valid at `now`.
const fn in_time(asked_at: Millis, expires_at: Millis, now: Millis) -> bool {
    now >= asked_at.saturating_sub(SLACK) && now < expires_at
}

/// Appends an event for a request to the audit trail (`events`).
fn event(context: &Context, db: &Db<'_>, kind: &str, project: &str, subject: &str) -> Result<()> {
    let project = Some(project).filter(|project| !project.is_empty());
    context.event(db, context.author(), project, kind, subject)
}
