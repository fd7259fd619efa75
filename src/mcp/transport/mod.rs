//! How messages come in and go out.

use std::time::Duration;

use crate::error::{Code, Result};
use crate::store::{Serving, Store};

mod http;
mod lines;
mod signals;
pub(super) mod stdio;

pub use http::{Network, Origin, serve_http};

/// How long a signal waits for what was accepted.
const GRACE: Duration = Duration::from_secs(5);

/// Says that a server uses the database, for whoever wants to restore over it.
fn announce(store: &Store) -> Result<Option<Serving>> {
    match store.announce() {
        Ok(serving) => Ok(Some(serving)),
        Err(error) if error.code() == Code::Busy => Err(error),
        Err(error) => {
            // On a read-only disk nobody can restore over it either.
            tracing::warn!(%error, "this server cannot announce itself");
            Ok(None)
        }
    }
}
