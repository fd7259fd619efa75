//! Runs a plugin that is a program: starts it, waits until it ends, and ends it together with its child processes.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use mcpkg_base::error::{Error, Result};
use mcpkg_base::platform;
use mcpkg_base::process::{Capture, Failure, GRACE, Program, Running};
use mcpkg_base::redact::{redact, redact_at_cut};

/// How much of the program's standard error is kept: the beginning and the end.
const SAID: Capture = Capture { head: 4 << 10, tail: 4 << 10 };

/// How long the program may take to exit by itself after its standard input was closed.
const POLITE: Duration = Duration::from_secs(1);

/// A time limit that is never reached.
const EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A running program. Cancelling `ending` stops it.
#[derive(Clone, Debug)]
pub struct Child {
    ending: CancellationToken,
    ended: CancellationToken,
    last_words: Arc<Mutex<Option<String>>>,
}

/// The pipes of a program.
pub struct Pipes {
    pub stdin: platform::Input,
    pub stdout: platform::Output,
}

impl Child {
    /// Starts a program. Must be called within the runtime that reads its pipes. The error is a message for a person.
    pub fn start(program: Program) -> Result<(Self, Pipes), String> {
        let mut running = program.capture(SAID).start().map_err(|failure| match failure {
            Failure::NotStarted(error) | Failure::Lost(error) => format!("it did not start: {error}"),
            Failure::TimedOut | Failure::Cancelled => "it did not start".to_owned(),
        })?;
        let (Some(stdin), Some(stdout)) = (running.stdin(), running.stdout()) else {
            return Err("its standard input and output are not connected".to_owned());
        };
        let pipes = platform::pipes(stdin, stdout);
        let (stdin, stdout) = pipes.map_err(|error| format!("its pipes cannot be used: {error}"))?;
        let child =
            Self { ending: CancellationToken::new(), ended: CancellationToken::new(), last_words: Arc::default() };
        child.guard(running).map_err(|error| error.message().to_owned())?;
        Ok((child, Pipes { stdin, stdout }))
    }

    /// Starts a thread that waits until the program ends or must be stopped.
    fn guard(&self, mut running: Running) -> Result<()> {
        let Self { ending, ended, last_words } = self.clone();
        let guard = move || {
            let how = match running.wait(Instant::now() + EVER, &ending) {
                Ok(Some(status)) => format!("it ended with {status}"),
                _ => {
                    // The program may exit by itself, because closing the connection also closes its standard input.
                    let _ = running.wait(Instant::now() + POLITE, &CancellationToken::new());
                    running.end(GRACE);
                    "it was stopped".to_owned()
                }
            };
            let said = running.stderr().text_by(|text| redact(&text), redact_at_cut);
            let said = said.trim();
            let words = if said.is_empty() { how } else { format!("{how}; its output: {said}") };
            *last_words.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
            ended.cancel();
        };
        let started = thread::Builder::new().name("plugin".to_owned()).spawn(guard);
        started.map(drop).map_err(|error| Error::internal("cannot start a thread for a plugin").with_source(error))
    }

    /// Asks the program to end, without waiting for it: see [`Child::ended`].
    pub fn end(&self) {
        self.ending.cancel();
    }

    /// Returns the token that is cancelled once the program and its child processes have ended.
    pub fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// Returns how the program ended, with its last output on standard error.
    pub fn last_words(&self) -> Option<String> {
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
