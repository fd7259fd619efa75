//! The state of the console: its stacks of screens, and how each message changes them.
//!
//! Letters are commands unless the footer shows TYPING. A command such as `a` may ask a question first; only `y`, or
//! the typed name, confirms it.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use mcpkg_base::error::{Code, Error};
use mcpkg_console::place::{Place, ROOTS, Text};
use mcpkg_console::screen::{Body, Line, List, Row, Tone};
use mcpkg_console::{Does, Invocation, Part, Screen, reply};
use mcpkg_core::op::{Domains, Reply};

use super::level::{Level, Shown, UNSAVED};
use super::message::{Message, Question, Task, Ticket};
use super::question::Asking;

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
    /// The full text of the error that `message` summarizes. Enter shows it.
    pub(super) failure: Option<Vec<Line>>,
    /// The note to send with the next approval or denial. It stays until that succeeds.
    pub note: String,
    /// The number of items in the inbox; `None` until it is loaded.
    pub waiting: Option<usize>,
    /// The ids of the requests for consent in the inbox; `None` until it is loaded.
    asks: Option<HashSet<String>>,
    /// The number of events since the feed was last shown.
    pub unseen: usize,
    /// The state of the database: `LOST`, `RESTORED`, or empty if all is well.
    pub state: &'static str,
    /// The number of running operations.
    pub running: usize,
    /// The height of the focused pane in rows. Drawing a frame sets it.
    pub page: usize,
    generation: u64,
    has_mouse: bool,
    /// Whether the next Ctrl-C quits, even if there is unsaved text or a running agent.
    pub(super) is_leaving: bool,
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
            failure: None,
            note: String::new(),
            waiting: None,
            asks: None,
            unseen: 0,
            state: "",
            running: 0,
            page: 10,
            generation: 0,
            has_mouse: false,
            is_leaving: false,
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

    /// Switches to the stack of a root. If the root is already the current one, closes all screens but its first.
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

    /// Loads the top screen again, unless it is one that does not change ([`Place::is_live`]). The old content stays visible
    /// until the new content is loaded.
    pub fn load(&mut self, tasks: &mut Vec<Task>) {
        let level = self.level();
        if !level.place.is_live() && level.shown.screen().is_some() {
            return;
        }
        self.fetch(tasks);
    }

    fn fetch(&mut self, tasks: &mut Vec<Task>) {
        let generation = self.next();
        let level = self.level_mut();
        level.wanted = generation;
        tasks.push(Task::Load(Ticket { generation, place: level.place.clone(), part: level.part.clone() }));
        self.look(tasks);
    }

    /// Loads more rows of the list, unless they are already being loaded.
    pub fn more(&mut self, tasks: &mut Vec<Task>) {
        let level = self.level_mut();
        if level.part == level.loaded {
            level.part.grow();
            self.fetch(tasks);
        }
    }

    /// Searches the database for the words of the filter, if not all rows of the list are loaded.
    pub fn search_database(&mut self, tasks: &mut Vec<Task>) {
        let level = self.level_mut();
        if level.is_searched() && level.part.words != level.filter {
            level.part.words.clone_from(&level.filter);
            self.fetch(tasks);
        }
    }

    /// Loads the preview of the selected row, unless it is loaded already.
    pub fn look(&mut self, tasks: &mut Vec<Task>) {
        let generation = self.next();
        let level = self.level_mut();
        let look = level.look().cloned();
        if look == level.previewed {
            return;
        }
        level.previewed.clone_from(&look);
        level.preview = Shown::Loading;
        if let Some(place) = look {
            level.wanted_preview = generation;
            let part = Part::of_view(level.preview_view);
            tasks.push(Task::Load(Ticket { generation, place, part }));
        }
        if matches!(level.shown.screen(), Some(Screen { body: Body::List(_), .. })) {
            level.scroll = 0;
            level.diff.open.clear();
        }
    }

    /// Loads the screen, its preview and the inbox again, after the database or a mark changed.
    fn reload(&mut self, tasks: &mut Vec<Task>) {
        if self.level().place.is_live() {
            let previewed = self.level().previewed.clone();
            self.load(tasks);
            if let Some(place) = previewed {
                let generation = self.next();
                let level = self.level_mut();
                level.wanted_preview = generation;
                let part = Part::of_view(level.preview_view);
                tasks.push(Task::Load(Ticket { generation, place, part }));
            }
        }
        if self.level().place != Place::Inbox {
            self.load_inbox(tasks);
        }
    }

    /// Loads the inbox, since the header shows the number of its items on every screen.
    fn load_inbox(&mut self, tasks: &mut Vec<Task>) {
        let generation = self.next();
        let inbox = &mut self.stacks[0][0];
        inbox.wanted = generation;
        tasks.push(Task::Load(Ticket { generation, place: Place::Inbox, part: inbox.part.clone() }));
    }

    fn next(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    fn loaded(&mut self, ticket: &Ticket, screen: Result<Box<Screen>, Error>, tasks: &mut Vec<Task>) {
        if ticket.place == Place::Inbox
            && let Ok(screen) = &screen
            && let Body::List(list) = &screen.body
        {
            self.waiting = Some(list.rows.iter().filter(|row| row.look.is_some()).count());
            self.announce(list);
        }
        // While the database cannot be read, keep the content that was loaded before.
        let is_lost = self.state == "LOST";
        let levels = self.stacks.iter_mut().flatten();
        for level in levels {
            if level.wanted == ticket.generation {
                match screen {
                    Ok(screen) => {
                        if !ticket.part.words.is_empty() && level.loaded.words != ticket.part.words {
                            // The first row is the best hit of a search.
                            level.selected.clear();
                        }
                        level.loaded = ticket.part.clone();
                        tasks.extend(level.take(screen));
                    }
                    Err(_) if is_lost && level.shown.screen().is_some() => {}
                    Err(error) => level.shown = Shown::Failed(reply::error(&error)),
                }
                break;
            }
            if level.wanted_preview == ticket.generation {
                level.preview = match screen {
                    Ok(screen) => {
                        level.preview_views = screen.views;
                        Shown::Screen(screen)
                    }
                    Err(_) if is_lost && level.preview.screen().is_some() => break,
                    Err(error) => Shown::Failed(reply::error(&error)),
                };
                break;
            }
        }
        self.look(tasks);
    }

    /// Shows a message about a new request for consent, unless the inbox or another message is on the screen.
    fn announce(&mut self, inbox: &List) {
        let asks = |row: &&Row| row.id.starts_with("ask ");
        let now = inbox.rows.iter().filter(asks).map(|row| row.id.clone()).collect();
        let Some(known) = self.asks.replace(now) else { return };
        let new = inbox.rows.iter().filter(asks).find(|row| !known.contains(&row.id));
        if let Some([_, from, what, ..]) = new.map(|row| &row.cells[..])
            && self.level().place != Place::Inbox
            && self.message.is_none()
        {
            let text = format!("{} asks: {}   1 Inbox", from.text(), what.text());
            self.say(Tone::Warning, &text);
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

    /// Runs an operation. Refuses it while the database cannot be read, and refuses changes in a read-only console.
    pub fn run(&mut self, invocation: Invocation, tasks: &mut Vec<Task>) {
        let reads = invocation.entry(self.domains).is_some_and(|entry| entry.effect.reads());
        if self.is_read_only && !reads {
            self.say(Tone::Warning, "read-only: the console was started with --read-only");
            return;
        }
        if self.state == "LOST" {
            self.say(Tone::Warning, "the database cannot be read now; put its file back");
            return;
        }
        let invocation = invocation.noting(&self.note);
        self.running += 1;
        // `edit` opens $EDITOR, which needs the terminal, so the console leaves the screen until it ends.
        let is_edit = invocation.words.ends_with(" edit");
        tasks.push(if is_edit { Task::RunOnTerminal(invocation) } else { Task::Run(invocation) });
    }

    fn done(&mut self, invocation: &Invocation, result: Result<&Reply, &Error>, tasks: &mut Vec<Task>) {
        self.running = self.running.saturating_sub(1);
        let is_ask = self.agent_ended(invocation, result);
        match result {
            // The panel has shown the agent's reports already.
            Ok(found) if is_ask => self.say(Tone::Good, &reply::sentence(found)),
            Ok(found) if invocation.words == "draft infer" => self.inferred(found, tasks),
            Ok(found) => {
                if invocation.decides() {
                    self.note.clear();
                }
                let decided = mcpkg_console::decided(invocation, &found.data);
                self.say(Tone::Good, &decided.unwrap_or_else(|| reply::sentence(found)));
                if matches!(self.level().place, Place::Answers(_)) {
                    self.stacks[self.root].pop();
                }
                if invocation.words == "undo" && found.data["undone"] != 0 {
                    // The preview has nothing left to undo. The user may have gone elsewhere in the meantime.
                    let is_preview = |level: &Level| matches!(level.place, Place::Undo(_));
                    self.stacks.iter_mut().for_each(|stack| drop(stack.pop_if(|level| is_preview(level))));
                }
                // The output of a form's command may be longer than the message line, so it gets a screen.
                let lines = reply::lines(found);
                let is_of = |words: &String| *words == invocation.words;
                if matches!(&self.level().place, Place::Form(words) | Place::Filled(words, _) if is_of(words)) {
                    self.stacks[self.root].pop();
                    if lines.len() > 1 {
                        let mut level = Level::new(Place::Printed);
                        level.shown = Shown::Screen(Box::new(Screen::text(invocation.command(), lines)));
                        self.stacks[self.root].push(level);
                    }
                }
            }
            // The user answered no, which is not a failure.
            Err(error) if error.code() == Code::ConfirmRequired => self.say(Tone::Plain, &error.to_string()),
            Err(error) => self.fail(error, Some(invocation)),
        }
        self.level_mut().previewed = None;
        if self.level().place.is_live() {
            self.load(tasks);
        }
    }

    /// Opens the draft that `draft infer` made from the marked runs. The notes about the draft are on the screen below it
    /// in the stack.
    fn inferred(&mut self, found: &Reply, tasks: &mut Vec<Task>) {
        if !matches!(self.level().place, Place::Marked(_)) {
            // The user has gone elsewhere. The draft is in the inbox.
            return self.say(Tone::Good, &reply::sentence(found));
        }
        self.level_mut().place = Place::Feed;
        let lines = reply::lines(found);
        let notes = found.warnings.len();
        let mut level = Level::new(Place::Printed);
        level.shown = Shown::Screen(Box::new(Screen::text("Feed > Notes about the draft", lines)));
        self.stacks[self.root].push(level);
        let id = found.data["id"].as_str().unwrap_or_default();
        self.open(Place::Editor(Text::Draft(id.to_owned())), tasks);
        self.say(Tone::Good, &format!("Proposed a workflow; esc shows {notes} notes about it"));
    }

    pub fn say(&mut self, tone: Tone, text: &str) {
        self.failure = None;
        self.message = Some((tone, text.to_owned()));
    }

    /// Runs the action for a key (see [`Level::actions`]). Returns false if there is none.
    pub fn act(&mut self, key: char, tasks: &mut Vec<Task>) -> bool {
        let Some(action) = self.level().actions().into_iter().find(|action| action.key == key).cloned() else {
            return false;
        };
        if self.is_read_only && action.changes(self.domains) {
            self.say(Tone::Warning, "read-only: the console was started with --read-only");
            return true;
        }
        match action.does {
            Does::Call(invocation) => self.run(*invocation, tasks),
            Does::Open(place) => self.open(place, tasks),
            Does::Replace(place) => {
                self.level_mut().place = place;
                self.load(tasks);
            }
            Does::More => self.more(tasks),
            Does::Note => self.typing = Typing::Note,
            Does::Review(digest) => tasks.push(Task::Review(digest)),
        }
        true
    }

    /// Records when a question was first drawn. Keys that were pressed earlier do not answer it.
    pub fn drawn(&mut self, at: Instant) {
        if let Some(asking) = &mut self.asking {
            asking.drawn.get_or_insert(at);
        }
    }
}
