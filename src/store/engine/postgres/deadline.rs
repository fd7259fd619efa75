//! Ends statements whose deadline has passed.
//!
//! A statement runs in the server, and whoever asked waits for its answer. So one thread of this process looks after all
//! connections that have a deadline, and has the server cancel what runs too long.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::Duration;

use postgres::{CancelToken, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Time between two looks at what runs.
const LOOK: Duration = Duration::from_millis(25);

/// A connection with a deadline.
pub(super) struct Watched {
    state: Mutex<State>,
    tls: Option<MakeRustlsConnect>,
}

struct State {
    is_running: bool,
    token: CancelToken,
    has_passed: Box<dyn FnMut() -> bool + Send>,
}

/// Says that a statement runs, until it is dropped.
pub(super) struct Running(Arc<Watched>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.state().is_running = false;
        all().running -= 1;
    }
}

/// All connections with a deadline.
struct All {
    watched: Vec<Weak<Watched>>,
    /// How many of them run a statement.
    running: usize,
    /// Whether the thread sleeps until one does.
    is_asleep: bool,
}

static ALL: Mutex<All> = Mutex::new(All { watched: Vec::new(), running: 0, is_asleep: false });

/// Wakes the thread when a statement begins.
static BEGUN: Condvar = Condvar::new();

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    /// Returns the watch of a connection that `token` cancels, which ends what runs when `has_passed` says so.
    pub(super) fn new(
        token: CancelToken,
        tls: Option<MakeRustlsConnect>,
        has_passed: Box<dyn FnMut() -> bool + Send>,
    ) -> Arc<Self> {
        let watched = Arc::new(Self { state: Mutex::new(State { is_running: false, token, has_passed }), tls });
        all().watched.push(Arc::downgrade(&watched));
        static STARTED: Once = Once::new();
        STARTED.call_once(|| drop(std::thread::spawn(look_after_all)));
        watched
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that a statement runs while what is returned lives.
    pub(super) fn running(self: &Arc<Self>) -> Running {
        self.state().is_running = true;
        let mut all = all();
        all.running += 1;
        if std::mem::take(&mut all.is_asleep) {
            BEGUN.notify_one();
        }
        Running(Arc::clone(self))
    }

    /// Says that the connection is another one now.
    pub(super) fn set_token(&self, token: CancelToken) {
        self.state().token = token;
    }

    /// Cancels what runs where its time has passed. Held meanwhile, the state shows that it runs still.
    fn look(&self) {
        let mut state = self.state();
        if state.is_running && (state.has_passed)() {
            let cancelled = match &self.tls {
                Some(tls) => state.token.cancel_query(tls.clone()),
                None => state.token.cancel_query(NoTls),
            };
            if let Err(error) = cancelled {
                tracing::warn!(%error, "a statement could not be cancelled");
            }
        }
    }
}

fn look_after_all() {
    loop {
        std::thread::sleep(LOOK);
        let mut all = all();
        while all.running == 0 {
            all.is_asleep = true;
            all = BEGUN.wait(all).unwrap_or_else(PoisonError::into_inner);
        }
        all.watched.retain(|watched| watched.strong_count() > 0);
        let alive: Vec<Arc<Watched>> = all.watched.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        alive.iter().for_each(|watched| watched.look());
    }
}
