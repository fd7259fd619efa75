//! The console in a terminal: draws the screens of `mcpkg-console` and turns keys into their actions.
//!
//! The main thread owns the state and the terminal. It waits for a message, updates the state and draws a frame. Other
//! threads read keys, load screens, run operations and watch the database. Only operations that need the terminal, such
//! as `prompt edit`, run on the main thread.

mod app;
mod ask;
mod copy;
mod draw;
mod editing;
mod editor;
mod editor_questions;
mod failure;
mod history;
mod keys;
mod level;
mod line;
mod loading;
mod message;
mod question;
mod results;
mod running;
mod terminal;
mod worker;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use app::App;
use message::{Edited, Message, Task};
use terminal::Terminal;
use worker::Workers;

/// The command-line options of the console.
pub struct Options {
    pub is_read_only: bool,
    pub is_ascii: bool,
}

/// How long to collect messages before drawing, at most, so that a burst of changes is drawn once.
const FRAME: Duration = Duration::from_millis(16);

/// Shows the console until the user leaves it.
pub fn run(context: Context, options: &Options) -> Result<()> {
    let (sender, messages) = mpsc::channel();
    let mut app = App::new(context.domains, worker::project(&context), options.is_read_only, options.is_ascii);
    let mut terminal = Terminal::open(&sender)?;
    let workers = Workers::start(context, &sender);
    let mut tasks = app.start();
    loop {
        for task in tasks.drain(..) {
            match task {
                Task::Quit => return Ok(()),
                Task::Redraw => terminal.refresh(app.has_mouse())?,
                Task::Suspend => terminal.suspend()?,
                Task::Copy(copied) => {
                    let is_copied = terminal.copy(&copied.text)?;
                    let _ = sender.send(Message::Copied(copied, is_copied));
                }
                Task::EditOnTerminal(version, name, text) => {
                    let edited = terminal.aside(|| editor::rewritten(&name, &text))?;
                    let _ = sender.send(Message::Edited(version, Edited::Rewritten(edited)));
                }
                Task::RunOnTerminal(invocation) => {
                    let done = terminal.aside(|| invocation.run(&workers.aside))?;
                    let _ = sender.send(Message::Done(invocation, done.map(Box::new)));
                }
                task => workers.take(task),
            }
        }
        // Take the time before drawing: a key that is read while the frame is drawn may answer the frame's question.
        let drawn = Instant::now();
        terminal.draw(&mut app)?;
        app.drawn(drawn);
        let Ok(message) = messages.recv() else { return Ok(()) };
        tasks.extend(app.update(message));
        // Handle more messages before the next draw, until none arrives for 2 ms or a message leads to a task. Stop at a
        // question: it must be drawn before keys can answer it.
        let until = Instant::now() + FRAME;
        while app.asking.is_none() && tasks.is_empty() {
            match messages.recv_timeout(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(2))) {
                Ok(message) => tasks.extend(app.update(message)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
    }
}
