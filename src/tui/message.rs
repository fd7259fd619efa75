//! What the threads of the console tell each other.

use std::sync::mpsc::Sender;
use std::time::Instant;

use mcpkg_base::error::{Error, Result};
use mcpkg_console::document::{Document, Finding};
use mcpkg_console::screen::Line;
use mcpkg_console::{Invocation, Place, Screen};
use mcpkg_core::op::Reply;
use ratatui::crossterm::event::KeyEvent;

/// What happened. The main thread handles one message at a time and then draws.
pub enum Message {
    /// A key, and when it was read: a key that is older than the frame on the screen does not count for it.
    Key(KeyEvent, Instant),
    Pasted(String),
    Resized,
    Loaded(Ticket, Result<Box<Screen>>),
    /// Somebody committed this many events.
    Changed(usize),
    /// The database was replaced by a backup.
    Restored,
    /// The database cannot be read, or can be read again.
    Lost(bool),
    /// An operation asks the person.
    Asked(Question),
    /// What a running operation is doing.
    Progress(String),
    Done(Invocation, Result<Box<Reply>>),
    /// The findings of a version of the edited text.
    Checked(u64, Result<Vec<Finding>>),
    /// The lower pane of the editor: a plan, or what could be put at the cursor.
    Planned(u64, Vec<Line>),
    Saved(Result<Box<Reply>>),
    /// The process was asked to end.
    Ended,
}

/// Identifies a load, so that an answer that comes too late is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub generation: u64,
    pub place: Place,
    pub view: usize,
}

/// A question of a running operation. Dropping `answer` means no.
pub struct Question {
    pub lines: Vec<Line>,
    pub text: String,
    /// Whether a line of text is the answer, instead of yes or no.
    pub is_line: bool,
    pub answer: Sender<Option<String>>,
}

/// Work for another thread, or for the owner of the terminal.
pub enum Task {
    Load(Ticket),
    Run(Invocation),
    /// Runs an operation that takes over the terminal, such as `prompt edit`.
    RunOnTerminal(Invocation),
    Check(u64, String),
    Plan(u64, String),
    Save(Box<Document>, String),
    Copy(String),
    Suspend,
    Redraw,
    Quit,
}

/// Returns the message for the second row from below.
pub fn failed(error: &Error) -> String {
    format!("error: {error}")
}
