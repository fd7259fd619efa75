//! Access keys: who may reach a server over HTTP, how far, and for how long.
//!
//! A server asks [`required`], [`verify`] for what a request shows, and [`holds`] for what is open since.

mod key;
mod life;
mod operations;
mod verify;

pub use crate::op::Grant;
pub use verify::{Refused, holds, required, verify};

use crate::error::Error;
use crate::op::{Context, Entry, Operation};

/// Returns the failure of a command whose reply could not be printed; where that was a new key, it is revoked.
pub fn unprinted(context: &Context, entry: &Entry, name: Option<&str>, error: Error) -> Error {
    match name {
        Some(name) if entry.tool == operations::Create::TOOL => operations::unprinted(context, name, &error),
        _ => error,
    }
}

/// The group of this domain; agents see none of it.
pub const GROUP: &str = "access";

/// The operations of this domain, in documentation order.
pub const OPS: &[Entry] =
    &[Entry::of::<operations::Create>(), Entry::of::<operations::List>(), Entry::of::<operations::Revoke>()];
