//! What the transports share: how a server announces itself and ends, how lines are read; and stdio. `http` is the other transport.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::thread::spawn;
use mcpkg_base::error::{Code, Result};
use mcpkg_store::{Serving, Store};

mod lines;
pub(super) mod signals;
pub(super) mod stdio;

/// How long a signal waits for what was accepted.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// How long after a signal calls that still run are cancelled: some clients kill a server two seconds after it.
pub(super) const GIVE_UP: Duration = Duration::from_secs(1);

/// The presence of a server at its database, once it could be announced.
pub(super) struct Announced(
    #[expect(dead_code, reason = "it is taken away when it is dropped")] Arc<Mutex<Option<Serving>>>,
);

/// How often a server that could not be announced is tried to be.
const AGAIN: Duration = Duration::from_secs(1);

/// Records that a server uses the database, so that `mcpkg restore` refuses to replace it.
pub(super) fn announce(store: &Store) -> Result<Announced> {
    let announced = Arc::new(Mutex::new(None));
    match store.announce() {
        Ok(serving) => *announced.lock().unwrap_or_else(PoisonError::into_inner) = Some(serving),
        Err(error) if error.code() == Code::Busy || store.location().file().is_none() => return Err(error),
        Err(error) => {
            // On a read-only disk it cannot be replaced either, until it can be written.
            tracing::warn!(%error, "cannot record that this server is running");
            let (store, waiting) = (store.clone(), Arc::downgrade(&announced));
            spawn("announce", move || {
                while waiting.strong_count() > 0 {
                    std::thread::sleep(AGAIN);
                    if let (Ok(serving), Some(announced)) = (store.announce(), waiting.upgrade()) {
                        *announced.lock().unwrap_or_else(PoisonError::into_inner) = Some(serving);
                        return;
                    }
                }
            })?;
        }
    }
    Ok(Announced(announced))
}
