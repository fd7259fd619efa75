//! Opens the audit log of a server, queues its lines, and refuses calls while a required log cannot be written.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::line::Line;
use super::queue::{Job, State};
use super::writer::Writer;
use crate::mcp::config::Config;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::platform;
use mcpkg_base::rolling::Rolling;
use mcpkg_store::{Store, audit_logs};

/// The maximum number of lines that wait for the disk: about 4 MiB.
const MAX_QUEUED: usize = 10_000;

/// How often a call looks for space in a full queue.
const LOOK: Duration = Duration::from_millis(2);

/// The audit log of a running server, and the thread that writes it.
pub(in crate::mcp) struct CallLog {
    jobs: Sender<Job>,
    state: Arc<State>,
    required: bool,
    thread: Mutex<Option<JoinHandle<()>>>,
    place: Option<Place>,
}

/// The database record of the log's path.
struct Place {
    store: Store,
    host: String,
    path: String,
}

impl Place {
    fn is_recorded(&self) -> Result<bool> {
        Ok(self.store.read(|db| audit_logs::get(db, &self.host))?.as_ref() == Some(&self.path))
    }

    fn record(&self) -> Result<()> {
        self.store.write(|db| audit_logs::set(db, &self.host, &self.path))
    }

    fn forget(&self) -> Result<()> {
        match self.is_recorded()? {
            true => self.store.write(|db| audit_logs::remove(db, &self.host, &self.path)),
            false => Ok(()),
        }
    }
}

impl CallLog {
    /// Opens the log that the configuration names, if it names one, and starts its thread. Fails if the file cannot be
    /// opened.
    pub(in crate::mcp) fn open(store: &Store, config: &Config) -> Result<Option<Self>> {
        let Some(settings) = &config.audit_log else { return Ok(None) };
        let path = std::path::absolute(&settings.path).map_err(|error| disk::failed("open", &settings.path, error))?;
        let file = Rolling::open(&path, settings.size, settings.keep)
            .map_err(|error| disk::failed("open the audit log", &path, error))?;
        let place = platform::host().zip(path.to_str());
        let place = place.map(|(host, path)| Place { store: store.clone(), host, path: path.to_owned() });
        if let Some(place) = &place
            && !place.is_recorded()?
            && let Err(error) = place.record()
        {
            // Only `doctor` needs this record, and mcpkg also serves read-only databases.
            tracing::warn!(%error, "cannot record where the audit log is");
        }
        let (jobs, queue) = channel();
        let state: Arc<State> = Arc::default();
        let writer = Writer::new(file, Arc::clone(&state), store.clone());
        let thread = thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || writer.run(&queue))
            .map_err(|error| Error::internal("cannot start the thread `audit`").with_source(error))?;
        let again = jobs.clone();
        mcpkg_base::process::on_hang_up(move || drop(again.send(Job::Reopen)))
            .map_err(|error| Error::internal("cannot handle signals").with_source(error))?;
        let thread = Mutex::new(Some(thread));
        Ok(Some(Self { jobs, state, required: settings.required, thread, place }))
    }

    /// Waits until a call may begin. If the log is required, this is when its queue has space.
    ///
    /// # Errors
    /// `E_AUDIT_FAILED` if the log is required and cannot be written.
    pub(in crate::mcp) fn admit(&self) -> Result<()> {
        while !self.may_begin()? {
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Like [`CallLog::admit`], for callers on threads that must not block.
    pub(in crate::mcp) async fn admit_aside(&self) -> Result<()> {
        while !self.may_begin()? {
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    fn may_begin(&self) -> Result<bool> {
        if !self.required {
            return Ok(true);
        }
        if self.state.is_failing.load(Ordering::Relaxed) {
            let why = "The server cannot write its audit log, so it refuses all calls until it can";
            return Err(Error::new(Code::AuditFailed, why)
                .hint("ask the administrator of the server to free disk space or to fix the file's permissions"));
        }
        Ok(self.state.queued.load(Ordering::Relaxed) < MAX_QUEUED)
    }

    /// Returns whether calls are refused now.
    pub(in crate::mcp) fn refuses(&self) -> bool {
        self.required && self.is_failing()
    }

    pub(in crate::mcp) fn is_failing(&self) -> bool {
        self.state.is_failing.load(Ordering::Relaxed)
    }

    /// Returns the number of lines that were lost since the server started.
    pub(in crate::mcp) fn lost(&self) -> u64 {
        self.state.lost.load(Ordering::Relaxed)
    }

    /// Returns why the log cannot be written, without the path.
    pub(in crate::mcp) fn problem(&self) -> Option<String> {
        self.state.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Queues a line. If the queue is full, a log that is not required drops the line. A required log never drops a line:
    /// while its queue is full, `admit` lets no call begin, so only the calls that already run add lines.
    pub(super) fn push(&self, line: Line) {
        if !self.required && self.state.queued.load(Ordering::Relaxed) >= MAX_QUEUED {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.state.queued.fetch_add(1, Ordering::Relaxed);
        let _ = self.jobs.send(Job::Write(Box::new(line)));
    }

    /// Writes the queue, ends the thread, and deletes the record that `doctor` reads. After the server has ended, it is no
    /// problem if the log is gone or unwritable.
    pub(in crate::mcp) fn finish(&self) {
        let _ = self.jobs.send(Job::End);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
        if let Some(Err(error)) = self.place.as_ref().map(Place::forget) {
            tracing::warn!(%error, "cannot delete the record of where the audit log is");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;

    /// Returns a log and its queue. No thread writes the queue to the disk.
    fn stuck(required: bool) -> (CallLog, Receiver<Job>) {
        let (jobs, queue) = channel();
        (CallLog { jobs, state: Arc::default(), required, thread: Mutex::default(), place: None }, queue)
    }

    fn fill(log: &CallLog) {
        while log.state.queued.load(Ordering::Relaxed) < MAX_QUEUED {
            log.push(Line::default());
        }
    }

    #[test]
    fn a_full_queue_loses_lines_unless_the_log_is_required() {
        for (required, kept, lost) in [(false, MAX_QUEUED, 3), (true, MAX_QUEUED + 3, 0)] {
            let (log, queue) = stuck(required);
            fill(&log);
            // Calls that are already running end while the queue is full.
            (0..3).for_each(|_| log.push(Line::default()));
            assert_eq!((queue.try_iter().count(), log.lost()), (kept, lost));
        }
        let (log, _queue) = stuck(false);
        fill(&log);
        assert!(log.admit().is_ok(), "calls begin even if their lines are lost");
    }

    #[test]
    fn while_the_queue_of_a_required_log_is_full_calls_wait() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let aside =
            |log: &CallLog| runtime.block_on(async { tokio::time::timeout(LOOK * 20, log.admit_aside()).await });
        let (log, _queue) = stuck(true);
        assert!(log.admit().is_ok() && aside(&log).unwrap().is_ok());
        for is_failing in [false, true] {
            fill(&log);
            assert!(aside(&log).is_err(), "it waits");
            thread::scope(|scope| {
                let waiting = scope.spawn(|| log.admit());
                thread::sleep(LOOK * 20);
                assert!(!waiting.is_finished());
                // Either a line is written to the disk, or writing fails because the disk is full.
                match is_failing {
                    false => drop(log.state.queued.fetch_sub(1, Ordering::Relaxed)),
                    true => log.state.is_failing.store(true, Ordering::Relaxed),
                }
                let admitted = waiting.join().unwrap();
                assert_eq!(admitted.err().map(|error| error.code()), is_failing.then_some(Code::AuditFailed));
            });
            assert_eq!(aside(&log).unwrap().is_err(), is_failing);
        }
        assert_eq!(log.lost(), 0);
    }
}
