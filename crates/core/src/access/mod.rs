//! Access keys: which clients may use a server over HTTP, for what, and for how long.
//!
//! A server calls [`required`], then [`verify`] for each request, and [`holds`] for streams that stay open.

mod key;
mod life;
mod operations;
mod verify;

pub use crate::op::Grant;
pub use verify::{Refused, holds, required, verify};

use crate::op::{Domain, Entry};

/// The group of the operations on access keys, which are not offered to agents.
pub const GROUP: &str = "access";

pub const DOMAIN: Domain = Domain {
    name: "access",
    operations: &[OPS],
    commands: &[("access", "Create, list and revoke access keys for clients of an HTTP server")],
    ..Domain::EMPTY
};

pub const OPS: &[Entry] = &[
    Entry::of::<operations::Create>(),
    Entry::of::<operations::List>(),
    Entry::of::<operations::Show>(),
    Entry::of::<operations::Revoke>(),
];
