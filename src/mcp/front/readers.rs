//! Threads that read for many clients at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::mcp::limits::reads_at_once;
use crate::mcp::thread::spawn;
use crate::store::{Reader, Store};

type Job = Box<dyn FnOnce(&Reader) + Send>;

/// They end, and are waited for, when this is dropped.
pub(super) struct Readers {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// # Errors
    /// `E_DB_UNAVAILABLE` and how the disk failed.
    pub(super) fn new(store: &Store) -> Result<Self> {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let thread = |_| {
            let (queue, reader) = (Arc::clone(&queue), store.slim_reader()?);
            spawn("reads", move || work(&queue, &reader))
        };
        let threads = (0..reads_at_once()).map(thread).collect::<Result<_>>()?;
        Ok(Self { jobs: Some(jobs), threads })
    }

    /// Runs `f` on the next thread that is free.
    ///
    /// # Errors
    /// What `f` returns.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            // Nobody waits any more for what nobody has begun.
            if !done.is_closed() {
                let _ = done.send(f(reader));
            }
        });
        if let Some(jobs) = &self.jobs {
            // All threads ended: then nobody holds the other end of the answer either.
            let _ = jobs.send(job);
        }
        result.await.unwrap_or_else(|error| Err(Error::internal("a read ended abnormally").with_source(error)))
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        drop(self.jobs.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(queue: &Mutex<Receiver<Job>>, reader: &Reader) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        // A job that panics has dropped its answer; the thread goes on.
        let _ = catch_unwind(AssertUnwindSafe(|| job(reader)));
    }
}
