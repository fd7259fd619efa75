//! Access keys and rules: which clients may use a server over HTTP, for what, and for how long.
//!
//! A server calls [`required`], then [`verify()`] for each request with a key, and [`holds`] for streams that stay
//! open. For a request with a token, a [`token::Issuer`] checks the token and returns its claims, and [`Rules`] decide
//! what these claims allow.

mod health;
mod key;
mod life;
mod operations;
mod refused;
mod rules;
pub mod token;
mod verify;

pub use crate::op::Grant;
pub use refused::Refused;
pub use rules::Rules;
pub use verify::{holds, required, verify};

use crate::op::{Domain, Entry, Undo};

/// The group of the operations on access keys and rules. These operations are not offered to agents.
pub const GROUP: &str = "access";

pub static DOMAIN: Domain = Domain {
    name: "access",
    operations: &[OPS],
    commands: &[
        ("access", "Manage who may use an HTTP server: access keys, and rules for people who sign in"),
        ("access rule", "Manage what people and programs may do who sign in with an OAuth server"),
    ],
    undo: Undo { lasting: &[("access.sign-in", "a person signed in")], ..Undo::NOTHING },
    health: health::health,
    ..Domain::EMPTY
};

pub const OPS: &[Entry] = &[
    Entry::of::<operations::Create>(),
    Entry::of::<operations::List>(),
    Entry::of::<operations::Show>(),
    Entry::of::<operations::Revoke>(),
    Entry::of::<operations::AddRule>(),
    Entry::of::<operations::ListRules>(),
    Entry::of::<operations::RemoveRule>(),
];
