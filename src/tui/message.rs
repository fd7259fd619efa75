//! The messages between the console's threads.

use std::sync::mpsc::Sender;
use std::time::Instant;

use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Error, Result};
use mcpkg_console::document::{Document, Saved};
use mcpkg_console::fields::Fields;
use mcpkg_console::finding::Finding;
use mcpkg_console::picker::{Picker, Spot};
use mcpkg_console::screen::Line;
use mcpkg_console::{Action, Invocation, Part, Place, Screen};
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
    /// A survey of this machine ended, so the inbox has to be loaded again.
    Surveyed,
    /// This or another process committed this many events. The name is that of the project that is selected now.
    Changed(usize, String),
    /// The database was replaced by a backup. The name is that of the project that is selected now.
    Restored(String),
    /// `true` if the database cannot be read, `false` once it can be read again.
    Lost(bool),
    /// A running operation asks the user a question.
    Asked(Question),
    /// A progress message of a running operation.
    Progress(String),
    /// A part of the answer of an operation that is still running, and the time of this part.
    Reported(Invocation, Box<Reply>, Millis),
    Done(Invocation, Result<Box<Reply>>),
    /// The result of work on a version of an edited text.
    Edited(Version, Edited),
    /// A text for the clipboard, and whether it was short enough for the terminal.
    Copied(Copied, bool),
    /// The result of [`Task::Review`]: whether the diff is marked as reviewed now.
    Reviewed(Result<bool>),
    /// The console must end: the process got a signal, or the terminal is gone.
    Ended,
}

/// An error that enter shows in full.
pub(super) struct Failure {
    pub lines: Vec<Line>,
    /// What the console offers instead of the call that failed.
    pub offers: Vec<Action>,
}

/// Identifies the text of an editor after a number of edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    pub editor: u64,
    pub number: u64,
}

/// The result of work on the text of an editor.
pub enum Edited {
    Checked(Result<Vec<Finding>>),
    Described(Fields),
    Planned(Vec<Line>),
    /// A value was set. Contains the new text.
    Set(Result<String>),
    /// Suggestions for a spot, or the values of a provider: the answer to the request with this number.
    Picked(u64, Result<Picker>),
    /// Describes how saving would change what the workflow does.
    Meant(Vec<Line>),
    /// The text as `$EDITOR` left it.
    Rewritten(Result<String>),
    /// The text that was to be saved, and the outcome.
    Saved(String, Saved),
}

/// Work on an edited text. Each kind of work has its result in [`Edited`].
pub enum Work {
    /// Sets the value at a pointer, or removes it.
    Set {
        pointer: String,
        value: Option<String>,
        new_input: bool,
    },
    /// Looks for suggestions at a spot. `number` identifies the request.
    Suggest {
        spot: Spot,
        words: String,
        number: u64,
    },
    /// Asks a provider for values.
    Ask {
        pointer: String,
        provider: String,
        number: u64,
    },
    Mean(Box<Document>),
}

/// Identifies a load, so that an outdated result can be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub generation: u64,
    pub place: Place,
    pub part: Part,
}

/// A text for the clipboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// What the text is, such as `command`.
    pub what: &'static str,
    pub text: String,
}

/// A question that a running operation asks. Dropping `answer` means no.
pub struct Question {
    pub lines: Vec<Line>,
    pub text: String,
    /// Whether the answer is a line of text instead of yes or no.
    pub is_line: bool,
    /// The name to type to confirm, if the call destroys something.
    pub name: Option<String>,
    /// The call that asks. If it decides on something, `n` adds a note to it.
    pub call: Option<Invocation>,
    pub answer: Sender<Option<String>>,
}

/// Work for a worker thread or, if it needs the terminal or ends the console, for the main loop.
pub enum Task {
    Load(Ticket),
    /// Surveys this machine. With `false`, looks only at the deployed files and keeps the rest of the last survey. With
    /// `true`, or if there was no survey yet, surveys everything.
    Survey(bool),
    Run(Invocation),
    /// Runs an operation that reports while it runs, until the token is cancelled.
    Follow(Invocation, CancellationToken),
    /// Runs an operation that takes over the terminal, such as `prompt edit`.
    RunOnTerminal(Invocation),
    /// Opens the text of an editor, with this name, in `$EDITOR`.
    EditOnTerminal(Version, String, String),
    /// Checks a text and describes its form. With `true`, plans it too.
    Check(Version, String, bool),
    Work(Version, String, Work),
    Save(Version, Box<Document>, String),
    /// Marks the diff with this hash as reviewed, or takes the mark back.
    Review(String),
    Copy(Copied),
    Suspend,
    Redraw,
    Quit,
}

/// Formats an error for the message row.
pub fn failed(error: &Error) -> String {
    format!("error: {error}")
}
