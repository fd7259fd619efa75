//! Handles keys: first Ctrl-Z, then an open question, Ctrl-C, the text that is being typed, and last the commands of
//! the editor and the screen.

use std::time::Instant;

use mcpkg_console::place::Place;
use mcpkg_console::screen::{Body, Screen, Tone};
use mcpkg_console::{Invocation, keys};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::app::{App, Typing};
use super::draw::offered;
use super::level::Level;
use super::line;
use super::message::Task;

impl App {
    pub(super) fn key(&mut self, key: KeyEvent, at: Instant, tasks: &mut Vec<Task>) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        if is_control(key, 'z') {
            return tasks.push(Task::Suspend);
        }
        if self.asking.is_some() {
            return self.answer(key, at);
        }
        if is_control(key, 'c') {
            return self.leave(Some(at), tasks);
        }
        self.leaving = None;
        if self.open_failure(key) {
            return;
        }
        if self.typing != Typing::Nothing {
            return self.type_key(key, tasks);
        }
        if self.level().editor.as_ref().is_some_and(|editor| editor.asks() && !editor.asked.takes(at)) {
            return;
        }
        self.message = None;
        if let Some(undo) = self.undoable.take().filter(|_| key.code == KeyCode::Char('u')) {
            return self.open(Place::Undo(undo), tasks);
        }
        self.command_key(key, tasks);
    }

    /// Handles a key that is a command of the editor or the screen.
    fn command_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) {
        if self.level().editor.is_some() && self.editor_key(key, tasks) {
            return;
        }
        self.screen_key(key, tasks);
    }

    /// Handles a key while a question is shown. Only `y` means yes; some questions need a typed name or a line instead.
    fn answer(&mut self, key: KeyEvent, at: Instant) {
        let page = self.page.max(1);
        let Some(asking) = &mut self.asking else { return };
        match key.code {
            KeyCode::Down | KeyCode::PageDown | KeyCode::Char(' ')
                if !asking.is_typed() || key.code != KeyCode::Char(' ') =>
            {
                asking.scroll += if key.code == KeyCode::Down { 1 } else { page };
                return;
            }
            KeyCode::Up | KeyCode::PageUp => {
                asking.scroll = asking.scroll.saturating_sub(if key.code == KeyCode::Up { 1 } else { page });
                return;
            }
            _ => {}
        }
        if !asking.drawn.takes(at) {
            return;
        }
        // Esc and Ctrl-C mean no at once, even if the user has not read the question to its end.
        if key.code == KeyCode::Esc || is_control(key, 'c') {
            return self.refuse();
        }
        if !asking.is_read {
            // The user has not seen the end of the question yet, so the key scrolls instead.
            asking.scroll += page;
            return;
        }
        if asking.is_typed() {
            match key.code {
                KeyCode::Enter if asking.typed.is_empty() && asking.question.name.is_some() => {}
                KeyCode::Enter => {
                    if self.asking.take().is_some_and(|asking| !asking.typed()) {
                        self.say(Tone::Warning, "That is not the name; nothing was changed");
                    }
                    self.answered();
                }
                _ => drop(line::typed(&mut asking.typed, key)),
            }
            return;
        }
        match key.code {
            // A note interrupts the decision, which asks again once the note is typed.
            KeyCode::Char('n') if asking.question.call.as_ref().is_some_and(Invocation::decides) => {
                let call = asking.question.call.clone();
                self.refuse();
                self.noting = (call.as_ref().and_then(Invocation::decides_on).unwrap_or_default(), call);
                self.typing = Typing::Note;
            }
            KeyCode::Char('y') if key.modifiers.is_empty() => {
                if let Some(asking) = self.asking.take() {
                    asking.yes();
                }
                self.answered();
            }
            _ => self.refuse(),
        }
    }

    /// Returns the note that is being typed, or was typed last.
    pub(super) fn note(&self) -> &str {
        self.notes.get(&self.noting.0).map_or("", String::as_str)
    }

    fn refuse(&mut self) {
        if let Some(asking) = self.asking.take() {
            asking.no();
        }
        self.answered();
    }

    /// Handles a key that is typed as text, into the target that `typing` names. Esc stops typing.
    fn type_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) {
        if key.code == KeyCode::Esc {
            // While the user types the text, the first esc only closes the picker. While the user types the words of a
            // picker, esc ends the typing, as in every list.
            if self.typing == Typing::Editor && self.close_picker() {
                return;
            }
            self.typing = Typing::Nothing;
            self.noting.1 = None;
            if self.level().opens_typing() && self.level().filter.is_empty() {
                self.back(tasks);
            }
            return;
        }
        match self.typing {
            Typing::Nothing => {}
            Typing::Filter => self.filter_key(key, tasks),
            Typing::Note => match key.code {
                KeyCode::Enter => {
                    self.typing = Typing::Nothing;
                    match (self.noting.1.take(), self.note().is_empty()) {
                        (Some(call), false) => self.run(call, tasks),
                        (_, false) => self.say(Tone::Plain, &format!("a or d sends this note: {}", self.note())),
                        (_, true) => self.say(Tone::Plain, "No note"),
                    }
                }
                _ => drop(line::typed(self.notes.entry(self.noting.0.clone()).or_default(), key)),
            },
            Typing::Field => self.field_key(key),
            Typing::Editor | Typing::Value | Typing::Pick => self.type_in_editor(key, tasks),
        }
    }

    fn filter_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) {
        let (is_open, page) = (self.level().opens_typing(), isize::try_from(self.page.max(1)).unwrap_or(1));
        match key.code {
            KeyCode::Enter => {
                self.typing = Typing::Nothing;
                if is_open {
                    self.enter(tasks);
                }
            }
            KeyCode::Up => self.level_mut().step(-1),
            KeyCode::Down => self.level_mut().step(1),
            KeyCode::PageUp => self.level_mut().step(-page),
            KeyCode::PageDown => self.level_mut().step(page),
            _ if line::typed(&mut self.level_mut().filter, key) => return self.filtered(tasks),
            _ => {}
        }
        self.look(tasks);
    }

    /// Selects the first row if the filter has hidden the selected one. In the palette, always selects the best match. In a
    /// text, scrolls to a line that contains the filter.
    fn filtered(&mut self, tasks: &mut Vec<Task>) {
        let level = self.level_mut();
        if level.is_text() {
            let is_found = level.filter.is_empty() || level.find();
            self.message = (!is_found).then(|| (Tone::Plain, "No line has this text".to_owned()));
            return;
        }
        if level.place == Place::Palette || level.selected_row().is_none() {
            level.select_first();
        }
        self.search_database(tasks);
        self.look(tasks);
    }

    fn field_key(&mut self, key: KeyEvent) {
        let at = self.level().field;
        let Some(form) = self.form() else { return };
        let Some(field) = form.fields.get_mut(at) else { return };
        match key.code {
            KeyCode::Enter | KeyCode::Tab => {
                self.typing = Typing::Nothing;
                self.level_mut().step_field(1);
            }
            _ => drop(line::typed(&mut field.value, key)),
        }
    }

    pub(super) fn paste(&mut self, text: &str, tasks: &mut Vec<Task>) {
        if let Some(asking) = &mut self.asking {
            if asking.is_typed() && asking.is_read {
                asking.typed.push_str(text.trim_end_matches('\n'));
            }
            return;
        }
        let line = text.replace(['\n', '\r'], " ");
        match self.typing {
            // Pasted text must not run commands.
            Typing::Nothing => {}
            Typing::Filter => {
                self.level_mut().filter.push_str(&line);
                self.filtered(tasks);
            }
            Typing::Note => self.notes.entry(self.noting.0.clone()).or_default().push_str(&line),
            Typing::Field => {
                let at = self.level().field;
                if let Some(field) = self.form().and_then(|form| form.fields.get_mut(at)) {
                    field.value.push_str(&line);
                }
            }
            Typing::Editor => self.edited(|editor| editor.insert(text), tasks),
            Typing::Value => {
                if let Some(editor) = &mut self.level_mut().editor {
                    editor.words.push_str(&line);
                }
            }
            Typing::Pick => self.narrow(|words| words.push_str(&line), tasks),
        }
    }

    /// Handles a key that is not used by a question, by typing or by the editor.
    fn screen_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) {
        if is_control(key, 'p') {
            return self.open(Place::Palette, tasks);
        }
        let page = isize::try_from(self.page.max(1)).unwrap_or(1);
        match key.code {
            KeyCode::Esc => {
                let level = self.level_mut();
                if !level.filter.is_empty() && level.place != Place::Palette {
                    level.filter.clear();
                    self.filtered(tasks);
                } else if level.in_preview {
                    level.in_preview = false;
                } else {
                    self.back(tasks);
                }
            }
            KeyCode::Char('q') if self.is_root() => self.leave(None, tasks),
            KeyCode::Char('q') => self.back(tasks),
            key if self.ask_key(key, tasks) => {}
            KeyCode::Enter => self.enter(tasks),
            KeyCode::Tab | KeyCode::BackTab => {
                let level = self.level_mut();
                level.in_preview = !level.in_preview && level.look().is_some();
            }
            KeyCode::Down | KeyCode::Char('j') => self.step(1, tasks),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1, tasks),
            KeyCode::PageDown => self.step(page, tasks),
            KeyCode::PageUp => self.step(-page, tasks),
            KeyCode::Char('g') | KeyCode::Home => self.step(isize::MIN / 2, tasks),
            KeyCode::Char('G') | KeyCode::End => self.step(isize::MAX / 2, tasks),
            KeyCode::Char('.' | ']') => self.level_mut().next_stop(true),
            KeyCode::Char(',' | '[') => self.level_mut().next_stop(false),
            KeyCode::Char(':') => self.open(Place::Palette, tasks),
            KeyCode::Char('/') if self.level().has_filter() => self.typing = Typing::Filter,
            KeyCode::Char('?') => self.help(),
            KeyCode::Char('M') => {
                self.toggle_mouse();
                tasks.push(Task::Redraw);
            }
            KeyCode::Char('c') => self.copy_command(tasks),
            KeyCode::Char('C') => self.copy_text(tasks),
            KeyCode::Char(c @ '1'..='6') => self.go(c as usize - '1' as usize, tasks),
            KeyCode::Char('v') if self.level().has_columns() => {
                let level = self.level_mut();
                level.is_split = Some(!level.diff.is_split);
            }
            KeyCode::Char('v') if !self.level().views().is_empty() => {
                self.level_mut().next_view();
                self.load(tasks);
            }
            KeyCode::Char(c) if self.form().is_some() && self.form_char(c, tasks) => {}
            KeyCode::Char(c) if self.act(c, tasks) => {}
            KeyCode::Char(c) if keys::is_known(c) => {
                let key = if c == ' ' { "space".to_owned() } else { c.to_string() };
                self.say(Tone::Plain, &format!("{key} does nothing here; ? shows the keys of this place"));
            }
            _ => {}
        }
    }

    /// Opens the help, which begins with the keys of the top screen. Typing filters it at once.
    fn help(&mut self) {
        if self.level().place == Place::Help {
            return;
        }
        let mut level = Level::new(Place::Help);
        level.take(Box::new(keys::screen(&offered(self))));
        self.stacks[self.root].push(level);
        self.typing = Typing::Filter;
    }

    /// Closes the help, and presses the first key of its selected row.
    fn press_selected(&mut self, tasks: &mut Vec<Task>) {
        let Some(row) = self.level().selected_row() else { return };
        let keys = row.cells.first().map(|cell| cell.text().to_owned()).unwrap_or_default();
        self.back(tasks);
        match key_named(&keys) {
            Some(key) => self.command_key(key, tasks),
            None => self.say(Tone::Plain, &format!("These keys work without the help: {keys}")),
        }
    }

    fn form_char(&mut self, c: char, tasks: &mut Vec<Task>) -> bool {
        let Some(form) = self.form() else { return false };
        match c {
            'e' => self.typing = Typing::Field,
            ' ' => self.choose(),
            'r' => {
                let missing = form.missing().join(", ");
                let call = form.invocation();
                let reads = call.entry(self.domains).is_some_and(|entry| entry.effect.reads());
                let question = format!("Run `{}`?", call.command());
                match missing.is_empty() {
                    true if reads => self.run(call, tasks),
                    true => self.run(call.asking(question), tasks),
                    false => self.say(Tone::Warning, &format!("missing: {missing}")),
                }
            }
            _ => return false,
        }
        true
    }

    /// Sets the selected field to its next value, or starts typing if any value is allowed.
    pub(super) fn choose(&mut self) {
        let at = self.level().field;
        let Some(field) = self.form().and_then(|form| form.fields.get_mut(at)) else { return };
        if field.values.is_empty() && !field.is_flag {
            self.typing = Typing::Field;
            return;
        }
        let next = field.values.iter().position(|value| *value == field.value).map_or(0, |now| now + 1);
        // After its last value, a field is empty.
        field.value = match field.is_flag {
            true if field.value.is_empty() => "on".to_owned(),
            true => String::new(),
            false => field.values.get(next).cloned().unwrap_or_default(),
        };
    }

    fn enter(&mut self, tasks: &mut Vec<Task>) {
        if let Some(form) = self.form() {
            let field = form.fields.len();
            if field > 0 {
                self.typing = Typing::Field;
            }
            return;
        }
        if self.level().place == Place::Help {
            return self.press_selected(tasks);
        }
        let level = self.level_mut();
        if (level.has_columns() || level.in_preview) && level.unfold() {
            return;
        }
        let answers = |row: &mcpkg_console::screen::Row| row.actions.iter().any(|action| action.key == '\n');
        if !self.level().in_preview && self.level().selected_row().is_some_and(answers) {
            self.act('\n', tasks);
            return;
        }
        let is_palette = self.level().place == Place::Palette;
        let Some(look) = self.level().selected_row().and_then(|row| row.look.clone()) else { return };
        if is_palette {
            self.back(&mut Vec::new());
        }
        self.open(look, tasks);
    }

    /// Moves the selection in a list or form, or scrolls a text, depending on the focus.
    fn step(&mut self, by: isize, tasks: &mut Vec<Task>) {
        if self.form().is_some() {
            return self.level_mut().step_field(by);
        }
        let page = self.page.max(1);
        let level = self.level_mut();
        let is_list = matches!(level.shown.screen(), Some(Screen { body: Body::List(_), .. }));
        match is_list && !level.in_preview {
            true => {
                level.step(by);
                if by > 0 && level.is_near_more(page) {
                    self.more(tasks);
                }
            }
            false => {
                let last = match level.shown_diff() {
                    // In a diff, the cursor can go to the last row, and the screen follows it.
                    Some(diff) => diff.rows(&level.diff).len().saturating_sub(1),
                    None => level.lines().len().saturating_sub(page),
                };
                level.scroll = level.scroll.saturating_add_signed(by).min(last);
            }
        }
        self.look(tasks);
    }

    pub(super) fn form(&mut self) -> Option<&mut mcpkg_console::form::Form> {
        self.level_mut().form()
    }

    /// Leaves the console. If something would be lost, warns first; then Ctrl-C leaves, if it was pressed (`at`) after the
    /// warning was drawn.
    fn leave(&mut self, at: Option<Instant>, tasks: &mut Vec<Task>) {
        let unsaved = self.stacks.iter().flatten().any(Level::is_unsaved);
        let warning = match (unsaved, self.is_asking()) {
            _ if self.leaving.zip(at).is_some_and(|(warning, at)| warning.takes(at)) => None,
            (true, _) => Some("There is unsaved text. Press Ctrl-C again to throw it away, esc to stay"),
            (false, true) => Some("An agent is still running. Press Ctrl-C again to end it, esc to stay"),
            (false, false) => None,
        };
        match warning {
            Some(warning) => {
                self.leaving.get_or_insert_default();
                self.say(Tone::Warning, warning);
            }
            None => tasks.push(Task::Quit),
        }
    }
}

/// Returns the first of the keys that a row of the help names, such as `:` for `: Ctrl-P`. `None` if the row does not
/// begin with a single key, as in `arrows, h j k l`.
fn key_named(keys: &str) -> Option<KeyEvent> {
    let name = keys.split([' ', ',']).find(|name| !name.is_empty()).unwrap_or(keys);
    let mut letters = name.chars();
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "space" => KeyCode::Char(' '),
        _ => KeyCode::Char(letters.next().filter(|_| letters.next().is_none())?),
    };
    Some(KeyEvent::new(code, KeyModifiers::NONE))
}

pub(super) fn is_control(key: KeyEvent, letter: char) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char(letter)
}
