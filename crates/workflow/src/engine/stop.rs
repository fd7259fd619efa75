//! What ends the work on a run before its end: somebody pauses or cancels it from any process, or this process ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::live;
use mcpkg_core::op::Context;
use mcpkg_store::runs::{self, Wanted};

/// The time between two looks at what is wanted of a run.
const LOOK: Duration = Duration::from_millis(200);

/// How long an attempt under way may go on once its process ends.
const GRACE: Duration = Duration::from_secs(5);

/// What ends the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Somebody paused the run.
    Pause,
    Cancel,
    /// This process ends, or the person at its terminal gave up.
    End,
}

/// What ends the work on one run, as its watcher sees it.
#[derive(Debug, Default)]
pub struct Stop {
    state: Mutex<State>,
    changed: Condvar,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    signal: Option<Signal>,
    /// Since when the process ends.
    ending_since: Option<Instant>,
    /// What cuts the attempt under way, and whether a pause does.
    attempt: Option<(CancellationToken, bool)>,
}

impl Stop {
    /// Works on a run while a thread watches what is wanted of it.
    pub fn watched<T>(&self, context: &Context, run: i64, work: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            // Without a thread a run goes on as well; it is stopped between its steps then.
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

    /// Returns what ends the work, where something does; looks at the database itself.
    pub fn signal(&self, context: &Context, run: i64) -> Option<Signal> {
        self.look(context, run);
        self.state().signal
    }

    /// Returns what cancels an attempt that begins; a pause does where it may be sent again.
    pub fn begin_attempt(&self, may_repeat: bool) -> CancellationToken {
        let token = CancellationToken::new();
        self.state().attempt = Some((token.clone(), may_repeat));
        token
    }

    /// Says that the attempt ended; returns what cut it, where something did.
    pub fn end_attempt(&self) -> Option<Signal> {
        let mut state = self.state();
        let cut = state.attempt.take().is_some_and(|(token, _)| token.is_cancelled());
        state.signal.filter(|_| cut)
    }

    /// Waits for so long; returns what ended the wait, where something did.
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
        // The work itself reports a database that is busy or broken.
        let wanted = context.store.hasty().read(|db| runs::wanted(db, run)).ok().flatten();
        let mut state = self.state();
        if context.is_cancelled() || live::is_ending() {
            let since = *state.ending_since.get_or_insert_with(Instant::now);
            state.signal = state.signal.or(Some(Signal::End));
            // At a terminal nobody waits for the rest of what they gave up.
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
    /// Cuts the attempt under way; one that may not be sent again only where `any` says so.
    fn cut(&self, any: bool) {
        if let Some((token, may_repeat)) = &self.attempt
            && (any || *may_repeat)
        {
            token.cancel();
        }
    }
}

/// Ends the watcher, also where the work ends by a panic.
struct Over<'a>(&'a Stop);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let guard = self.0.state();
        self.0.is_over.store(true, Ordering::Release);
        drop(guard);
        self.0.changed.notify_all();
    }
}
