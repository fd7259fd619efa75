//! What loosens needs a person at a terminal.

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Confirmation, Context};

/// Shows what would be let through and asks for it.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` where nobody sits at a terminal: there is no `--yes` for it; `E_CONFIRM_REQUIRED` where the person
/// says no.
pub(super) fn ask(context: &Context, shown: &[String], question: &str) -> Result<()> {
    if context.confirmation != Confirmation::Ask {
        let message = "Only a person at a terminal can decide whom to trust; --yes cannot skip this confirmation";
        return Err(Error::new(Code::TerminalRequired, message).hint("run the command at a terminal, without --yes"));
    }
    (context.ask)(Body::lines(shown), question)
}
