//! Ends statements whose deadline has passed.
//!
//! A statement runs in the server, and its caller blocks until the answer comes. So one thread of this process watches all
//! connections that have a deadline, and asks the server to cancel a statement that runs too long. If the server does not
//! cancel it, the connection is dropped.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_postgres::{CancelToken, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::client::Client;

/// How often the watching thread checks the running statements.
const LOOK: Duration = Duration::from_millis(25);

/// How long a server may take to cancel a statement.
const CANCELLING: Duration = Duration::from_secs(1);

/// A connection with a deadline, for the thread that watches it.
pub(super) struct Watched {
    state: Mutex<State>,
    /// Notified when a request to cancel has ended.
    asked: Condvar,
    tls: Option<MakeRustlsConnect>,
}

struct State {
    is_running: bool,
    token: CancelToken,
    given_up: Arc<Notify>,
    /// When the server was first asked to cancel the running statement.
    cancelled_at: Option<Instant>,
    /// Whether a request to cancel is under way. The statement counts as running until the request has ended.
    /// Otherwise the request could cancel the next statement.
    is_asking: bool,
    has_passed: Box<dyn FnMut() -> bool + Send>,
}

/// Marks a statement as running until dropped.
pub(super) struct Running(Arc<Watched>);

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.state();
        while state.is_asking {
            state = self.0.asked.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_running = false;
        drop(state);
        all().running -= 1;
    }
}

/// All connections with a deadline.
struct All {
    watched: Vec<Weak<Watched>>,
    /// How many of these connections are running a statement.
    running: usize,
    /// Whether the thread sleeps until a statement begins.
    is_asleep: bool,
}

static ALL: Mutex<All> = Mutex::new(All { watched: Vec::new(), running: 0, is_asleep: false });

/// Wakes the thread when a statement begins.
static BEGUN: Condvar = Condvar::new();

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    /// Watches a connection: a statement ends once `has_passed` returns true.
    pub(super) fn new(
        client: &Client,
        tls: Option<MakeRustlsConnect>,
        has_passed: Box<dyn FnMut() -> bool + Send>,
    ) -> Arc<Self> {
        let (token, given_up) = (client.cancel_token(), client.given_up());
        let state = State { is_running: false, token, given_up, cancelled_at: None, is_asking: false, has_passed };
        let watched = Arc::new(Self { state: Mutex::new(state), asked: Condvar::new(), tls });
        all().watched.push(Arc::downgrade(&watched));
        static STARTED: Once = Once::new();
        STARTED.call_once(|| drop(std::thread::spawn(look_after_all)));
        watched
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a statement as running while the returned guard lives.
    pub(super) fn running(self: &Arc<Self>) -> Running {
        {
            let mut state = self.state();
            (state.is_running, state.cancelled_at) = (true, None);
        }
        let mut all = all();
        all.running += 1;
        if std::mem::take(&mut all.is_asleep) {
            BEGUN.notify_one();
        }
        Running(Arc::clone(self))
    }

    /// Replaces the connection that is watched.
    pub(super) fn set_client(&self, client: &Client) {
        let mut state = self.state();
        (state.token, state.given_up) = (client.cancel_token(), client.given_up());
    }

    /// Ends the running statement if its time has passed: cancels it, and drops the connection if it keeps running.
    fn look(self: &Arc<Self>) {
        let mut state = self.state();
        if !state.is_running || !(state.has_passed)() {
            return;
        }
        if state.cancelled_at.get_or_insert_with(Instant::now).elapsed() >= CANCELLING {
            // Wake only a call that is waiting now: a stored permit would end a later statement. The next check
            // catches a call that has not begun to wait yet.
            state.given_up.notify_waiters();
        } else if !state.is_asking {
            state.is_asking = true;
            tokio::spawn(Arc::clone(self).cancel(state.token.clone()));
        }
    }

    async fn cancel(self: Arc<Self>, token: CancelToken) {
        let cancelling = async {
            match &self.tls {
                Some(tls) => token.cancel_query(tls.clone()).await,
                None => token.cancel_query(NoTls).await,
            }
        };
        match tokio::time::timeout(CANCELLING, cancelling).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a statement could not be cancelled"),
            Err(_) => tracing::warn!("the server does not accept a request to cancel a statement"),
        }
        self.state().is_asking = false;
        self.asked.notify_all();
    }
}

fn look_after_all() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system gives an event queue");
    let _entered = runtime.enter();
    loop {
        // Requests to cancel run on the same runtime while this thread sleeps.
        runtime.block_on(tokio::time::sleep(LOOK));
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Starts a fake server that accepts every connection and answers every statement.
    fn agreeable() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (signed_in, ready) = (b"R\0\0\0\x08\0\0\0\0", b"Z\0\0\0\x05I");
            let mut answer = [&signed_in[..], ready].concat();
            while stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0) && stream.write_all(&answer).is_ok() {
                answer = [&b"C\0\0\0\x08SET\0"[..], ready].concat();
            }
        });
        port
    }

    #[test]
    fn a_statement_that_ended_while_it_was_cancelled_leaves_later_ones_alone() {
        let config = format!("host=127.0.0.1 port={} user=me", agreeable()).parse().unwrap();
        let second = Duration::from_secs(1);
        let mut client = Client::connect(&config, None, second * 10, second * 10).ok().unwrap();
        let watched = Watched::new(&client, None, Box::new(|| true));
        let running = watched.running();
        watched.state().cancelled_at = Instant::now().checked_sub(CANCELLING);
        // The answer has arrived, so nothing waits for the server any more.
        watched.look();
        drop(running);
        client.batch_execute("SET x = 1").unwrap();
        assert!(!client.is_closed());
    }
}
