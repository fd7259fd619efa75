//! Asks a person at a terminal to confirm a change that loosens trust.

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Confirmation, Context};

/// Shows what the change would allow, and asks for confirmation.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` if there is no terminal, since `--yes` cannot confirm this; `E_CONFIRM_REQUIRED` if the
/// person refuses.
pub(super) fn ask(context: &Context, shown: &[String], question: &str) -> Result<()> {
    if context.confirmation != Confirmation::Ask {
        let message = "Only a person at a terminal can decide whom to trust; --yes cannot skip this confirmation";
        return Err(Error::new(Code::TerminalRequired, message).hint("run the command at a terminal, without --yes"));
    }
    (context.ask)(Body::lines(shown), question)
}
