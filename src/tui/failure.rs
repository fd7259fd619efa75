//! Shows errors: one line in the footer and, after enter, the whole error with its hints and the command that failed.

use mcpkg_base::error::Error;
use mcpkg_console::screen::{Line, Screen, Tone};
use mcpkg_console::{Invocation, Place, reply};
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::app::{App, Typing};
use super::level::{Level, Shown};
use super::message::failed;

impl App {
    /// Shows an error in the footer. If the next key is enter, it shows the whole error and the command that failed.
    pub(super) fn fail(&mut self, error: &Error, call: Option<&Invocation>) {
        self.say(Tone::Bad, &failed(error));
        let mut lines = reply::error(error);
        lines.extend(call.map(|call| Line::of(Tone::Dim, "command: ").then(Tone::Plain, &call.command())));
        self.failure = Some(lines);
    }

    /// If the key is enter and the user is not typing, shows the whole error whose line is in the footer. Otherwise
    /// returns false. Any key forgets the error.
    pub(super) fn open_failure(&mut self, key: KeyEvent) -> bool {
        let Some(lines) = self.failure.take() else { return false };
        if key.code != KeyCode::Enter || self.typing != Typing::Nothing {
            return false;
        }
        self.message = None;
        let mut level = Level::new(Place::Printed);
        level.shown = Shown::Screen(Box::new(Screen::text("Error", lines)));
        self.stacks[self.root].push(level);
        true
    }
}
