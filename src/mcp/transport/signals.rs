//! Handles the signals that stop a server.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::mcp::transport::spawn;
use mcpkg_base::error::{Error, Result};

/// Runs `stop` on the first termination signal. A second one ends the process at once.
#[cfg(unix)]
pub(in crate::mcp) fn on_signal(stop: impl FnOnce() + Send + 'static) -> Result<()> {
    let failed = |error: std::io::Error| Error::internal("cannot handle signals").with_source(error);
    let ending = mcpkg_base::process::ending();
    let again = Arc::new(AtomicBool::new(false));
    for signal in &ending {
        signal_hook::flag::register_conditional_shutdown(*signal, 1, Arc::clone(&again)).map_err(failed)?;
        signal_hook::flag::register(*signal, Arc::clone(&again)).map_err(failed)?;
    }
    let mut signals = signal_hook::iterator::Signals::new(&ending).map_err(failed)?;
    spawn("signals", move || {
        if signals.forever().next().is_some() {
            stop();
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
pub(in crate::mcp) fn on_signal(_stop: impl FnOnce() + Send + 'static) -> Result<()> {
    Ok(())
}
