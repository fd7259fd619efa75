//! Writes messages to one client.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// The maximum number of queued bytes before rmcp has to wait. A single longer line is accepted.
const QUEUED: u32 = 4 << 20;

/// The output to one client: standard output with a lock, or a stream. The thread that reads the input writes its
/// answers directly; all other lines go through a bounded queue.
pub(crate) struct Output {
    /// Locked while whole lines are written. `None` if everything goes through the queue.
    stdout: Option<Mutex<Box<dyn Write + Send>>>,
    closed: AtomicBool,
    queue: Mutex<Option<mpsc::UnboundedSender<Queued>>>,
    /// One permit for each byte that may be queued.
    room: Arc<Semaphore>,
}

/// A line, and its space in the queue.
pub(super) type Queued = (Vec<u8>, Option<OwnedSemaphorePermit>);

impl Output {
    /// Creates an output to standard output.
    pub(super) fn stdout() -> (Arc<Self>, mpsc::UnboundedReceiver<Queued>) {
        Self::new(Some(Mutex::new(unbuffered())))
    }

    /// Creates an output to a stream, which gets its lines from the receiver.
    pub(super) fn stream() -> (Arc<Self>, mpsc::UnboundedReceiver<Queued>) {
        Self::new(None)
    }

    fn new(stdout: Option<Mutex<Box<dyn Write + Send>>>) -> (Arc<Self>, mpsc::UnboundedReceiver<Queued>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let output = Self {
            stdout,
            closed: AtomicBool::new(false),
            queue: Mutex::new(Some(sender)),
            room: Arc::new(Semaphore::new(QUEUED as usize)),
        };
        (Arc::new(output), receiver)
    }

    /// Writes whole lines, given in parts. Returns whether the client still accepts them. A closed pipe is not an error
    /// of the server.
    pub(crate) fn write(&self, parts: &[&[u8]]) -> bool {
        let Some(stdout) = &self.stdout else {
            // A synchronous write cannot wait for space. It takes what is free, up to the size of the line, so that
            // later messages wait.
            let line = parts.concat();
            let free = u32::try_from(self.room.available_permits()).unwrap_or(QUEUED);
            let taken = u32::try_from(line.len()).unwrap_or(QUEUED).min(free);
            let room = Arc::clone(&self.room).try_acquire_many_owned(taken).ok();
            return self.push(line, room);
        };
        let mut stdout = stdout.lock().unwrap_or_else(PoisonError::into_inner);
        if self.closed.load(Ordering::Relaxed) {
            return false;
        }
        let written = parts.iter().try_for_each(|part| stdout.write_all(part)).and_then(|()| stdout.flush());
        if let Err(error) = written {
            self.closed.store(true, Ordering::Relaxed);
            tracing::info!(%error, "the client no longer reads responses");
            return false;
        }
        true
    }

    /// Returns whether the client accepts answers, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Relaxed)
    }

    /// Queues a line. Waits while the queue is full.
    pub(crate) async fn queue(&self, line: Vec<u8>) -> io::Result<()> {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let bytes = u32::try_from(line.len()).unwrap_or(QUEUED).min(QUEUED);
        let room = Arc::clone(&self.room).acquire_many_owned(bytes).await.map_err(|_| closed())?;
        if self.push(line, Some(room)) { Ok(()) } else { Err(closed()) }
    }

    /// Waits until the queue has space.
    pub(super) async fn has_room(&self) {
        drop(self.room.acquire().await);
    }

    /// Queues a line without waiting for space, for the few lines that are sent while a lock is held.
    pub(crate) fn queue_at_once(&self, line: Vec<u8>) {
        self.push(line, None);
    }

    fn push(&self, line: Vec<u8>, room: Option<OwnedSemaphorePermit>) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.as_ref().is_some_and(|queue| queue.send((line, room)).is_ok())
    }

    /// Closes the queue. Lines that are already queued are still written.
    pub(super) fn finish(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Returns standard output without the buffer of the standard library. To find the last line end, that buffer searches
/// everything that is written. For a large answer, the search takes as long as the write.
fn unbuffered() -> Box<dyn Write + Send> {
    match mcpkg_base::platform::stdout_file() {
        Ok(file) => Box::new(file),
        Err(_) => Box::new(io::stdout()),
    }
}
