//! `mcpkg ask`: runs the user's own agent on one request, with mcpkg's server attached for this run only.
//!
//! mcpkg starts the agent without a screen, in an empty folder, after a person has approved what runs. The attached server
//! writes a line about each call to a file, which `ask` follows: this works the same for every agent.

mod calls;
mod launch;
mod operation;
mod output;
mod progress;
mod request;
mod running;

use mcpkg_core::op::Entry;

pub use running::end_all;

pub(super) const OPS: &[Entry] = &[Entry::of::<operation::Ask>()];
