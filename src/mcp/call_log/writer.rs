//! Writes queued lines to the file of the audit log, on a thread of its own.

use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::line::Line;
use super::queue::{Job, State};
use mcpkg_base::clock::{Clock, rfc3339_millis};
use mcpkg_base::rolling::Rolling;
use mcpkg_store::Store;
use mcpkg_store::projects::{self, Selection};

/// How long the thread collects lines before it writes them, so that a busy server does not wake it for each line.
const COLLECT: Duration = Duration::from_millis(5);

/// How long to wait before another attempt to write.
const AGAIN: Duration = Duration::from_secs(1);

/// The time limit for looking up the name of the selected project.
const LOOK_UP: Duration = Duration::from_secs(1);

pub(super) struct Writer {
    file: Rolling,
    state: Arc<State>,
    store: Store,
    /// Lines that are not in the file yet, and their number.
    pending: (Vec<u8>, usize),
    /// How many lost lines the file mentions.
    lost_told: u64,
}

impl Writer {
    pub(super) fn new(file: Rolling, state: Arc<State>, store: Store) -> Self {
        let store = store.limited(LOOK_UP, CancellationToken::new());
        Self { file, state, store, pending: Default::default(), lost_told: 0 }
    }

    /// Writes lines until [`Job::End`].
    pub(super) fn run(mut self, queue: &Receiver<Job>) {
        let mut is_ending = false;
        while !is_ending {
            let first = match self.state.is_failing.load(Ordering::Relaxed) {
                true => queue.recv_timeout(AGAIN),
                false => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if matches!(first, Ok(Job::Write(_))) {
                thread::sleep(COLLECT);
            }
            is_ending = matches!(first, Err(RecvTimeoutError::Disconnected));
            let mut lines = Vec::new();
            for job in first.into_iter().chain(queue.try_iter()) {
                match job {
                    Job::Write(line) => lines.push(*line),
                    Job::Reopen => {
                        let reopened = self.file.reopen();
                        self.note(&reopened);
                    }
                    Job::End => is_ending = true,
                }
            }
            self.format(lines);
            self.write();
        }
        if self.pending.1 > 0 {
            tracing::error!(lines = self.pending.1, "the last lines of the audit log could not be written");
        }
    }

    fn format(&mut self, lines: Vec<Line>) {
        let (pending, count) = &mut self.pending;
        // Consecutive lines usually have the same selection, so its project is looked up only when the selection changes.
        let mut known: Option<(Selection, Option<String>)> = None;
        for mut line in lines {
            if let Some(selection) = line.selection.take() {
                if known.as_ref().is_none_or(|(of, _)| *of != selection) {
                    let found = self.store.read(|db| projects::served(db, &selection));
                    known = Some((selection, found.ok().flatten().map(|project| project.name)));
                }
                line.project = known.as_ref().and_then(|(_, name)| name.clone());
            }
            line.redact();
            // Writing to memory does not fail, and all keys are strings.
            let _ = serde_json::to_writer(&mut *pending, &line);
            pending.push(b'\n');
            *count += 1;
        }
    }

    fn write(&mut self) {
        let lost = self.state.lost.load(Ordering::Relaxed);
        let before = self.pending.0.len();
        if lost > self.lost_told {
            let line = json!({ "time": rfc3339_millis(Clock::system().now()), "lost": lost - self.lost_told });
            self.pending.0.extend_from_slice(format!("{line}\n").as_bytes());
        }
        if self.pending.0.is_empty() && !self.state.is_failing.load(Ordering::Relaxed) {
            return;
        }
        let written = self.file.append(&self.pending.0);
        if written.is_ok() {
            self.state.queued.fetch_sub(self.pending.1, Ordering::Relaxed);
            self.pending.0.clear();
            self.pending.1 = 0;
            self.lost_told = lost;
        } else {
            self.pending.0.truncate(before);
            // The open file may be on a disk that is gone, and the path may lead to another disk now.
            let _ = self.file.reopen();
        }
        self.note(&written);
    }

    /// Records whether the file can be written, and reports a change.
    fn note(&self, written: &io::Result<()>) {
        let mut problem = self.state.problem.lock().unwrap_or_else(PoisonError::into_inner);
        let now = written.as_ref().err().map(reason);
        if *problem == now {
            return;
        }
        let path = self.file.path().display();
        match &written {
            Ok(()) => tracing::warn!(%path, lost = self.lost_told, "the audit log can be written again"),
            Err(error) => tracing::error!(%path, %error, "cannot write the audit log"),
        }
        self.state.is_failing.store(now.is_some(), Ordering::Relaxed);
        *problem = now;
    }
}

/// Returns why a file cannot be written, without its path.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        kind => kind.to_string(),
    }
}
