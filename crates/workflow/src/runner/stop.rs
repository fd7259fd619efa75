//! Stops carrying out a run when somebody requests a pause or a cancellation, or when this process ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::live;
use mcpkg_core::op::Context;
use mcpkg_store::runs::{self, Wanted};

/// Interval at which the watcher checks whether a stop was requested.
const LOOK: Duration = Duration::from_millis(200);

/// How long an attempt may continue after its process began to end.
const GRACE: Duration = Duration::from_secs(5);

/// The reason why the work stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Pause,
    Cancel,
    /// The process is ending, or the person at its terminal interrupted it.
    End,
}

/// Watches one run for signals to stop.
#[derive(Debug, Default)]
pub struct Stop {
    state: Mutex<State>,
    changed: Condvar,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    signal: Option<Signal>,
    /// When the process began to end.
    ending_since: Option<Instant>,
    /// The token that cancels the attempt under way, and whether a pause may use it.
    attempt: Option<(CancellationToken, bool)>,
}

impl Stop {
    /// Calls `work` while a thread watches for signals.
    pub fn watched<T>(&self, context: &Context, run: i64, work: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            // Without the thread, the run can only be stopped between its steps.
            let watcher =
                thread::Builder::new().name("run-watch".to_owned()).spawn_scoped(scope, || self.watch(context, run));
            if let Err(error) = watcher {
                tracing::warn!(%error, "a run is not watched while a step is under way");
            }
            let over = Over(self);
            let done = work();
            drop(over);
            done
        })
    }

    /// Returns the current signal, after checking the database.
    pub fn signal(&self, context: &Context, run: i64) -> Option<Signal> {
        self.look(context, run);
        self.state().signal
    }

    /// Returns the token that cancels an attempt. A pause uses it only if the command may be sent again.
    pub fn begin_attempt(&self, may_repeat: bool) -> CancellationToken {
        let token = CancellationToken::new();
        self.state().attempt = Some((token.clone(), may_repeat));
        token
    }

    /// Ends the attempt. Returns the signal that interrupted it, if any.
    pub fn end_attempt(&self) -> Option<Signal> {
        let mut state = self.state();
        let cut = state.attempt.take().is_some_and(|(token, _)| token.is_cancelled());
        state.signal.filter(|_| cut)
    }

    /// Sleeps. Returns the signal that ended the sleep early, if any.
    pub fn sleep(&self, time: Duration) -> Option<Signal> {
        let until = Instant::now() + time;
        let mut state = self.state();
        while state.signal.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.signal
    }

    fn watch(&self, context: &Context, run: i64) {
        loop {
            let state = self.state();
            if !self.is_over.load(Ordering::Acquire) {
                drop(self.changed.wait_timeout(state, LOOK));
            }
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            self.look(context, run);
        }
    }

    fn look(&self, context: &Context, run: i64) {
        // Ignore database errors here: they are reported where the run writes its progress.
        let wanted = context.store.hasty().read(|db| runs::wanted(db, run)).ok().flatten();
        let mut state = self.state();
        if context.is_cancelled() || live::is_ending() {
            let since = *state.ending_since.get_or_insert_with(Instant::now);
            state.signal = state.signal.or(Some(Signal::End));
            // There is no grace period if a person interrupted the run at a terminal.
            if context.is_cancelled() || since.elapsed() >= GRACE {
                state.cut(true);
            }
        }
        match wanted {
            Some(Wanted::Cancel) => {
                state.signal = Some(Signal::Cancel);
                state.cut(true);
            }
            Some(Wanted::Pause) => {
                state.signal = state.signal.or(Some(Signal::Pause));
                state.cut(false);
            }
            None => {}
        }
        if state.signal.is_some() {
            self.changed.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Cancels the attempt under way. Unless `any` is set, it is cancelled only if its command may be sent again.
    fn cut(&self, any: bool) {
        if let Some((token, may_repeat)) = &self.attempt
            && (any || *may_repeat)
        {
            token.cancel();
        }
    }
}

/// Ends the watcher when dropped, so that it also ends if the work panics.
struct Over<'a>(&'a Stop);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let guard = self.0.state();
        self.0.is_over.store(true, Ordering::Release);
        drop(guard);
        self.0.changed.notify_all();
    }
}
