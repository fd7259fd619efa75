//! Starts the server's own named threads.

use std::thread;

use mcpkg_base::error::{Error, Result};

pub(super) fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(f)
        .map_err(|error| Error::internal(format!("cannot start the thread `{name}`")).with_source(error))
}
