//! Access keys: who may reach a server over HTTP, how far, and for how long.
//!
//! A server asks [`required`], [`verify`] for what a request shows, and [`holds`] for what is open since.

mod key;
mod life;
mod operations;
mod verify;

pub use verify::{Grant, Refused, holds, required, verify};

use crate::op::Entry;

pub use operations::unprinted;

/// The group of this domain; agents see none of it.
pub const GROUP: &str = "access";

/// The operations of this domain, in documentation order.
pub const OPS: &[Entry] =
    &[Entry::of::<operations::Create>(), Entry::of::<operations::List>(), Entry::of::<operations::Revoke>()];
