//! Reports the progress of a running build: one step per command, log messages, and at regular intervals the latest
//! line that a slow command printed.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::command::Outcome;
use super::log::Log;
use super::plan::Command;
use mcpkg_core::op::{Context, Progress, Say};

/// The time between two messages to an MCP client.
const PACE: Duration = Duration::from_secs(3);

/// The time between two updates of the line shown at a terminal.
const QUICK: Duration = Duration::from_millis(200);

/// Progress units per command for MCP clients. MCP requires progress to grow with each message, even while one command
/// keeps running.
const PARTS: u64 = 1_000;

/// Maximum number of characters next to the terminal's progress bar.
const BESIDE: usize = 60;

/// Reports a build's progress until it is dropped.
pub struct Live {
    shared: Arc<Shared>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    progress: Arc<Progress>,
    say: Arc<Say>,
    /// Whether the caller is a shell or the console, not an MCP client. A shell at a terminal shows the progress as a
    /// bar; an MCP client gets messages.
    is_shell: bool,
    total: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    begun: u64,
    /// Messages sent since the latest command started.
    beats: u64,
    running: Vec<Running>,
}

struct Running {
    number: u64,
    label: String,
    begun: Instant,
    log: Arc<Mutex<Log>>,
}

impl Live {
    /// Starts reporting on a build with this many commands.
    pub fn begin(context: &Context, commands: usize) -> Self {
        let shared = Arc::new(Shared {
            progress: Arc::clone(&context.progress),
            say: Arc::clone(&context.say),
            is_shell: context.is_shell(),
            total: commands as u64,
            state: Mutex::default(),
        });
        let (stop, stopped) = channel::<()>();
        let told = Arc::clone(&shared);
        let pace = if shared.is_shell { QUICK } else { PACE };
        let tell = move || {
            while stopped.recv_timeout(pace) == Err(RecvTimeoutError::Timeout) {
                told.beat();
            }
        };
        // If the thread cannot be started, the build still works, but shows less progress.
        let thread = thread::Builder::new().name("build-lives".to_owned()).spawn(tell).ok();
        Self { shared, stop: Some(stop), thread }
    }

    /// Reports that a command starts and prints to `log`; returns the command's number.
    pub fn start(&self, command: &Command, log: &Arc<Mutex<Log>>) -> u64 {
        let mut state = self.shared.state();
        state.begun += 1;
        state.beats = 0;
        let (number, label) = (state.begun, command.label());
        state.running.push(Running { number, label, begun: Instant::now(), log: Arc::clone(log) });
        self.shared.progress(&state, None);
        (self.shared.say)(&format!("{}: {}", command.label(), command.line()));
        number
    }

    pub fn end(&self, number: u64, command: &Command, outcome: &Outcome) {
        self.shared.state().running.retain(|running| running.number != number);
        let seconds = outcome.took.as_secs_f64();
        (self.shared.say)(&format!("{} {} ({seconds:.1} s)", command.label(), outcome.ended.description()));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports the most recently started command that is still running, and the latest line of its output.
    fn beat(&self) {
        let mut state = self.state();
        let Some(running) = state.running.last() else { return };
        let log = running.log.lock().unwrap_or_else(PoisonError::into_inner);
        let line = if self.is_shell { log.last_line_seen() } else { log.last_line() }.to_owned();
        drop(log);
        if !self.is_shell {
            let seconds = running.begun.elapsed().as_secs();
            let colon = if line.is_empty() { "" } else { ": " };
            (self.say)(&format!("{} has been running for {seconds} s{colon}{line}", running.label));
        }
        state.beats = (state.beats + 1).min(PARTS - 1);
        self.progress(&state, Some(&line));
    }

    fn progress(&self, state: &State, line: Option<&str>) {
        let Some(running) = state.running.last() else { return };
        let before = state.begun.saturating_sub(1);
        let line = line.filter(|line| !line.is_empty());
        match self.is_shell {
            true => {
                let told = line.map_or_else(|| running.label.clone(), |line| format!("{}: {line}", running.label));
                (self.progress)(&told.chars().take(BESIDE).collect::<String>(), before, self.total);
            }
            false => {
                let told = format!("{} ({} of {})", running.label, state.begun, self.total);
                let told = line.map_or_else(|| told.clone(), |line| format!("{told}: {line}"));
                (self.progress)(&told, before * PARTS + state.beats, self.total * PARTS);
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let whole = self.shared.total * if self.shared.is_shell { 1 } else { PARTS };
        (self.shared.progress)("ended", whole, whole);
    }
}
