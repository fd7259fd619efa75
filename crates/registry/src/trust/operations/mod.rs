//! `mcpkg tool key`, `sign`, `audit`, `verify` and `trust`. Only a person at a shell can change trust, never an
//! agent.

pub mod add;
pub mod audit;
pub mod check;
pub mod key;
pub mod list;
pub mod policy;
pub mod remove;
pub mod root;
pub mod sign;
pub mod verify;

mod signing;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Confirmation, Context};

/// Asks a person at a terminal to confirm a change that loosens trust: shows what it would allow, and asks.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` if there is no terminal, since `--yes` cannot confirm this; `E_CONFIRM_REQUIRED` if the
/// person refuses.
fn ask_at_terminal(context: &Context, shown: &[String], question: &str) -> Result<()> {
    if context.confirmation != Confirmation::Ask {
        let message = "Only a person at a terminal can decide whom to trust; --yes cannot skip this confirmation";
        return Err(Error::new(Code::TerminalRequired, message).hint("run the command at a terminal, without --yes"));
    }
    (context.ask)(Body::lines(shown), question)
}
