//! Runs the actions of keys, and shows the results of the operations.

use mcpkg_base::error::{Code, Error};
use mcpkg_console::place::{Place, Text, Undo};
use mcpkg_console::screen::{Line, Screen, Tone};
use mcpkg_console::{Does, Invocation, reply};
use mcpkg_core::op::{AskedIn, Reply};

use super::app::{App, Typing};
use super::level::{Level, Shown};
use super::message::Task;

impl App {
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
        let note = invocation.decides_on().and_then(|what| self.notes.get(&what));
        let invocation = invocation.noting(note.map_or("", String::as_str));
        self.running += 1;
        // `edit` opens $EDITOR, which needs the terminal, so the console leaves the screen until the editor ends.
        let is_edit = invocation.words.ends_with(" edit");
        tasks.push(if is_edit { Task::RunOnTerminal(invocation) } else { Task::Run(invocation) });
    }

    pub(super) fn done(&mut self, invocation: &Invocation, result: Result<&Reply, &Error>, tasks: &mut Vec<Task>) {
        self.running = self.running.saturating_sub(1);
        let is_ask = self.agent_ended(invocation, result);
        match result {
            // The panel has shown the agent's reports already.
            Ok(found) if is_ask => self.say(Tone::Good, &reply::sentence(found)),
            Ok(found) if invocation.words == "draft infer" => self.inferred(found, tasks),
            Ok(found) => {
                if let Some(what) = invocation.decides_on() {
                    self.notes.remove(&what);
                }
                let decided = mcpkg_console::decided(invocation, &found.data);
                let tone = if reply::is_done(found) { Tone::Good } else { Tone::Warning };
                self.say(tone, &decided.unwrap_or_else(|| reply::sentence(found)));
                if let Some(seq) = found.data["event"].as_i64().filter(|_| invocation.words == "undo") {
                    self.say(Tone::Good, &format!("{}   u undo", reply::sentence(found)));
                    self.undoable = Some(Undo::Event(seq));
                }
                if matches!(self.level().place, Place::Answers(_)) {
                    self.stacks[self.root].pop();
                }
                if invocation.words == "undo" && found.data["undone"] != 0 {
                    // The preview has nothing left to undo. The user may have gone elsewhere in the meantime.
                    let is_preview = |level: &Level| matches!(level.place, Place::Undo(_));
                    self.stacks.iter_mut().for_each(|stack| drop(stack.pop_if(|level| is_preview(level))));
                }
                // The output of a form's command or a preview may be longer than the message line, so it gets a screen.
                let lines = reply::lines(found, AskedIn::Terminal);
                let is_of = |words: &String| *words == invocation.words;
                if matches!(&self.level().place, Place::Form(words) | Place::Filled(words, _) if is_of(words)) {
                    self.stacks[self.root].pop();
                    self.print(invocation, lines);
                } else if invocation.has("--dry-run") {
                    self.print(invocation, lines);
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

    /// Shows the output of a call on its own screen, if it has more than one line.
    fn print(&mut self, invocation: &Invocation, lines: Vec<Line>) {
        if lines.len() > 1 {
            let mut level = Level::new(Place::Printed);
            level.shown = Shown::Screen(Box::new(Screen::text(invocation.command(), lines)));
            self.stacks[self.root].push(level);
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
        let lines = reply::lines(found, AskedIn::Terminal);
        let notes = found.warnings.len();
        let mut level = Level::new(Place::Printed);
        level.shown = Shown::Screen(Box::new(Screen::text("Feed > Notes about the draft", lines)));
        self.stacks[self.root].push(level);
        let id = found.data["id"].as_str().unwrap_or_default();
        self.open(Place::Editor(Text::Draft(id.to_owned())), tasks);
        self.say(Tone::Good, &format!("Proposed a workflow; esc shows {notes} notes about it"));
    }

    /// Returns the note that the keys of the screen would send; empty if there is none.
    pub(super) fn decides_with(&self) -> &str {
        let note = self.level().decides_on().and_then(|what| self.notes.get(&what));
        note.map_or("", String::as_str)
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
            Does::Note => {
                self.noting = (self.level().decides_on().unwrap_or_default(), None);
                self.typing = Typing::Note;
            }
            Does::Review(digest) => tasks.push(Task::Review(digest)),
        }
        true
    }
}
