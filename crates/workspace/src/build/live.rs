//! Tells how far a build is while it runs: progress per command, log messages, and every few seconds what a command that
//! takes long printed last.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::command::Outcome;
use super::log::Log;
use super::plan::Command;
use mcpkg_core::op::{Context, Progress, Say};

/// The time between two messages to a client.
const PACE: Duration = Duration::from_secs(3);

/// The time between two looks at what was printed last, for a person at a terminal.
const QUICK: Duration = Duration::from_millis(200);

/// The parts that a command counts as for a client: its progress has to grow from one message to the next, also while
/// one command runs.
const PARTS: u64 = 1_000;

/// Characters of a line beside a terminal's bar.
const BESIDE: usize = 60;

/// Tells of a build as long as it lives.
pub struct Live {
    shared: Arc<Shared>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    progress: Arc<Progress>,
    say: Arc<Say>,
    /// Whether a person at a shell is told, who sees a bar.
    is_shell: bool,
    total: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    begun: u64,
    /// Messages since the last command was begun.
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
    /// Begins to tell of a build of so many commands.
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
        // Without a thread a build is as good as with one, and says less.
        let thread = thread::Builder::new().name("build-lives".to_owned()).spawn(tell).ok();
        Self { shared, stop: Some(stop), thread }
    }

    /// Tells that a command begins, which prints to `log`; returns its number.
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

    /// Tells that the command with this number ended.
    pub fn end(&self, number: u64, command: &Command, outcome: &Outcome) {
        self.shared.state().running.retain(|running| running.number != number);
        let seconds = outcome.took.as_secs_f64();
        (self.shared.say)(&format!("{} {} ({seconds:.1} s)", command.label(), outcome.ended.said()));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what the command that began last is, of those that run, and what it printed last.
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
