//! Serves MCP over standard input and output.
//!
//! One thread reads lines, and writes the answers of mcpkg's fast path ([`Front`]). rmcp runs on its own runtime. Its
//! answer to `initialize` is written at once. Its other answers go through a bounded queue to a second thread, which
//! writes them. A lock protects the output. If the client stops reading, only threads that write to it are blocked.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use rmcp::ServiceExt;
use tokio_util::sync::CancellationToken;

use super::lines::{Cut, Lines};
use super::on_signal;
use super::{GIVE_UP, GRACE, announce};
use crate::mcp::Config;
use crate::mcp::front::Front;
use crate::mcp::in_flight::RmcpTransport;
use crate::mcp::limits::limited;
use crate::mcp::output::Output;
use crate::mcp::server::Server;
use crate::mcp::transport::spawn;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::Connection;
use mcpkg_store::Store;

/// The number of bytes to read at once.
const READ: usize = 64 << 10;

/// After a signal, unfinished tasks are marked as failed this long before the process has to end.
const WRITTEN: Duration = Duration::from_millis(500);

/// Pending answers are written out when they reach this size in bytes.
const WRITE: usize = 64 << 10;

/// Serves `store` on standard input and output until the input ends or a signal arrives. The server still answers the
/// requests that it accepted before that. After a signal, it cancels calls that take too long.
pub fn serve_stdio(store: Store, config: Config) -> Result<()> {
    let _serving = announce(&store)?;
    let position = store.position()?;
    let reader = limited(&store, &config, CancellationToken::new()).reader()?;
    let max_line = usize::try_from(config.max_line).unwrap_or(usize::MAX);
    let mut config = Config { connection: Connection::Stdio, ..config };
    config.session = config.installs_for_sessions().then(Arc::default);
    let server = Server::new(store.clone(), config)?;
    let hub = Arc::clone(&server.hub);
    let (output, mut queued) = Output::stdout();
    let (transport, in_flight) = RmcpTransport::new(Arc::clone(&output));
    // For a database file, one thread is enough. With a database server, tasks block while they wait for it
    // (`block_in_place`). Tokio allows that only on its multi-thread runtime, even if this has just one worker.
    let mut runtime = match store.location().file() {
        Some(_) => tokio::runtime::Builder::new_current_thread(),
        None => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime
        .worker_threads(1)
        .enable_time()
        .max_blocking_threads(8)
        .build()
        .map_err(|error| Error::internal("cannot start the runtime").with_source(error))?;

    let writing = {
        let output = Arc::clone(&output);
        let in_flight = Arc::clone(&in_flight);
        spawn("write", move || {
            while let Some((line, _room)) = queued.blocking_recv() {
                if !output.write(&[&line]) {
                    in_flight.close_now();
                }
            }
        })?
    };
    spawn("watch", {
        let hub = Arc::clone(&hub);
        move || hub.watch(position)
    })?;

    // After a signal, the time by which the process has to end.
    let signalled: Arc<OnceLock<Instant>> = Arc::default();
    // The reading thread holds this lock while it handles its input, so taking the lock stops the input.
    let input = Arc::new(Mutex::new(()));
    on_signal({
        let (input, hub, in_flight) = (Arc::clone(&input), Arc::clone(&hub), Arc::clone(&in_flight));
        let (ending, tasks, deadline) = (server.ending.clone(), Arc::clone(&server.tasks), Arc::clone(&signalled));
        move || {
            // Calls that are still running are cancelled, so that their answers come in time.
            let _ = spawn("ending", move || {
                thread::sleep(GIVE_UP);
                ending.cancel();
                tasks.give_up();
            });
            let deadline = *deadline.get_or_init(|| Instant::now() + GRACE);
            let stopped = stop_input(&input, deadline);
            hub.close();
            in_flight.close(Some(deadline));
            // Never release the lock, because the reading thread must not accept another line.
            std::mem::forget(stopped);
            // Normally the process ends before the deadline. If its client does not read, the unread answers are lost.
            thread::sleep(deadline.saturating_duration_since(Instant::now()));
            tracing::warn!("the client did not read all responses");
            #[allow(clippy::disallowed_methods, reason = "stopping: the grace period after the signal is over")]
            std::process::exit(1);
        }
    })?;

    spawn("read", {
        let front = Front::new(server.clone(), reader, Arc::clone(&in_flight));
        let hub = Arc::clone(&hub);
        let (ending, tasks) = (server.ending.clone(), Arc::clone(&server.tasks));
        move || {
            // A panic in `Front` must end the server instead of leaving a client waiting.
            let read = std::panic::AssertUnwindSafe(|| read_lines(io::stdin().lock(), front, max_line, &input));
            let ended = std::panic::catch_unwind(read);
            hub.close();
            match ended {
                Ok(true) => {
                    in_flight.close(None);
                    // A client that closes only its input still gets its answers. If it has closed the output too, its
                    // calls are cancelled.
                    if mcpkg_base::platform::wait_until_output_is_closed() {
                        ending.cancel();
                        tasks.give_up();
                    }
                }
                Ok(false) | Err(_) => in_flight.close_now(),
            }
        }
    })?;

    let (tasks, calls) = (Arc::clone(&server.tasks), server.calls.clone());
    runtime.block_on(async {
        match server.serve(transport).await {
            Ok(running) => {
                if let Err(error) = running.waiting().await {
                    tracing::error!(%error, "the protocol engine crashed");
                }
            }
            // The input ended before a session began, which is not an error.
            Err(error) => tracing::info!(%error, "no session began"),
        }
    });
    // No client waits for the answers of tasks. They get some time to end, and then they are cancelled.
    let (give_up, deadline) = match signalled.get() {
        Some(deadline) => (*deadline - GRACE + GIVE_UP, *deadline - WRITTEN),
        None => (Instant::now() + GRACE, Instant::now() + GRACE * 2),
    };
    tasks.end(give_up, deadline);
    // Running handlers end first. After that nothing can be queued any more, and the queue is written out.
    drop(runtime);
    output.finish();
    let _ = writing.join();
    if let Some(calls) = calls {
        calls.finish();
    }
    store.checkpoint();
    Ok(())
}

/// Reads lines until the end of the input. Returns false if the client stopped accepting answers.
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

/// Takes the lock of the reading thread, so that it accepts no further line. Returns `None` if the lock is not free by
/// `deadline`.
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
