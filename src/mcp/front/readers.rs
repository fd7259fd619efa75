//! Runs database reads for many clients on a pool of threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::mcp::limits::reads_at_once;
use crate::mcp::transport::spawn;
use mcpkg_base::error::{Error, Result};
use mcpkg_store::{Reader, Store};

type Job = Box<dyn FnOnce(&Reader) + Send>;

/// A pool of threads with a connection each. Dropping this value ends the threads and waits for them.
pub(super) struct Readers {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts the threads. `store` contains the time limit for a read.
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

    /// Runs `f` on the next free thread. If the returned future is dropped, because the client closed its connection,
    /// `f` does not start. If `f` is already running, its reads end with `E_TIMEOUT`.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, result) = oneshot::channel();
        let cancelled = CancellationToken::new();
        let _waiting = cancelled.clone().drop_guard();
        let job: Job = Box::new(move |reader| {
            if !done.is_closed() {
                reader.cancel_with(cancelled);
                let _ = done.send(f(reader));
            }
        });
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
        result.await.unwrap_or_else(|error| Err(Error::internal("a read crashed").with_source(error)))
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
        // A job that panics drops its answer channel, which its caller notices. The thread continues with the next job.
        let _ = catch_unwind(AssertUnwindSafe(|| job(reader)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;
    use mcpkg_base::error::Code;

    #[test]
    fn a_read_ends_when_its_client_leaves_and_the_thread_serves_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("test.db")).unwrap();
        let readers = Readers::new(&store.limited(Duration::from_secs(3600), CancellationToken::new())).unwrap();
        for _ in 0..2 * reads_at_once() {
            let (began, has_begun) = channel();
            let (ended, has_ended) = channel();
            let mut reading = Box::pin(readers.run(move |reader| {
                let _ = began.send(());
                let read: Result<()> = reader.statement(|db| {
                    loop {
                        db.check_deadline()?;
                    }
                });
                let _ = ended.send(read.as_ref().map_err(Error::code).copied());
                read
            }));
            assert!(reading.as_mut().now_or_never().is_none());
            has_begun.recv().unwrap();
            drop(reading);
            assert_eq!(has_ended.recv().unwrap(), Err(Code::Timeout));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(readers.run(|reader| reader.statement(|_| Ok(7)))).unwrap(), 7);
    }
}
