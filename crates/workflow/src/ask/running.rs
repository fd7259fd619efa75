//! Runs the agent until it exits, the time is up, or the user cancels. Then mcpkg ends the agent's whole process group.

use std::io::Write;
use std::process::ExitStatus;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::process::{Failure, GRACE, Printed, Running};
use mcpkg_core::op::{Context, Reply};

use super::calls::Calls;
use super::launch::{CALLS, Launch};
use super::output::{self, Speech};
use super::progress::{Progress, safe};
use crate::answer::cut;

/// How often to look for new calls of the attached server.
const LOOK: Duration = Duration::from_millis(100);

/// How long to read the remaining output after the agent has ended.
const DRAIN: Duration = Duration::from_secs(1);

/// Maximum length, in bytes, of what an error quotes from the agent's own error message or stderr.
const EXCERPT: usize = 500;

/// The reason why a run ended.
enum End {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

/// Runs the agent on a prompt, and reports what it does.
///
/// # Errors
/// `E_TIMEOUT` or `E_CANCELLED` if mcpkg ended the agent, `E_AGENT_FAILED` if the agent failed or cannot run, `E_FILE_FAILED` if
/// mcpkg cannot write its temporary files. Once the agent has started, the error also lists the drafts that it proposed.
pub fn run(context: &Context, launch: &Launch, prompt: &str, limit: Duration) -> Result<Reply> {
    // Declared first, so that it is dropped last. Thus the run's folder is already removed when `end_all` returns.
    let live = Live::begin(&context.cancelled);
    let failed = |error| Error::new(Code::FileFailed, format!("Cannot create a temporary folder: {error}"));
    let folder = tempfile::Builder::new().prefix("mcpkg-ask-").tempdir().map_err(failed)?;
    let program = launch.prepared(folder.path())?;
    note(context, launch)?;
    let mut running = program.start().map_err(|failure| lost(launch, &failure))?;
    if let Some(mut stdin) = running.stdin() {
        let prompt = prompt.to_owned();
        // Write the prompt on a separate thread, because the agent may print before it has read everything. Ignore a
        // broken pipe: if the agent does not read the prompt, its exit status explains more.
        thread::spawn(move || drop(stdin.write_all(prompt.as_bytes())));
    }
    let stdout = running.stdout().ok_or_else(|| Error::internal("the agent has no output"))?;
    let mut following = Following {
        progress: Progress::new(context, launch),
        launch,
        lines: output::follow(stdout),
        speech: Speech::default(),
        calls: Calls::of(folder.path().join(CALLS)),
    };
    let end = following.until_end(&mut running, limit, &live.cancelled);
    // End the agent if it still runs. If it has exited, `until_end` has already ended the processes that it left behind.
    running.end(GRACE);
    let end = end.and_then(|end| following.rest().map(|()| end));
    let progress = following.progress;
    let end = match end {
        Ok(end) => end,
        Err(error) => return Err(progress.in_error(error)),
    };
    let title = launch.agent.title;
    match end {
        End::Exited(status) if status.success() && progress.error.is_none() => Ok(progress.reply()),
        End::Exited(status) => {
            Err(progress.in_error(exited(launch, status, progress.error.as_deref(), &running.stderr())))
        }
        End::TimedOut => Err(progress.in_error(
            Error::new(Code::Timeout, format!("{title} did not finish in time, so mcpkg ended it"))
                .hint("allow more time with --timeout, such as --timeout 30m"),
        )),
        End::Cancelled => {
            Err(progress.in_error(Error::new(Code::Cancelled, format!("Cancelled; mcpkg ended {title}"))))
        }
    }
}

/// Records in the audit trail (`events`) that the agent is started.
fn note(context: &Context, launch: &Launch) -> Result<()> {
    let author = context.author();
    context.store.write(|db| context.event(db, author, Some(&launch.project), "ask", launch.agent.name))
}

/// A run that mcpkg follows: the agent's output and calls, and the progress so far.
struct Following<'a> {
    progress: Progress<'a>,
    launch: &'a Launch,
    lines: Receiver<Value>,
    speech: Speech,
    calls: Calls,
}

impl Following<'_> {
    fn until_end(&mut self, running: &mut Running, limit: Duration, cancelled: &CancellationToken) -> Result<End> {
        let until = Instant::now() + limit;
        loop {
            let now = Instant::now();
            match running.wait(until.min(now + LOOK), cancelled) {
                Ok(Some(status)) => return Ok(End::Exited(status)),
                Ok(None) if now >= until => return Ok(End::TimedOut),
                Ok(None) => {}
                Err(Failure::Cancelled) => return Ok(End::Cancelled),
                Err(failure) => return Err(lost(self.launch, &failure)),
            }
            self.look()?;
        }
    }

    /// Reports what is new. Calls come first, because the agent talks about a call after making it.
    fn look(&mut self) -> Result<()> {
        for call in self.calls.next() {
            self.progress.called(&call)?;
        }
        while let Ok(line) = self.lines.try_recv() {
            self.heard(&line)?;
        }
        Ok(())
    }

    /// Reports the remaining calls, and the output that arrives within [`DRAIN`].
    fn rest(&mut self) -> Result<()> {
        self.look()?;
        let until = Instant::now() + DRAIN;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.heard(&line)?;
        }
        if let Some(said) = self.speech.end() {
            self.progress.said(said)?;
        }
        for call in self.calls.next() {
            self.progress.called(&call)?;
        }
        Ok(())
    }

    fn heard(&mut self, line: &Value) -> Result<()> {
        self.speech.of(self.launch.headless, line).into_iter().try_for_each(|said| self.progress.said(said))
    }
}

fn lost(launch: &Launch, failure: &Failure) -> Error {
    let why = match failure {
        Failure::NotStarted(error) | Failure::Lost(error) => error.to_string(),
        Failure::TimedOut | Failure::Cancelled => "it was ended".to_owned(),
    };
    Error::new(Code::AgentFailed, format!("Cannot run {}: {why}", launch.agent.title))
}

fn exited(launch: &Launch, status: ExitStatus, error: Option<&str>, stderr: &Printed) -> Error {
    let stderr = stderr.text_by(
        |text| safe(&text),
        |head, tail| {
            let (head, tail) = mcpkg_base::redact::redact_at_cut(head, tail);
            (safe(&head), safe(&tail))
        },
    );
    // Quote the end: the last lines usually say what went wrong.
    let start = stderr.len().saturating_sub(EXCERPT);
    let start = (start..stderr.len()).find(|at| stderr.is_char_boundary(*at)).unwrap_or(stderr.len());
    let why = match (error, stderr[start..].trim()) {
        (Some(error), _) => cut(error, EXCERPT),
        (None, "") => status.to_string(),
        (None, said) => format!("{status}: {said}"),
    };
    let program = launch.agent.client.program;
    Error::new(Code::AgentFailed, format!("{} failed: {why}", launch.agent.title))
        .hint(format!("start `{program}` yourself to see whether it works and is signed in"))
}

/// The cancellation tokens of the runs in this process.
static LIVE: Mutex<Vec<Arc<CancellationToken>>> = Mutex::new(Vec::new());
static ENDED: Condvar = Condvar::new();

/// An entry in [`LIVE`], which is removed on drop.
struct Live {
    /// Cancelled together with the call of `mcpkg ask`, or by [`end_all`].
    cancelled: Arc<CancellationToken>,
}

impl Live {
    fn begin(call: &CancellationToken) -> Self {
        let cancelled = Arc::new(call.child_token());
        lives().push(Arc::clone(&cancelled));
        Self { cancelled }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        lives().retain(|live| !Arc::ptr_eq(live, &self.cancelled));
        ENDED.notify_all();
    }
}

fn lives() -> MutexGuard<'static, Vec<Arc<CancellationToken>>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the agents that still run, and waits until they have ended, but no longer than twice [`GRACE`].
pub fn end_all() {
    let live = lives();
    live.iter().for_each(|cancelled| cancelled.cancel());
    // An agent that is still running after GRACE is killed.
    drop(ENDED.wait_timeout_while(live, 2 * GRACE, |live| !live.is_empty()));
}
