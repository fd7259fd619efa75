//! Starts a configured command as its agent does, and speaks lines to it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::talk::{Trouble, Wire};
use crate::client::agent::Agent;
use crate::client::place::{Homes, Place};

/// The variables that Codex passes on (0.169, measured).
const CODEX: &[&str] =
    &["HOME", "LOGNAME", "PATH", "SHELL", "USER", "__CF_USER_TEXT_ENCODING", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"];

/// The variables that a client made with the protocol's own TypeScript kit passes on.
const KIT: &[&str] = &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// What no process on Windows does without.
const WINDOWS: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// The longest line that is taken.
const LINE: u64 = 64 << 20;

/// The environment that an agent gives to what its entry starts. Variables of mcpkg's own are left out: the agent may
/// be started elsewhere.
pub(super) fn environment(agent: Agent, entry: &Value) -> BTreeMap<OsString, OsString> {
    let passed: Option<&[&str]> = match agent {
        Agent::Codex => Some(CODEX),
        Agent::ClaudeDesktop => Some(KIT),
        _ => None,
    };
    let named = entry["env_vars"].as_array().map(|names| names.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    let named = named.unwrap_or_default();
    let is_passed = |name: &str| {
        let windows = cfg!(windows) && WINDOWS.iter().any(|known| known.eq_ignore_ascii_case(name));
        named.contains(&name)
            || (!name.starts_with("MCPKG_") && (windows || passed.is_none_or(|passed| passed.contains(&name))))
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

/// The folder that an agent starts it in.
pub(super) fn directory(place: &Place, entry: &Value, homes: &Homes, here: &Path) -> PathBuf {
    let base = match (place.agent, &place.root) {
        (_, Some(root)) => root.clone(),
        (Agent::Codex, None) => homes.codex.clone(),
        (Agent::ClaudeCode | Agent::Gemini | Agent::Copilot | Agent::Opencode, None) if here.is_dir() => {
            here.to_owned()
        }
        _ => homes.home.clone(),
    };
    match entry["cwd"].as_str() {
        Some(folder) => base.join(folder),
        None => base,
    }
}

/// A server as a child process.
pub(super) struct Started {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Line>,
    complaints: Arc<Mutex<String>>,
}

enum Line {
    Text(String),
    TooLong,
}

impl Started {
    /// Starts it.
    pub(super) fn new(
        words: &[String],
        environment: BTreeMap<OsString, OsString>,
        directory: &Path,
    ) -> Result<Self, Trouble> {
        let (program, arguments) =
            words.split_first().ok_or_else(|| Trouble::new("the entry names no command", "add it anew"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                let advice = "the entry's command has to be a program that can be started; add it anew";
                Trouble::new(format!("`{program}` cannot be started in `{}`: {error}", directory.display()), advice)
            })?;
        let (sender, lines) = sync_channel(64);
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stdout);
                loop {
                    let mut line = Vec::new();
                    let end = match reader.by_ref().take(LINE).read_until(b'\n', &mut line) {
                        Ok(0) | Err(_) => return,
                        Ok(_) if line.len() as u64 == LINE => Line::TooLong,
                        Ok(_) => Line::Text(String::from_utf8_lossy(&line).trim().to_owned()),
                    };
                    let is_last = matches!(end, Line::TooLong);
                    if sender.send(end).is_err() || is_last {
                        return;
                    }
                }
            });
        }
        let complaints = Arc::new(Mutex::new(String::new()));
        if let Some(stderr) = child.stderr.take() {
            let complaints = Arc::clone(&complaints);
            std::thread::spawn(move || {
                for line in BufReader::new(stderr.take(1 << 20)).lines().map_while(Result::ok) {
                    let mut said = complaints.lock().unwrap_or_else(PoisonError::into_inner);
                    if said.len() < 2000 && !line.trim().is_empty() {
                        said.push_str(line.trim());
                        said.push('\n');
                    }
                }
            });
        }
        Ok(Self { input: child.stdin.take(), child, lines, complaints })
    }

    /// What it wrote to its standard error.
    fn complained(&self) -> String {
        let said = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        let said = said.trim().replace('\n', "; ");
        if said.is_empty() { String::new() } else { format!("; it said: {}", crate::redact::redact(&said)) }
    }

    /// Ends its input and waits until it has ended, at most until `until`; then it is killed.
    pub(super) fn end(mut self, until: Instant) -> Result<ExitStatus, Trouble> {
        self.input = None;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                Ok(None) => {
                    let advice = "a server ends when its input does; this one stays behind when the agent is closed";
                    return Err(Trouble::new("it did not end with its input, and was killed", advice));
                }
                Err(error) => return Err(Trouble::new(format!("it cannot be waited for: {error}"), "try again")),
            }
        }
    }

    fn gone(&mut self) -> Trouble {
        // The pipe closes a moment before the process has ended.
        let until = Instant::now() + Duration::from_millis(500);
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                status => break status.ok().flatten(),
            }
        };
        let how = status.map_or("it closed its output".to_owned(), |status| format!("it ended ({status})"));
        let advice = "run the command by hand to see why; `mcpkg client show` prints it";
        Trouble::new(format!("{how} before it answered{}", self.complained()), advice)
    }
}

impl Wire for Started {
    fn send(&mut self, message: &Value, _: Instant) -> Result<(), Trouble> {
        let Some(input) = self.input.as_mut() else { return Err(self.gone()) };
        let sent = input.write_all(format!("{message}\n").as_bytes()).and_then(|()| input.flush());
        // Why it took nothing is told by how it ended.
        sent.map_err(|_| self.gone())
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Value>, Trouble> {
        match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Line::Text(line)) if line.is_empty() => self.receive(until),
            Ok(Line::Text(line)) => match serde_json::from_str::<Value>(&line) {
                Ok(message) if message.is_object() || message.is_array() => Ok(Some(message)),
                _ => {
                    let shown: String = line.chars().take(80).collect();
                    let advice = "an MCP server prints nothing but messages; is this the command of one?";
                    Err(Trouble::new(format!("it printed `{shown}`, which is no message"), advice))
                }
            },
            Ok(Line::TooLong) => {
                Err(Trouble::new("it printed a line without an end", "is this the command of a server?"))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
