//! Serves stdio, and contains the code that all transports share: starting threads, registering the server, and
//! stopping it.
//!
//! The transports over HTTP are in `http`.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::{Serving, Store};

mod lines;
pub(super) mod stdio;

/// Starts one of the server's own threads under a name.
pub(super) fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(f)
        .map_err(|error| Error::internal(format!("cannot start the thread `{name}`")).with_source(error))
}

/// Runs `stop` on the first termination signal. A second one ends the process at once.
pub(super) fn on_signal(stop: impl FnOnce() + Send + 'static) -> Result<()> {
    let failed = |error| Error::internal("cannot handle signals").with_source(error);
    mcpkg_base::process::on_ending(1, stop).map_err(failed)
}

/// How long to wait for accepted requests after a signal.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// How long to wait after a signal before running calls are cancelled. Some clients kill a server two seconds after the
/// signal.
pub(super) const GIVE_UP: Duration = Duration::from_secs(1);

/// The registration of a server at its database, once it has succeeded. Dropping this value removes the registration.
pub(super) struct Announced(
    #[expect(dead_code, reason = "it is taken away when it is dropped")] Arc<Mutex<Option<Serving>>>,
);

/// How long to wait before the next attempt to register.
const AGAIN: Duration = Duration::from_secs(1);

/// Registers a server at its database, so that `mcpkg restore` refuses to replace the database.
pub(super) fn announce(store: &Store) -> Result<Announced> {
    let announced = Arc::new(Mutex::new(None));
    match store.announce() {
        Ok(serving) => *announced.lock().unwrap_or_else(PoisonError::into_inner) = Some(serving),
        Err(error) if error.code() == Code::Busy || store.location().file().is_none() => return Err(error),
        Err(error) => {
            // The disk may be read-only. Then nobody can replace the database either, so the server starts anyway, and
            // retries until the disk is writable.
            tracing::warn!(%error, "cannot record that this server is running");
            let (store, waiting) = (store.clone(), Arc::downgrade(&announced));
            spawn("announce", move || {
                while waiting.strong_count() > 0 {
                    thread::sleep(AGAIN);
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
