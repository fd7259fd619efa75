//! The editor's questions: whether to save a text, to throw it away, or to merge the version that somebody else has
//! saved since the text was opened.

use mcpkg_console::place::{Place, Text};
use mcpkg_console::screen::Tone;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::app::{App, Typing};
use super::editing::READ_ONLY;
use super::editor::{Editor, Lower};
use super::message::{Task, Work};

impl App {
    /// Handles a key while the lower pane asks a question. Returns false if the editor does not use the key.
    pub(super) fn question_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) -> bool {
        let page = isize::try_from(self.page.max(1)).unwrap_or(1);
        let Some(editor) = self.open_editor() else { return false };
        if scrolled(editor, key, page) {
            self.put_question();
            return true;
        }
        match &editor.lower {
            Lower::Difference(_) => match key.code == KeyCode::Char('y') {
                true => self.save(tasks),
                false => editor.lower = Lower::Findings,
            },
            Lower::Lost(_) => {
                editor.lower = Lower::Findings;
                if key.code == KeyCode::Char('y') {
                    self.back(tasks);
                }
            }
            Lower::Meanwhile(versions) if key.code == KeyCode::Char('a') => match versions.merged(&editor.text()) {
                Some(text) => {
                    editor.lower = Lower::Findings;
                    self.edited(|editor| editor.replace(&text), tasks);
                    self.say(Tone::Good, "Both changes are in the text; s shows the diff and saves   u undo");
                }
                None => self.say(Tone::Warning, "Both sides changed the same lines: edit the text"),
            },
            _ => return self.plain_key(key, tasks),
        }
        true
    }

    /// Closes the editor. If its text is not saved, first shows what is lost, and `y` closes it.
    pub(super) fn throw_away(&mut self, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        if !editor.is_changed() {
            return self.back(tasks);
        }
        editor.ask(Lower::Lost(mcpkg_console::editor::lost(&editor.document, &editor.text())));
        self.put_question();
    }

    /// Shows the question of the lower pane, if it asks one.
    fn put_question(&mut self) {
        if let Some(question) = self.open_editor().and_then(|editor| editor.question()) {
            self.say(Tone::Warning, &question);
        }
    }

    /// Shows the diff that saving would make. `y` then saves. A draft is saved at once.
    pub(super) fn review(&mut self, tasks: &mut Vec<Task>) {
        if self.is_read_only {
            return self.say(Tone::Warning, READ_ONLY);
        }
        self.typing = Typing::Nothing;
        let is_draft = matches!(&self.level().place, Place::Editor(Text::Draft(_)));
        if is_draft {
            // `draft approve` shows the diff and asks by itself.
            return self.save(tasks);
        }
        let Some(editor) = self.open_editor() else { return };
        let (text, document) = (editor.text(), &editor.document);
        tasks.push(Task::Work(editor.version(), text.clone(), Work::Mean(Box::new(document.clone()))));
        let mut lines = mcpkg_console::finding::before_saving(&editor.findings);
        lines.extend(mcpkg_console::editor::difference(document, &text));
        editor.ask(Lower::Difference(lines));
        self.put_question();
    }

    fn save(&mut self, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        tasks.push(Task::Save(editor.version(), Box::new(editor.document.clone()), editor.text()));
        self.running += 1;
    }
}

/// Scrolls the lower pane. Returns false if the key does not scroll.
fn scrolled(editor: &mut Editor, key: KeyEvent, page: isize) -> bool {
    let by = match key.code {
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::PageDown | KeyCode::Char(' ') => page,
        KeyCode::PageUp => -page,
        _ => return false,
    };
    editor.scroll = editor.scroll.saturating_add_signed(by);
    true
}
