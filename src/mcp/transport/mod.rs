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

/// How long after a signal calls that still run are cancelled: some clients kill a server two seconds after it.
const GIVE_UP: Duration = Duration::from_secs(1);

/// Records that a server uses the database, so that `mcpkg restore` refuses to replace it.
fn announce(store: &Store) -> Result<Option<Serving>> {
    match store.announce() {
        Ok(serving) => Ok(Some(serving)),
        Err(error) if error.code() == Code::Busy => Err(error),
        Err(error) => {
            // On a read-only disk it cannot be replaced either.
            tracing::warn!(%error, "this server cannot announce itself");
            Ok(None)
        }
    }
}
