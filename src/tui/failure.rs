//! Shows errors: one line in the footer and, after enter, the whole error with its hints and the command that failed.

use mcpkg_base::error::Error;
use mcpkg_console::screen::{Line, Screen, Tone};
use mcpkg_console::{Invocation, Place, offers, reply};
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::app::{App, Typing};
use super::level::{Level, Shown};
use super::message::{Failure, failed};

impl App {
    /// Shows an error in the footer. If the next key is enter, the whole error is shown, with the command that failed,
    /// if any.
    pub(super) fn fail(&mut self, error: &Error, call: Option<&Invocation>) {
        self.say(Tone::Bad, &failed(error));
        let mut lines = reply::error(error);
        lines.extend(call.map(|call| Line::of(Tone::Dim, "command: ").then(Tone::Plain, &call.command())));
        let offers = call.map(|call| offers::instead_of(call, error)).unwrap_or_default();
        self.failure = Some(Failure { lines, offers });
    }

    /// Shows the footer's error in full if the key is enter and the user is not typing; otherwise returns false. After
    /// any key, the error can no longer be opened.
    pub(super) fn open_failure(&mut self, key: KeyEvent) -> bool {
        let Some(Failure { lines, offers }) = self.failure.take() else { return false };
        if key.code != KeyCode::Enter || self.typing != Typing::Nothing {
            return false;
        }
        self.message = None;
        let mut level = Level::new(Place::Printed);
        level.shown = Shown::Screen(Box::new(Screen::text("Error", lines).with(offers)));
        self.stacks[self.root].push(level);
        true
    }
}
