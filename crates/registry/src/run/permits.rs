//! Limits how many tools run at the same time: one per processor, but at least 2 and at most 8. Further runs wait.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::process::OnCancel;

/// The maximum number of runs that can wait.
const MOST_WAITING: usize = 64;

/// The permits of all runs that may be active at the same time.
#[derive(Debug)]
pub struct Permits {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    free: usize,
    waiting: usize,
}

/// The permit of one run; dropping it lets another run start.
#[derive(Debug)]
pub struct Permit(Arc<Permits>);

impl Permits {
    /// Returns one permit per processor, at least 2 and at most 8.
    pub fn of_machine() -> Arc<Self> {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self::new(processors.clamp(2, 8))
    }

    fn new(free: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { free, waiting: 0 }), changed: Condvar::new() })
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// `E_TOOL_LIMIT` if too many runs are already waiting; `E_CANCELLED` if the call is cancelled.
    pub fn wait(self: &Arc<Self>, cancelled: &CancellationToken) -> Result<Permit> {
        let waking = Arc::clone(self);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.free == 0 && state.waiting >= MOST_WAITING {
            return Err(Error::new(Code::ToolLimit, format!("{MOST_WAITING} tool runs are already waiting"))
                .with_details(serde_json::json!({ "limit": "waiting" }))
                .hint("try again after other runs have finished"));
        }
        drop(state);
        // The lock is released first: if the token is already cancelled, the callback runs on this thread and takes
        // the lock itself.
        let _waking = OnCancel::new(cancelled, move || {
            let _state = waking.state.lock().unwrap_or_else(PoisonError::into_inner);
            waking.changed.notify_all();
        });
        state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting += 1;
        while state.free == 0 && !cancelled.is_cancelled() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        if cancelled.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "Cancelled before the tool started"));
        }
        state.free -= 1;
        Ok(Permit(Arc::clone(self)))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).free += 1;
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_run_waits_for_its_permit_and_gives_it_on() {
        let permits = Permits::new(1);
        let token = CancellationToken::new();
        let first = permits.wait(&token).expect("a permit");
        thread::scope(|scope| {
            let second = scope.spawn(|| permits.wait(&token).map(drop));
            while permits.state.lock().expect("a lock").waiting == 0 {
                thread::yield_now();
            }
            drop(first);
            second.join().expect("no panic").expect("a permit");
        });
        assert_eq!(permits.state.lock().expect("a lock").free, 1);
    }

    #[test]
    fn a_run_that_waits_can_be_cancelled_and_too_many_are_refused() {
        let permits = Permits::new(1);
        let (kept, cancelled) = (CancellationToken::new(), CancellationToken::new());
        let first = permits.wait(&kept).expect("a permit");
        thread::scope(|scope| {
            let waiting: Vec<_> =
                (0..MOST_WAITING).map(|_| scope.spawn(|| permits.wait(&cancelled).map(drop))).collect();
            while permits.state.lock().expect("a lock").waiting < MOST_WAITING {
                thread::yield_now();
            }
            assert_eq!(permits.wait(&kept).expect_err("too many").code(), Code::ToolLimit);
            cancelled.cancel();
            for waiting in waiting {
                assert_eq!(waiting.join().expect("no panic").expect_err("cancelled").code(), Code::Cancelled);
            }
        });
        drop(first);
        assert!(permits.wait(&kept).is_ok());
        assert_eq!(permits.wait(&cancelled).expect_err("cancelled").code(), Code::Cancelled);
    }
}
