//! The state of the console: its stacks of screens, and how each message changes them.
//!
//! Letters are commands unless the footer shows TYPING. A command such as `a` may ask a question first; only `y`, or
//! the typed name, confirms it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use mcpkg_console::Invocation;
use mcpkg_console::place::{Place, ROOTS, Undo};
use mcpkg_console::screen::Tone;
use mcpkg_core::op::Domains;

use super::level::{Level, UNSAVED};
use super::message::{Failure, Message, Question, Task};
use super::question::{Asking, Drawn};

/// Where typed characters go. With `Nothing`, letters are commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Typing {
    #[default]
    Nothing,
    Filter,
    Note,
    /// The selected field of a form.
    Field,
    Editor,
    /// A value of a workflow's form.
    Value,
    /// The words that narrow the rows of a picker.
    Pick,
}

pub struct App {
    pub domains: Domains,
    pub project: String,
    pub is_read_only: bool,
    pub is_ascii: bool,
    /// The index of the current root among [`ROOTS`].
    pub root: usize,
    /// One stack for each root, so that you return to where you were.
    pub stacks: [Vec<Level>; 6],
    pub typing: Typing,
    pub asking: Option<Asking>,
    /// Questions from other operations, which wait until the current question is answered.
    later: VecDeque<Question>,
    /// Closed [`Place::Ask`] panels whose agent is still running.
    pub(super) aside: Vec<Level>,
    pub message: Option<(Tone, String)>,
    /// The undo that `message` reports. While the message is shown, the key `u` takes this undo back.
    pub(super) undoable: Option<Undo>,
    /// The full text of the error that `message` summarizes. Enter shows it.
    pub(super) failure: Option<Failure>,
    /// The notes to send with a decision, by what it decides on ([`Invocation::decides_on`]). A note stays until the decision
    /// succeeds.
    pub notes: HashMap<String, String>,
    /// What the note that is being typed is about, and the decision that was interrupted for it.
    pub noting: (String, Option<Invocation>),
    /// The number of items in the inbox; `None` until it is loaded.
    pub waiting: Option<usize>,
    /// The ids of the requests for consent in the inbox; `None` until it is loaded.
    pub(super) asks: Option<HashSet<String>>,
    /// The number of events since the feed was last shown.
    pub unseen: usize,
    /// The state of the database: `LOST`, `RESTORED`, or empty if all is well.
    pub state: &'static str,
    /// The number of running operations.
    pub running: usize,
    /// The height of the focused pane in rows. Drawing a frame sets it.
    pub page: usize,
    pub(super) generation: u64,
    has_mouse: bool,
    /// The warning that unsaved text or a running agent would be lost. While the warning is shown, Ctrl-C quits anyway.
    pub(super) leaving: Option<Drawn>,
}

impl App {
    pub fn new(domains: Domains, project: String, is_read_only: bool, is_ascii: bool) -> Self {
        Self {
            domains,
            project,
            is_read_only,
            is_ascii,
            root: 0,
            stacks: ROOTS.map(|(_, _, place)| vec![Level::new(place)]),
            typing: Typing::Nothing,
            asking: None,
            later: VecDeque::new(),
            aside: Vec::new(),
            message: None,
            undoable: None,
            failure: None,
            notes: HashMap::new(),
            noting: Default::default(),
            waiting: None,
            asks: None,
            unseen: 0,
            state: "",
            running: 0,
            page: 10,
            generation: 0,
            has_mouse: false,
            leaving: None,
        }
    }

    /// Returns the screen on top of the current stack.
    pub fn level(&self) -> &Level {
        let stack = &self.stacks[self.root];
        &stack[stack.len() - 1]
    }

    pub fn level_mut(&mut self) -> &mut Level {
        let stack = &mut self.stacks[self.root];
        let top = stack.len() - 1;
        &mut stack[top]
    }

    pub fn has_mouse(&self) -> bool {
        self.has_mouse
    }

    pub fn toggle_mouse(&mut self) {
        self.has_mouse = !self.has_mouse;
    }

    /// Handles a message. Returns the tasks to run.
    pub fn update(&mut self, message: Message) -> Vec<Task> {
        let mut tasks = Vec::new();
        match message {
            Message::Key(key, at) => self.key(key, at, &mut tasks),
            Message::Pasted(text) => self.paste(&text, &mut tasks),
            Message::Resized => tasks.push(Task::Redraw),
            Message::Loaded(ticket, screen) => self.loaded(&ticket, screen, &mut tasks),
            Message::Surveyed => self.load_inbox(&mut tasks),
            Message::Changed(events, project) => {
                self.project = project;
                self.unseen = if self.root == 1 { 0 } else { self.unseen + events };
                self.state = "";
                tasks.push(Task::Survey(false));
                self.reload(&mut tasks);
            }
            Message::Restored(project) => {
                self.project = project;
                self.state = "RESTORED";
                self.reload(&mut tasks);
            }
            Message::Lost(is_lost) => {
                self.state = if is_lost { "LOST" } else { "" };
                if !is_lost {
                    self.message = None;
                    self.reload(&mut tasks);
                }
            }
            Message::Asked(question) => match self.asking.is_some() {
                true => self.later.push_back(question),
                false => self.ask(question),
            },
            Message::Progress(text) => self.message = Some((Tone::Plain, text)),
            Message::Reported(invocation, reply, now) => self.reported(&invocation, &reply, now, &mut tasks),
            Message::Done(invocation, result) => self.done(&invocation, result.as_deref(), &mut tasks),
            Message::Copied(copied, is_copied) => self.copied(&copied, is_copied),
            Message::Edited(version, result) => self.worked(version, result, &mut tasks),
            Message::Reviewed(result) => {
                match result {
                    Ok(true) => self.say(Tone::Good, "Marked as reviewed"),
                    Ok(false) => self.say(Tone::Plain, "Not marked as reviewed any more"),
                    Err(error) => self.fail(&error, None),
                }
                self.reload(&mut tasks);
            }
            Message::Ended => tasks.push(Task::Quit),
        }
        tasks
    }

    /// Returns the tasks that load the first screen and start a survey of this machine.
    pub fn start(&mut self) -> Vec<Task> {
        let mut tasks = vec![Task::Survey(true)];
        self.load(&mut tasks);
        tasks
    }

    /// Opens a place on top of the stack. One of [`ROOTS`] opens its own stack instead.
    pub fn open(&mut self, place: Place, tasks: &mut Vec<Task>) {
        if let Some(root) = ROOTS.iter().position(|(_, _, known)| *known == place) {
            return self.go(root, tasks);
        }
        let mut level = self.level_for(place);
        if !self.level().preview_views.is_empty() {
            level.part.view = self.level().preview_view;
        }
        self.stacks[self.root].push(level);
        self.typing = match self.level().place {
            Place::Palette => Typing::Filter,
            Place::Ask(_) if self.level().asked.is_none() => Typing::Field,
            _ => Typing::Nothing,
        };
        self.load(tasks);
    }

    /// Switches to the stack of a root. If it is already the current one, closes all its screens but the first, unless
    /// one of them has unsaved text.
    pub fn go(&mut self, root: usize, tasks: &mut Vec<Task>) {
        match root == self.root {
            true if self.stacks[root].iter().any(Level::is_unsaved) => return self.say(Tone::Warning, UNSAVED),
            true => {
                self.stacks[root].drain(1..).collect::<Vec<_>>().into_iter().for_each(|level| self.put_aside(level))
            }
            false => self.root = root,
        }
        match root {
            0 => tasks.push(Task::Survey(true)),
            1 => self.unseen = 0,
            _ => {}
        }
        self.load(tasks);
    }

    /// Returns whether the stack has only its first screen.
    pub fn is_root(&self) -> bool {
        self.stacks[self.root].len() == 1
    }

    /// Closes the screen on top, unless it is the first one.
    pub fn back(&mut self, tasks: &mut Vec<Task>) {
        if !self.is_root() {
            if let Some(level) = self.stacks[self.root].pop() {
                self.put_aside(level);
            }
            self.load(tasks);
        }
    }

    fn ask(&mut self, question: Question) {
        self.asking = Some(Asking::new(question));
        self.message = None;
    }

    /// Shows the next waiting question, after one was answered.
    pub fn answered(&mut self) {
        if let Some(question) = self.later.pop_front() {
            self.ask(question);
        }
    }

    pub fn say(&mut self, tone: Tone, text: &str) {
        (self.failure, self.undoable) = (None, None);
        self.message = Some((tone, text.to_owned()));
    }

    /// Records when the questions on the screen were drawn.
    pub fn drawn(&mut self, at: Instant) {
        let editor = self.level_mut().editor.as_deref_mut().filter(|editor| editor.asks());
        editor.into_iter().for_each(|editor| editor.asked.record(at));
        self.leaving.iter_mut().for_each(|leaving| leaving.record(at));
        self.asking.iter_mut().for_each(|asking| asking.drawn.record(at));
    }
}
