//! Calls that may run for minutes: on threads of their own, so that no other call waits for one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rmcp::ErrorData;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::asker::Asker;
use super::asker_limit::AskerLimit;
use super::error::error_data;
use super::thread::spawn;
use crate::error::Error;

/// Limit on the threads of long calls of a server. They mostly wait for other hosts.
const MAX_CALLS: usize = 32;

/// Limit on those of one asker; its further long calls wait, and hold up nothing while they do.
const MAX_FOR_ASKER: usize = 8;

/// The threads of long calls.
pub(super) struct LongCalls {
    all: Arc<Semaphore>,
    askers: AskerLimit,
}

/// The right to a thread.
pub(super) struct Permit {
    _asker: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for LongCalls {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(MAX_CALLS)), askers: AskerLimit::new(MAX_FOR_ASKER) }
    }
}

impl LongCalls {
    /// Returns the right to a thread where one is free.
    pub(super) fn try_take(&self, asker: &Asker) -> Option<Permit> {
        let asker = self.askers.try_take(asker)?;
        Some(Permit { _asker: asker, _all: Arc::clone(&self.all).try_acquire_owned().ok()? })
    }

    /// Waits for the right to a thread.
    pub(super) async fn take(&self, asker: &Asker) -> Option<Permit> {
        let asker = self.askers.take(asker).await?;
        Some(Permit { _asker: asker, _all: Arc::clone(&self.all).acquire_owned().await.ok()? })
    }
}

/// Runs `call` on a thread, and hands what it answers to `deliver` there.
pub(super) fn run<T: 'static>(
    permit: Permit,
    call: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
    deliver: impl FnOnce(Result<T, ErrorData>) + Clone + Send + 'static,
) {
    let not_started = deliver.clone();
    let started = spawn("long call", move || {
        let answered = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
            tracing::error!("a long call ended abnormally");
            Err(error_data(&Error::internal("a handler ended abnormally")))
        });
        drop(permit);
        deliver(answered);
    });
    if let Err(error) = started {
        not_started(Err(error_data(&error)));
    }
}
