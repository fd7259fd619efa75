//! Where connections to plugins run: on a runtime of their own, which starts with the first one. Who calls waits on its own
//! thread, at most until its deadline or until its call is cancelled.

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use mcpkg_base::error::{Error, Result};

/// What ends a wait.
#[derive(Clone, Debug)]
pub struct Limits {
    /// When it is over.
    pub until: Instant,
    /// Ends it when the caller gives up.
    pub cancelled: CancellationToken,
}

impl Limits {
    /// Returns limits that begin now.
    pub fn new(time: Duration, cancelled: &CancellationToken) -> Self {
        Self { until: Instant::now() + time, cancelled: cancelled.clone() }
    }
}

/// Why a wait ended before what was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It took too long.
    TimedOut,
    /// The caller gave up.
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

/// Waits for `work` within limits; dropping it ends it.
pub fn within<T>(runtime: &Runtime, limits: &Limits, work: impl Future<Output = T>) -> Result<T, Cut> {
    runtime.block_on(async {
        tokio::select! {
            biased;
            () = limits.cancelled.cancelled() => Err(Cut::Cancelled),
            done = tokio::time::timeout_at(limits.until.into(), work) => done.map_err(|_| Cut::TimedOut),
        }
    })
}
