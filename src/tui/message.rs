//! The messages between the console's threads.

use std::sync::mpsc::Sender;
use std::time::Instant;

use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Error, Result};
use mcpkg_console::document::{Document, Finding};
use mcpkg_console::screen::Line;
use mcpkg_console::{Invocation, Place, Screen};
use mcpkg_core::op::Reply;
use ratatui::crossterm::event::KeyEvent;
use tokio_util::sync::CancellationToken;

/// An event for the main thread.
pub enum Message {
    /// A key, and when it was read. A key that is older than a question does not answer it.
    Key(KeyEvent, Instant),
    Pasted(String),
    Resized,
    Loaded(Ticket, Result<Box<Screen>>),
    /// This many events were committed, by this or another process.
    Changed(usize),
    /// The database was replaced by a backup.
    Restored,
    /// `true` if the database cannot be read, `false` once it can be read again.
    Lost(bool),
    /// A running operation asks the user a question.
    Asked(Question),
    /// A progress message of a running operation.
    Progress(String),
    /// A part of the answer of an operation that is still running, and when it came.
    Reported(Invocation, Box<Reply>, Millis),
    Done(Invocation, Result<Box<Reply>>),
    /// The findings for a version of the edited text.
    Checked(Version, Result<Vec<Finding>>),
    /// The plan for a version of the edited text.
    Planned(Version, Vec<Line>),
    Saved(Version, String, Result<Box<Reply>>),
    /// The console must end: the process got a signal, or the terminal is gone.
    Ended,
}

/// A version of the text of one editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    pub editor: u64,
    pub number: u64,
}

/// Identifies a load, so that an outdated result can be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub generation: u64,
    pub place: Place,
    pub view: usize,
}

/// A question that a running operation asks. Dropping `answer` means no.
pub struct Question {
    pub lines: Vec<Line>,
    pub text: String,
    /// Whether the answer is a line of text instead of yes or no.
    pub is_line: bool,
    /// The name to type to confirm, if the call destroys something.
    pub name: Option<String>,
    pub answer: Sender<Option<String>>,
}

/// Work for a worker thread or, if it needs the terminal, for the main loop.
pub enum Task {
    Load(Ticket),
    Run(Invocation),
    /// Runs an operation that reports while it runs, until the token is cancelled.
    Follow(Invocation, CancellationToken),
    /// Runs an operation that takes over the terminal, such as `prompt edit`.
    RunOnTerminal(Invocation),
    Check(Version, String),
    Plan(Version, String),
    Save(Version, Box<Document>, String),
    Copy(String),
    Suspend,
    Redraw,
    Quit,
}

/// Formats an error for the message row.
pub fn failed(error: &Error) -> String {
    format!("error: {error}")
}
