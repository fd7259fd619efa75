//! The panel that asks the user's agent: runs `mcpkg ask` in the background, and shows what the agent does.

use mcpkg_console::place::{Place, Text};
use mcpkg_console::screen::{Row, Span, Tone};
use mcpkg_console::{Invocation, ask};
use mcpkg_core::op::Reply;
use ratatui::crossterm::event::KeyCode;
use tokio_util::sync::CancellationToken;

use super::app::{App, Typing};
use super::level::{Asked, Level};
use super::message::{Task, failed};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Error;

impl App {
    /// Handles a key of the panel. Returns false if the top screen is not a panel, or the panel does not use the key.
    pub(super) fn ask_key(&mut self, key: KeyCode, tasks: &mut Vec<Task>) -> bool {
        if !matches!(self.level().place, Place::Ask(_)) {
            return false;
        }
        let draft = self.level_mut().reported().cloned();
        let selected = self.level().field;
        let has_values =
            self.form().and_then(|form| form.fields.get(selected)).is_some_and(|field| !field.values.is_empty());
        match key {
            KeyCode::Enter => match draft {
                Some(draft) => self.open(draft, tasks),
                None if has_values => self.choose(),
                None => self.typing = Typing::Field,
            },
            KeyCode::Char('r') => self.run_agent(tasks),
            KeyCode::Char('x') => match &self.level().asked {
                Some(asked) => {
                    asked.cancelled.cancel();
                    self.say(Tone::Plain, "Stopping the agent...");
                }
                None => self.say(Tone::Plain, "No agent runs here"),
            },
            _ => return false,
        }
        true
    }

    fn run_agent(&mut self, tasks: &mut Vec<Task>) {
        if self.is_read_only {
            return self.say(Tone::Warning, "read-only: the console was started with --read-only");
        }
        if self.level().asked.is_some() {
            return self.say(Tone::Warning, "The agent is still running; x stops it");
        }
        let Some(form) = self.form() else { return };
        let missing = form.missing().join(", ");
        if !missing.is_empty() {
            return self.say(Tone::Warning, &format!("missing: {missing}"));
        }
        let (invocation, cancelled) = (form.invocation(), CancellationToken::new());
        self.level_mut().reports.clear();
        self.level_mut().asked = Some(Asked { invocation: invocation.clone(), cancelled: cancelled.clone() });
        self.running += 1;
        tasks.push(Task::Follow(invocation, cancelled));
    }

    /// Adds what the agent has done to its panel. If that includes a draft and the panel is still on top, opens the draft.
    pub(super) fn reported(&mut self, invocation: &Invocation, reply: &Reply, now: Millis, tasks: &mut Vec<Task>) {
        let is_here = self.level().is_of(invocation);
        let Some(level) = self.panel(invocation) else { return };
        let rows = ask::reported(reply, level.reports.len(), now);
        let drafts = ask::drafts(&rows);
        level.reports.extend(rows);
        if let (Some(draft), true) = (drafts.last(), is_here) {
            self.typing = Typing::Nothing;
            self.open(draft.clone(), tasks);
        }
    }

    /// Records in the panel that its agent has ended. Returns false if no panel has started the invocation.
    pub(super) fn agent_ended(&mut self, invocation: &Invocation, result: Result<&Reply, &Error>) -> bool {
        let Some(level) = self.panel(invocation) else { return false };
        level.asked = None;
        if let Err(error) = result {
            let line = |tone, text: &str| Row {
                cells: vec![Span::plain("        "), Span::new(tone, text)],
                ..Row::default()
            };
            level.reports.push(line(Tone::Bad, &failed(error)));
            level.reports.extend(error.hints().iter().map(|hint| line(Tone::Name, &format!("hint: {hint}"))));
        }
        self.aside.retain(|level| level.asked.is_some());
        true
    }

    /// Returns the panel that started an invocation, whether it is on a stack or put aside.
    fn panel(&mut self, invocation: &Invocation) -> Option<&mut Level> {
        self.stacks.iter_mut().flatten().chain(&mut self.aside).find(|level| level.is_of(invocation))
    }

    /// Keeps a closed panel while its agent runs, so that it can be opened again. Drops any other level.
    pub(super) fn put_aside(&mut self, level: Level) {
        if level.asked.is_some() {
            self.say(Tone::Plain, "The agent is still running; @ shows it again");
            self.aside.push(level);
        }
    }

    /// Returns a new level for a place, or the panel that was put aside for it.
    pub(super) fn level_for(&mut self, place: Place) -> Level {
        match self.aside.iter().position(|level| level.place == place) {
            Some(at) => self.aside.remove(at),
            None => Level::new(place),
        }
    }

    /// Returns whether an agent is running.
    pub(super) fn is_asking(&self) -> bool {
        self.stacks.iter().flatten().chain(&self.aside).any(|level| level.asked.is_some())
    }
}

/// Returns the place of the panel for the text of an editor; `None` if `place` is not an editor.
pub(super) fn about(place: &Place) -> Option<Place> {
    match place {
        Place::Editor(Text::Empty) => Some(Place::Ask(None)),
        Place::Editor(text) => Some(Place::Ask(Some(text.clone()))),
        _ => None,
    }
}
