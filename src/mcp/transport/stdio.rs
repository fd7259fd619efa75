//! stdio: a thread that reads and answers, rmcp on a runtime of one thread, one lock on the output.
//!
//! The reading thread writes what it answers itself; what rmcp answers is queued, bounded, for a writing thread.
//! Nobody else writes to standard output. A client that stops reading stops both, and nothing else.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use rmcp::ServiceExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::lines::{Cut, Lines};
use crate::error::{Code, Error, Result};
use crate::mcp::Config;
use crate::mcp::front::{Flights, Front};
use crate::mcp::server::Server;
use crate::store::{Serving, Store};

/// Bytes that wait to be written before rmcp has to wait; one longer line may.
const QUEUED: u32 = 4 << 20;

/// Bytes read at once.
const READ: usize = 64 << 10;

/// Answers are written out when so many bytes of them wait.
const WRITE: usize = 64 << 10;

/// How long a signal waits for what was accepted.
const GRACE: Duration = Duration::from_secs(5);

/// Serves `store` on standard input and output until the input ends or a signal comes; every request accepted until
/// then is answered.
///
/// # Errors
/// How the database failed at the start.
pub fn serve_stdio(store: Store, config: Config) -> Result<()> {
    let _serving = match Serving::announce(store.path()) {
        Ok(serving) => Some(serving),
        Err(error) if error.code() == Code::Busy => return Err(error),
        Err(error) => {
            // On a read-only disk nobody can restore over it either.
            tracing::warn!(%error, "this server cannot announce itself");
            None
        }
    };
    let reader = store.reader()?;
    let max_line = usize::try_from(config.max_line).unwrap_or(usize::MAX);
    let server = Server::new(store.clone(), config);
    let hub = Arc::clone(&server.hub);
    let (output, mut queued) = Output::new();
    let (flights, transport) = Flights::new(Arc::clone(&output));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(8)
        .build()
        .map_err(|error| Error::internal("the runtime could not be started").with_source(error))?;

    let writing = {
        let output = Arc::clone(&output);
        let flights = Arc::clone(&flights);
        spawn("write", move || {
            while let Some((line, _room)) = queued.blocking_recv() {
                if !output.write(&[&line]) {
                    flights.abandon();
                }
            }
        })?
    };
    spawn("watch", {
        let hub = Arc::clone(&hub);
        let store = store.clone();
        move || hub.watch(&store)
    })?;

    // Held by the reading thread while it works on what it read; whoever takes it stops the input.
    let input = Arc::new(Mutex::new(()));
    on_signal({
        let (input, hub, flights) = (Arc::clone(&input), Arc::clone(&hub), Arc::clone(&flights));
        move || {
            let deadline = Instant::now() + GRACE;
            let stopped = stop_input(&input, deadline);
            hub.close();
            flights.close(Some(deadline));
            // The input stays stopped: the reading thread must not take one more line.
            std::mem::forget(stopped);
            // By now the process ends, unless its client reads nothing: then what it does not read goes with it.
            thread::sleep(deadline.saturating_duration_since(Instant::now()));
            tracing::warn!("the client did not take all answers");
            #[allow(clippy::disallowed_methods, reason = "a signal's deadline ends the process")]
            std::process::exit(1);
        }
    })?;

    spawn("read", {
        let front = Front::new(server.clone(), reader, Arc::clone(&flights));
        let hub = Arc::clone(&hub);
        move || {
            // A panic in the front must end the server, not leave a client waiting.
            let read = std::panic::AssertUnwindSafe(|| read_lines(io::stdin().lock(), front, max_line, &input));
            let ended = std::panic::catch_unwind(read);
            hub.close();
            match ended {
                Ok(true) => flights.close(None),
                Ok(false) | Err(_) => flights.abandon(),
            }
        }
    })?;

    runtime.block_on(async {
        match server.serve(transport).await {
            Ok(running) => {
                if let Err(error) = running.waiting().await {
                    tracing::error!(%error, "the protocol engine ended abnormally");
                }
            }
            // The input ended before a session began: nothing is wrong with that.
            Err(error) => tracing::info!(%error, "no session began"),
        }
    });
    // Handlers that still run end first; then nothing can be queued any more, and what is queued is written.
    drop(runtime);
    output.finish();
    let _ = writing.join();
    store.settle();
    Ok(())
}

fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(f)
        .map_err(|error| Error::internal(format!("the thread `{name}` could not be started")).with_source(error))
}

/// Reads lines until the end of the input; returns false where the client stopped taking answers.
fn read_lines(mut input: impl Read, mut front: Front, max_line: usize, working: &Mutex<()>) -> bool {
    let mut lines = Lines::new(max_line);
    let mut piece = vec![0; READ];
    let take = |front: &mut Front, cut: Cut<'_>| {
        match cut {
            Cut::Line(line) => front.line(line),
            Cut::TooLong { head } => front.too_long(head, max_line),
        }
        if front.out.len() >= WRITE {
            front.write_out();
        }
    };
    loop {
        let read = match input.read(&mut piece) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::warn!(%error, "standard input failed");
                0
            }
        };
        let _working = working.lock().unwrap_or_else(PoisonError::into_inner);
        if read == 0 {
            lines.finish(|cut| take(&mut front, cut));
            return front.write_out();
        }
        lines.feed(&piece[..read], |cut| take(&mut front, cut));
        if !front.write_out() {
            return false;
        }
    }
}

/// Takes the lock that the reading thread works under, so that it takes no further line.
fn stop_input(input: &Mutex<()>, deadline: Instant) -> Option<std::sync::MutexGuard<'_, ()>> {
    loop {
        match input.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Runs `stop` on the first signal that asks to end; a second one ends the process at once.
#[cfg(unix)]
fn on_signal(stop: impl FnOnce() + Send + 'static) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let failed = |error: io::Error| Error::internal("signals cannot be handled").with_source(error);
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&again)).map_err(failed)?;
        signal_hook::flag::register(signal, Arc::clone(&again)).map_err(failed)?;
    }
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
    spawn("signals", move || {
        if signals.forever().next().is_some() {
            stop();
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
fn on_signal(_stop: impl FnOnce() + Send + 'static) -> Result<()> {
    Ok(())
}

/// Standard output: one lock, and a bounded queue for what does not come from the reading thread.
pub(crate) struct Output {
    /// Locked while a whole number of lines is written.
    writing: Mutex<()>,
    closed: AtomicBool,
    queue: Mutex<Option<mpsc::UnboundedSender<Queued>>>,
    /// A permit for each byte that may be queued.
    room: Arc<Semaphore>,
}

/// A line with the room it takes in the queue.
type Queued = (Vec<u8>, Option<OwnedSemaphorePermit>);

impl Output {
    fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Queued>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let output = Self {
            writing: Mutex::new(()),
            closed: AtomicBool::new(false),
            queue: Mutex::new(Some(sender)),
            room: Arc::new(Semaphore::new(QUEUED as usize)),
        };
        (Arc::new(output), receiver)
    }

    /// Writes whole lines, in parts; returns whether the client still takes them. A closed pipe is no failure of ours.
    pub(crate) fn write(&self, parts: &[&[u8]]) -> bool {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.closed.load(Ordering::Relaxed) {
            return false;
        }
        let mut stdout = io::stdout().lock();
        let written = parts.iter().try_for_each(|part| stdout.write_all(part)).and_then(|()| stdout.flush());
        if let Err(error) = written {
            self.closed.store(true, Ordering::Relaxed);
            tracing::info!(%error, "the client takes no more answers");
            return false;
        }
        true
    }

    /// Whether the client takes answers, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Relaxed)
    }

    /// Queues a line for the writing thread; waits while too much waits.
    pub(crate) async fn queue(&self, line: Vec<u8>) -> io::Result<()> {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let bytes = u32::try_from(line.len()).unwrap_or(QUEUED).min(QUEUED);
        let room = Arc::clone(&self.room).acquire_many_owned(bytes).await.map_err(|_| closed())?;
        if self.push(line, Some(room)) { Ok(()) } else { Err(closed()) }
    }

    /// Queues a line that cannot wait; there are few of them.
    pub(crate) fn queue_at_once(&self, line: Vec<u8>) {
        self.push(line, None);
    }

    fn push(&self, line: Vec<u8>, room: Option<OwnedSemaphorePermit>) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.as_ref().is_some_and(|queue| queue.send((line, room)).is_ok())
    }

    /// Ends the queue; the writing thread ends when it is empty.
    fn finish(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
