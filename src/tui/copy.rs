//! Copies the shell command of an action, or the text on the screen, to the terminal's clipboard.

use mcpkg_console::screen::{Body, Line, Row, Screen, Tone, quoted};
use mcpkg_console::{Does, Invocation, Place};

use super::app::App;
use super::level::{Level, Shown};
use super::message::{Copied, Task};

impl App {
    /// Copies a shell command: the form's command, else that of the first action that runs an operation, else the
    /// command for the place that the selected row opens.
    pub(super) fn copy_command(&mut self, tasks: &mut Vec<Task>) {
        let command = match self.form() {
            Some(form) => Some(form.invocation()),
            None => self.level().actions().iter().find_map(|action| match &action.does {
                Does::Call(invocation) => Some((**invocation).clone()),
                Does::Open(_) | Does::Replace(_) | Does::More | Does::Note | Does::Review(_) => None,
            }),
        };
        let command = command.or_else(|| command_of(self.level().selected_row()?.look.as_ref()?));
        match command {
            Some(command) => tasks.push(Task::Copy(Copied { what: "command", text: command.command() })),
            None => self.say(Tone::Plain, "There is no command to copy here; C copies the text"),
        }
    }

    /// Copies the text that has the focus: the selected row of a list, or else the whole text, diff or editor. Hidden
    /// characters are copied as the marks that the screen shows for them, except from an editor.
    pub(super) fn copy_text(&mut self, tasks: &mut Vec<Task>) {
        let copied = self.level().copied();
        match copied.filter(|copied| !copied.text.trim().is_empty()) {
            Some(copied) => tasks.push(Task::Copy(copied)),
            None => self.say(Tone::Plain, "There is no text to copy here"),
        }
    }

    /// Reports that a text was copied. If it was too long for the clipboard, shows the text instead.
    pub(super) fn copied(&mut self, copied: &Copied, is_copied: bool) {
        let Copied { what, text } = copied;
        if is_copied {
            let shown = match text.lines().count() {
                0 | 1 => text.trim_end().to_owned(),
                lines => format!("{lines} lines"),
            };
            return self.say(Tone::Plain, &format!("Copied: {shown}"));
        }
        let mut level = Level::new(Place::Printed);
        let lines = quoted(text).collect();
        level.shown = Shown::Screen(Box::new(Screen::text(format!("The {what}"), lines)));
        self.stacks[self.root].push(level);
        self.say(Tone::Warning, &format!("Not copied: the {what} is too long for a terminal's clipboard"));
    }
}

impl Level {
    fn copied(&self) -> Option<Copied> {
        if let Some(editor) = &self.editor {
            return Some(Copied { what: "text", text: editor.text() });
        }
        let focused = if self.in_preview { &self.preview } else { &self.shown };
        let lines = match focused {
            Shown::Loading => return None,
            Shown::Failed(lines) => texts(lines),
            Shown::Screen(screen) => match &screen.body {
                Body::List(_) if !self.in_preview => {
                    return self.selected_row().map(|row| Copied { what: "row", text: cells(row) });
                }
                Body::List(list) => list.rows.iter().map(cells).collect(),
                Body::Text(lines) => texts(lines),
                Body::Diff(diff) => texts(&diff.lines()),
                Body::Editor(document) => return Some(Copied { what: "text", text: document.text.clone() }),
                Body::Form(_) => return None,
            },
        };
        Some(Copied { what: "text", text: lines.join("\n") + "\n" })
    }
}

/// Returns the command for a place that a row opens; `None` if there is no single command for it.
fn command_of(place: &Place) -> Option<Invocation> {
    Some(match place {
        Place::Form(words) | Place::List(words) => Invocation::new(words),
        Place::Filled(words, name) => Invocation::new(words).with(name),
        Place::Shown(noun, name) => Invocation::new(&format!("{noun} show")).with(name),
        Place::Event(seq) => Invocation::new("undo").with(seq.to_string()),
        _ => return None,
    })
}

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::text).collect()
}

/// Joins the cells of a row that are not empty, with two spaces between them.
fn cells(row: &Row) -> String {
    let cells: Vec<&str> = row.cells.iter().map(|cell| cell.text()).filter(|text| !text.is_empty()).collect();
    cells.join("  ")
}
