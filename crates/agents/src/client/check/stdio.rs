//! Starts a server as its agent does, and exchanges one message per line with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::step_error::StepError;
use super::transport::Transport;
use crate::agents::agent::Agent;
use crate::agents::homes::Homes;
use crate::client::config_file::ConfigFile;
use mcpkg_base::platform::IS_WINDOWS;
use mcpkg_base::process::{self, Capture, Environment, Failure, OnCancel, Program, Running};
use mcpkg_base::redact::{redact, redact_at_cut};

/// The maximum length of a line in bytes.
const LINE: u64 = 64 << 20;

/// Returns the environment in which an agent starts the entry's program. mcpkg's own variables are left out unless the
/// entry names them: they may be set only in this shell, and the agent may be started from another one.
pub(super) fn environment(agent: &Agent, entry: &Value) -> BTreeMap<OsString, OsString> {
    let named = entry["env_vars"].as_array().map(|names| names.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    let named = named.unwrap_or_default();
    let is_passed = |name: &str| {
        let windows = IS_WINDOWS && process::is_needed_on_windows(name);
        named.contains(&name)
            || (!name.starts_with("MCPKG_")
                && (windows || agent.client.passes.is_none_or(|passed| passed.contains(&name))))
    };
    let mut environment: BTreeMap<OsString, OsString> =
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed)).collect();
    for values in ["env", "environment"] {
        for (name, value) in entry[values].as_object().into_iter().flatten() {
            if let Some(value) = value.as_str() {
                environment.insert(name.into(), value.into());
            }
        }
    }
    environment
}

/// Returns the folder in which an agent starts the entry's program.
pub(super) fn directory(config: &ConfigFile, entry: &Value, homes: &Homes, here: &Path) -> PathBuf {
    let base = config.root.clone().unwrap_or_else(|| (config.agent.client.starts_in)(homes, here));
    match entry["cwd"].as_str() {
        Some(folder) => base.join(folder),
        None => base,
    }
}

/// A server that runs as a child process.
pub(super) struct StdioTransport {
    server: Running,
    input: Option<ChildStdin>,
    lines: Receiver<Line>,
    cancelled: CancellationToken,
    _waking: OnCancel,
}

enum Line {
    Text(String),
    TooLong,
    End,
    Cancelled,
}

/// How much of a server's standard error is kept, in bytes: its beginning and its end.
const COMPLAINTS: Capture = Capture { head: 1500, tail: 500 };

/// The maximum time to wait for a server to exit after it closed its output. The pipe closes a moment before the
/// process ends.
const END: Duration = Duration::from_millis(500);

impl StdioTransport {
    pub(super) fn new(
        words: &[String],
        environment: BTreeMap<OsString, OsString>,
        directory: &Path,
        cancelled: &CancellationToken,
    ) -> Result<Self, StepError> {
        let (program, args) =
            words.split_first().ok_or_else(|| StepError::new("the entry has no command", "add it again"))?;
        let server = Program::new(program).args(args).folder(directory).capture(COMPLAINTS);
        let mut server = server.environment(Environment::Exactly(environment)).start().map_err(|failure| {
            let why = match failure {
                Failure::NotStarted(error) | Failure::Lost(error) => error.to_string(),
                Failure::TimedOut | Failure::Cancelled => "it was cancelled".to_owned(),
            };
            let advice = "the entry's command must be a program that can be started; add the agent again";
            StepError::new(format!("cannot start `{program}` in `{}`: {why}", directory.display()), advice)
        })?;
        let (sender, lines) = sync_channel(64);
        let waker = sender.clone();
        if let Some(stdout) = server.stdout() {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stdout);
                loop {
                    let mut line = Vec::new();
                    let end = match reader.by_ref().take(LINE).read_until(b'\n', &mut line) {
                        Ok(0) | Err(_) => Line::End,
                        Ok(_) if line.len() as u64 == LINE => Line::TooLong,
                        Ok(_) => Line::Text(String::from_utf8_lossy(&line).trim().to_owned()),
                    };
                    let is_last = !matches!(end, Line::Text(_));
                    if sender.send(end).is_err() || is_last {
                        return;
                    }
                }
            });
        }
        // The message only wakes a `receive` that is waiting. If the queue is full, none is waiting, so the message may
        // be dropped.
        let wake = move || {
            let _ = waker.try_send(Line::Cancelled);
        };
        let waking = OnCancel::new(cancelled, wake);
        Ok(Self { input: server.stdin(), server, lines, cancelled: cancelled.clone(), _waking: waking })
    }

    /// Closes the server's input and waits for the server to exit. A server that has not exited at `until` is killed.
    pub(super) fn end(mut self, until: Instant) -> Result<ExitStatus, StepError> {
        self.input = None;
        match self.server.wait(until, &self.cancelled) {
            Ok(Some(status)) => Ok(status),
            Ok(None) => {
                let advice = "an MCP server must exit when its input closes; this server keeps running after the agent is closed";
                Err(StepError::new("the server did not exit when its input closed, so mcpkg killed the server", advice))
            }
            Err(failure) => Err(lost(&failure)),
        }
    }

    fn gone(&mut self) -> StepError {
        let how = match self.server.wait(Instant::now() + END, &self.cancelled) {
            Ok(Some(status)) => format!("it ended ({status})"),
            Ok(None) => "the server closed its output".to_owned(),
            Err(failure) => return lost(&failure),
        };
        let said = self.server.stderr().text_by(|text| redact(&text), redact_at_cut);
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = if lines.is_empty() { String::new() } else { format!("; it said: {}", lines.join("; ")) };
        let advice = "run the command by hand to see why; `mcpkg client show` prints the command";
        StepError::new(format!("{how} before it responded{said}"), advice)
    }
}

fn lost(failure: &Failure) -> StepError {
    match failure {
        Failure::Cancelled => StepError::cancelled(),
        failure => StepError::new(format!("cannot wait for the server to exit: {failure:?}"), "try again"),
    }
}

impl Transport for StdioTransport {
    fn send(&mut self, message: &Value, _: Instant) -> Result<(), StepError> {
        let Some(input) = self.input.as_mut() else { return Err(self.gone()) };
        let sent = input.write_all(format!("{message}\n").as_bytes()).and_then(|()| input.flush());
        // The server did not read the message. Its exit status and its output explain why.
        sent.map_err(|_| self.gone())
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Value>, StepError> {
        loop {
            if self.cancelled.is_cancelled() {
                return Err(StepError::cancelled());
            }
            let line = match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Line::Text(line)) if line.is_empty() => continue,
                Ok(Line::Text(line)) => line,
                Ok(Line::TooLong) => {
                    let advice = "does this command start an MCP server?";
                    return Err(StepError::new("the server printed a line that is too long", advice));
                }
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Ok(Line::Cancelled) => continue,
                Ok(Line::End) | Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
            };
            return match serde_json::from_str::<Value>(&line) {
                Ok(message) if message.is_object() || message.is_array() => Ok(Some(message)),
                _ => {
                    let shown: String = line.chars().take(80).collect();
                    let advice = "an MCP server prints only MCP messages; does this command start one?";
                    Err(StepError::new(format!("the server printed `{shown}`, which is not an MCP message"), advice))
                }
            };
        }
    }
}
