//! Runs calls that may take minutes on their own threads, so that other calls do not wait for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rmcp::ErrorData;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::asker::{Asker, AskerLimit};
use super::error::error_data;
use super::transport::spawn;
use mcpkg_base::error::Error;

/// The maximum number of threads for long calls. They mostly wait for other hosts.
const MAX_CALLS: usize = 32;

/// The maximum number of long calls of one requester.
const MAX_FOR_ASKER: usize = 24;

/// The maximum number of long calls of one requester to the same tool. Further calls of this tool wait, but calls of
/// other tools do not. For example, a gate's status can be read while many model tests run.
const MAX_FOR_TOOL: usize = 8;

/// The limits on long calls. Each call has a thread, so they also limit the threads.
pub(super) struct LongCalls {
    all: Arc<Semaphore>,
    askers: AskerLimit,
    tools: AskerLimit<(Asker, String)>,
}

/// The right to use a thread.
pub(super) struct Permit {
    _tool: OwnedSemaphorePermit,
    _asker: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for LongCalls {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_CALLS)),
            askers: AskerLimit::new(MAX_FOR_ASKER),
            tools: AskerLimit::new(MAX_FOR_TOOL),
        }
    }
}

impl LongCalls {
    /// Returns a permit for a call of a tool, or `None` if a limit is reached.
    pub(super) fn try_take(&self, asker: &Asker, tool: &str) -> Option<Permit> {
        let of_tool = self.tools.try_take(&(asker.clone(), tool.to_owned()))?;
        let of_asker = self.askers.try_take(asker)?;
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Permit { _tool: of_tool, _asker: of_asker, _all: all })
    }

    /// Waits for a permit for a call of a tool. While a call waits for other calls of its tool, it holds no other
    /// permit.
    pub(super) async fn take(&self, asker: &Asker, tool: &str) -> Option<Permit> {
        let of_tool = self.tools.take(&(asker.clone(), tool.to_owned())).await?;
        let of_asker = self.askers.take(asker).await?;
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Permit { _tool: of_tool, _asker: of_asker, _all: all })
    }
}

/// Runs `call` on a new thread, where `deliver` gets its result. If the thread cannot be started, `deliver` gets the
/// error on the caller's thread.
pub(super) fn run<T: 'static>(
    permit: Permit,
    call: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
    deliver: impl FnOnce(Result<T, ErrorData>) + Clone + Send + 'static,
) {
    let not_started = deliver.clone();
    let started = spawn("long call", move || {
        let answered = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
            tracing::error!("a long call crashed");
            Err(error_data(&Error::internal("a handler crashed")))
        });
        drop(permit);
        deliver(answered);
    });
    if let Err(error) = started {
        not_started(Err(error_data(&error)));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_call_waits_only_for_its_requesters_calls_of_the_same_tool() {
        let (calls, asker) = (LongCalls::default(), Asker::named("a"));
        let running: Vec<Permit> = (0..MAX_FOR_TOOL).filter_map(|_| calls.try_take(&asker, "test")).collect();
        assert_eq!(running.len(), MAX_FOR_TOOL);
        let waiting = calls.take(&asker, "test");
        assert!(waiting.now_or_never().is_none());
        assert!(calls.try_take(&asker, "status").is_some());
        assert!(calls.try_take(&Asker::named("b"), "test").is_some());
        drop(running);
        assert!(calls.take(&asker, "test").now_or_never().flatten().is_some());
    }
}
