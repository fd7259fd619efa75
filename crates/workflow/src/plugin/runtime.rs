//! Runs the connections to plugins on an async runtime of their own, which starts with the first connection. Callers wait on
//! their own threads, at most until a deadline or until they are cancelled.

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use mcpkg_base::error::{Error, Result};

/// Limits on how long to wait.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The deadline.
    pub until: Instant,
    /// Cancelled when the caller gives up.
    pub cancelled: CancellationToken,
}

impl Limits {
    /// Returns limits that start now.
    pub fn new(time: Duration, cancelled: &CancellationToken) -> Self {
        Self { until: Instant::now() + time, cancelled: cancelled.clone() }
    }
}

/// The reason why a wait ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    TimedOut,
    Cancelled,
}

pub fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let start = || {
        let built = Builder::new_multi_thread().worker_threads(1).thread_name("plugins").enable_all().build();
        built.map_err(|error| error.to_string())
    };
    let started = RUNTIME.get_or_init(start).as_ref();
    started.map_err(|why| Error::internal(format!("cannot start a thread for plugins: {why}")))
}

/// Waits for `work` within the limits. If a limit is reached, the work is dropped.
pub fn within<T>(runtime: &Runtime, limits: &Limits, work: impl Future<Output = T>) -> Result<T, Cut> {
    runtime.block_on(async {
        tokio::select! {
            biased;
            () = limits.cancelled.cancelled() => Err(Cut::Cancelled),
            done = tokio::time::timeout_at(limits.until.into(), work) => done.map_err(|_| Cut::TimedOut),
        }
    })
}
