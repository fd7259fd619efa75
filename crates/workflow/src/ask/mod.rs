//! `mcpkg ask`: runs the user's own agent on one request, with mcpkg's server attached for this run only.
//!
//! A person approves the agent's command line once. mcpkg then starts the agent in its non-interactive mode, in an empty
//! temporary folder. The attached server writes a line about each call to a file. `ask` reads the calls from this file,
//! which works the same way for every agent.

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
