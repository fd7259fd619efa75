//! How messages come in and go out.

use std::thread;
use std::time::Duration;

use crate::error::{Code, Error, Result};
use crate::store::{Serving, Store};

mod http;
mod lines;
pub(super) mod output;
mod signals;
pub(super) mod stdio;

pub use http::{Network, Origin, serve_http};

/// How long a signal waits for what was accepted.
const GRACE: Duration = Duration::from_secs(5);

/// Says that a server uses the database, for whoever wants to restore over it.
fn announce(store: &Store) -> Result<Option<Serving>> {
    match Serving::announce(store.path()) {
        Ok(serving) => Ok(Some(serving)),
        Err(error) if error.code() == Code::Busy => Err(error),
        Err(error) => {
            // On a read-only disk nobody can restore over it either.
            tracing::warn!(%error, "this server cannot announce itself");
            Ok(None)
        }
    }
}

/// Starts a thread.
pub(super) fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(f)
        .map_err(|error| Error::internal(format!("the thread `{name}` could not be started")).with_source(error))
}
