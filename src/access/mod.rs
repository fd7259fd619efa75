//! Access keys: who may reach a server over HTTP, how far, and for how long.
//!
//! A server asks [`required`], and [`verify`] for what a request shows.

mod key;
mod life;
mod operations;
mod verify;

pub use verify::{Grant, Refused, required, verify};

use crate::op::Entry;

/// The toolset of this domain; agents see none of it.
pub const TOOLSET: &str = "access";

/// The operations of this domain, in documentation order.
pub const OPS: &[Entry] =
    &[Entry::of::<operations::Create>(), Entry::of::<operations::List>(), Entry::of::<operations::Revoke>()];
