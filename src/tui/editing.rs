//! Handles the keys of the editor.

use mcpkg_console::fields::Kind;
use mcpkg_console::picker::{self, Does, Spot};
use mcpkg_console::screen::Tone;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui_textarea::CursorMove;

use super::app::{App, Typing};
use super::ask;
use super::editor::{Editor, Half, Lower, Picking};
use super::keys::is_control;
use super::level::UNSAVED;
use super::line;
use super::message::{Task, Work};

pub(super) const READ_ONLY: &str = "read-only: the console was started with --read-only";

impl App {
    pub(super) fn open_editor(&mut self) -> Option<&mut Editor> {
        self.level_mut().editor.as_deref_mut()
    }

    /// Handles a key of the editor outside of typing. Returns false if the key is not one of the editor's.
    pub(super) fn editor_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) -> bool {
        match self.open_editor().map(|editor| (editor.asks(), &editor.lower)) {
            None => false,
            Some((true, _)) => self.question_key(key, tasks),
            Some((_, Lower::Picker(_))) => self.picker_key(key, tasks),
            Some(_) => self.plain_key(key, tasks),
        }
    }

    /// Handles a key that the editor's lower pane does not use.
    pub(super) fn plain_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) -> bool {
        let (page, is_read_only) = (isize::try_from(self.page.max(1)).unwrap_or(1), self.is_read_only);
        let Some(editor) = self.open_editor() else { return false };
        let is_edit =
            matches!(key.code, KeyCode::Char('e' | 'E' | 'f' | '+' | ' ' | 'u') | KeyCode::Enter | KeyCode::F(4));
        if is_edit && is_read_only {
            self.say(Tone::Warning, READ_ONLY);
            return true;
        }
        match key.code {
            KeyCode::Char('v') | KeyCode::F(2) | KeyCode::Tab | KeyCode::BackTab => self.other_half(),
            KeyCode::Char('e') => self.edit_row(),
            KeyCode::Char('E') => {
                tasks.push(Task::EditOnTerminal(editor.version(), editor.document.name.clone(), editor.text()));
            }
            KeyCode::Enter | KeyCode::F(6) => self.pick_row(tasks),
            KeyCode::Char(' ') => self.in_or_out(tasks),
            KeyCode::Char('+') => self.search("/steps/-", tasks),
            KeyCode::Char('f') | KeyCode::F(4) => self.fix(tasks),
            KeyCode::Char('.' | ']') => editor.go_to_finding(true, false),
            KeyCode::Char(',' | '[') => editor.go_to_finding(false, false),
            KeyCode::Char('u') => self.edited(Editor::undo, tasks),
            KeyCode::Char('p') => {
                editor.lower = if editor.lower == Lower::Plan { Lower::Findings } else { Lower::Plan };
                tasks.push(Task::Check(editor.version(), editor.text(), true));
            }
            KeyCode::Char('s') => self.review(tasks),
            KeyCode::Char('j') | KeyCode::Down => step(editor, 1),
            KeyCode::Char('k') | KeyCode::Up => step(editor, -1),
            KeyCode::PageDown => step(editor, page),
            KeyCode::PageUp => step(editor, -page),
            KeyCode::Char('g') | KeyCode::Home => step(editor, isize::MIN / 2),
            KeyCode::Char('G') | KeyCode::End => step(editor, isize::MAX / 2),
            KeyCode::Char('h') | KeyCode::Left => editor.moved(CursorMove::Back),
            KeyCode::Char('l') | KeyCode::Right => editor.moved(CursorMove::Forward),
            KeyCode::Esc if editor.lower != Lower::Findings => editor.lower = Lower::Findings,
            KeyCode::Esc | KeyCode::Char('q') if editor.is_changed() => {
                self.say(Tone::Warning, UNSAVED);
            }
            KeyCode::Char('D') => self.throw_away(tasks),
            KeyCode::Char('@') => {
                if let Some(panel) = ask::about(&self.level().place) {
                    self.open(panel, tasks);
                }
            }
            _ => return false,
        }
        true
    }

    /// Switches between the text and the form.
    fn other_half(&mut self) {
        let Some(editor) = self.open_editor() else { return };
        editor.half = match editor.half {
            Half::Yaml => Half::Form,
            Half::Form => Half::Yaml,
        };
        if editor.half == Half::Form && editor.fields.get(&editor.chosen).is_none() {
            editor.step(0);
        }
    }

    /// Starts typing: into the value of the form's selected row or, if the form cannot edit that value, into the text.
    fn edit_row(&mut self) {
        let Some(editor) = self.open_editor() else { return };
        let field = editor.field().filter(|_| editor.half == Half::Form);
        match field.filter(|field| !field.is_text && field.kind != Kind::Step) {
            Some(field) => {
                editor.words = field.value.clone();
                self.typing = Typing::Value;
            }
            None => {
                editor.half = Half::Yaml;
                self.typing = Typing::Editor;
            }
        }
    }

    /// Opens the picker for the selected step or argument. Starts typing for anything else.
    fn pick_row(&mut self, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        let Some(field) = editor.field() else { return self.edit_row() };
        match field.kind {
            Kind::Step => {
                let pointer = field.target();
                self.search(&pointer, tasks);
            }
            Kind::Argument if !field.is_text => {
                let spot = Spot::Pointer(field.pointer.clone());
                self.pick(spot, false, tasks);
            }
            _ => self.edit_row(),
        }
    }

    /// Removes the selected argument or other field from the text, or starts to type its value if the text does not have
    /// it. Steps and inputs cannot be removed this way.
    fn in_or_out(&mut self, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        let Some(field) = editor.field().filter(|_| editor.half == Half::Form) else { return };
        let is_step = matches!(field.kind, Kind::Step | Kind::Input | Kind::Heading);
        match (is_step, field.is_written()) {
            (true, _) => self.say(Tone::Plain, "Only an argument can be taken in or out; e edits the text"),
            (false, true) => {
                let pointer = field.pointer.clone();
                self.set(pointer, None, false, tasks);
            }
            (false, false) => self.edit_row(),
        }
    }

    fn set(&mut self, pointer: String, value: Option<String>, new_input: bool, tasks: &mut Vec<Task>) {
        if let Some(editor) = self.open_editor() {
            editor.wanted.get_or_insert_with(|| pointer.clone());
            tasks.push(Task::Work(editor.version(), editor.text(), Work::Set { pointer, value, new_input }));
        }
    }

    /// Opens the picker with suggestions for a spot. With `completes`, a single suggestion is taken at once.
    fn pick(&mut self, spot: Spot, completes: bool, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        editor.requests += 1;
        let number = editor.requests;
        match &mut editor.lower {
            // A picker that is already open keeps its rows until the next answer arrives.
            Lower::Picker(picking) => (picking.wanted, picking.marked) = (number, 0),
            lower => {
                let spot = Some(spot.clone());
                let picking = Picking { spot, wanted: number, completes, ..Picking::default() };
                *lower = Lower::Picker(Box::new(picking));
            }
        }
        let words = match &editor.lower {
            Lower::Picker(picking) => picking.words.clone(),
            _ => String::new(),
        };
        tasks.push(Task::Work(editor.version(), editor.text(), Work::Suggest { spot, words, number }));
    }

    /// Opens the picker for a command, and starts typing the words that narrow it.
    fn search(&mut self, pointer: &str, tasks: &mut Vec<Task>) {
        self.pick(Spot::Pointer(pointer.to_owned()), false, tasks);
        self.typing = Typing::Pick;
    }

    /// Changes the words that narrow the picker. A search for commands is then sent again.
    pub(super) fn narrow(&mut self, change: impl FnOnce(&mut String), tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        let Lower::Picker(picking) = &mut editor.lower else { return };
        change(&mut picking.words);
        picking.marked = 0;
        let field = editor.fields.get(picking.pointer()).filter(|field| field.kind == Kind::Argument);
        picking.literal = field.and_then(|field| picker::literal(&picking.words, &field.takes));
        if let Some(spot) = picking.spot.clone().filter(|_| picking.is_search()) {
            self.pick(spot, false, tasks);
        }
    }

    /// Closes the picker. Returns whether there was one.
    pub(super) fn close_picker(&mut self) -> bool {
        let Some(editor) = self.open_editor() else { return false };
        let is_open = matches!(editor.lower, Lower::Picker(_));
        if is_open {
            editor.lower = Lower::Findings;
        }
        is_open
    }

    fn picker_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) -> bool {
        let page = isize::try_from(self.page.max(1)).unwrap_or(1);
        let Some(editor) = self.open_editor() else { return false };
        let Lower::Picker(picking) = &mut editor.lower else { return false };
        match key.code {
            KeyCode::Down | KeyCode::Char('j') => picking.step(1),
            KeyCode::Up | KeyCode::Char('k') => picking.step(-1),
            KeyCode::PageDown => picking.step(page),
            KeyCode::PageUp => picking.step(-page),
            KeyCode::Char('g') | KeyCode::Home => picking.step(isize::MIN / 2),
            KeyCode::Char('G') | KeyCode::End => picking.step(isize::MAX / 2),
            KeyCode::Enter => self.take_pick(tasks),
            KeyCode::Char('/') => self.typing = Typing::Pick,
            KeyCode::Char('e') if !picking.is_search() => {
                (editor.lower, editor.half) = (Lower::Findings, Half::Form);
                self.edit_row();
            }
            KeyCode::Esc => editor.lower = Lower::Findings,
            _ => {
                editor.lower = Lower::Findings;
                return self.plain_key(key, tasks);
            }
        }
        true
    }

    /// Takes the selected row of the picker.
    pub(super) fn take_pick(&mut self, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        let Lower::Picker(picking) = &editor.lower else { return };
        let Some(pick) = picking.rows().get(picking.marked).map(|pick| (*pick).clone()) else { return };
        // The row is from an older answer. Its position may be wrong now, and writing it could overwrite newer text.
        if matches!(pick.does, Does::Write(_)) && picking.shown != picking.wanted {
            return;
        }
        let pointer = picking.picker.as_ref().map(|picker| picker.pointer.clone()).unwrap_or_default();
        let wanted = match editor.fields.rows.iter().filter(|field| field.kind == Kind::Step).count() {
            steps if pointer == "/steps/-" => format!("/steps/{steps}"),
            _ => pointer.clone(),
        };
        if pick.does == Does::Ask {
            editor.requests += 1;
            let number = editor.requests;
            editor.lower = Lower::Picker(Box::new(Picking { wanted: number, ..Picking::default() }));
            let work = Work::Ask { pointer, provider: pick.value, number };
            tasks.push(Task::Work(editor.version(), editor.text(), work));
            return;
        }
        editor.lower = Lower::Findings;
        if self.typing == Typing::Pick {
            self.typing = Typing::Nothing;
        }
        match pick.does {
            Does::Write(fix) => {
                let end = fix.column + fix.text.chars().count();
                let line = fix.line;
                self.edited(
                    |editor| {
                        let changed = fix.apply(&editor.text()).is_some_and(|text| editor.replace(&text));
                        editor.jump(line, end);
                        changed
                    },
                    tasks,
                );
            }
            Does::AddInput => {
                self.wants(format!("/inputs/{}", pick.value));
                self.set("/inputs/-".to_owned(), Some(pick.value), false, tasks);
            }
            does => {
                self.wants(wanted);
                self.set(pointer, Some(pick.value), does == Does::SetWithInput, tasks);
            }
        }
    }

    fn wants(&mut self, pointer: String) {
        if let Some(editor) = self.open_editor() {
            editor.wanted = Some(pointer);
        }
    }

    /// Handles a key that is typed into the text, into a value of the form, or into the words of a picker.
    pub(super) fn type_in_editor(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) {
        match self.typing {
            Typing::Value => self.value_key(key, tasks),
            Typing::Pick => match key.code {
                KeyCode::Enter => self.take_pick(tasks),
                KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => drop(self.picker_key(key, tasks)),
                KeyCode::Backspace | KeyCode::Char(_) => {
                    self.narrow(|words| _ = line::typed(words, key), tasks);
                }
                _ => {}
            },
            _ => self.text_key(key, tasks),
        }
    }

    fn value_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        match key.code {
            KeyCode::Enter => {
                let words = editor.words.trim().to_owned();
                let Some((pointer, is_written)) = editor.field().map(|field| (field.target(), field.is_written()))
                else {
                    return;
                };
                self.typing = Typing::Nothing;
                match words.is_empty() {
                    true if is_written => self.set(pointer, None, false, tasks),
                    true => {}
                    false => self.set(pointer, Some(words), false, tasks),
                }
            }
            _ if key.code == KeyCode::F(6) || is_blank_control(key) => {
                self.typing = Typing::Nothing;
                self.pick_row(tasks);
            }
            _ => drop(line::typed(&mut editor.words, key)),
        }
    }

    fn text_key(&mut self, key: KeyEvent, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        let is_picking = matches!(editor.lower, Lower::Picker(_));
        let (line, column) = editor.cursor();
        match key.code {
            KeyCode::Up | KeyCode::Down if is_picking => drop(self.picker_key(key, tasks)),
            KeyCode::Enter | KeyCode::Tab if is_picking => self.take_pick(tasks),
            KeyCode::Left | KeyCode::Right if is_picking => editor.lower = Lower::Findings,
            KeyCode::F(2) => {
                self.typing = Typing::Nothing;
                self.other_half();
            }
            KeyCode::F(4) => self.fix(tasks),
            _ if key.code == KeyCode::F(6) || is_blank_control(key) => {
                self.pick(Spot::Cursor(line, column), false, tasks);
            }
            KeyCode::Tab => {
                let before = editor.buffer.lines()[line - 1].chars().take(column - 1).collect::<String>();
                match before.trim_matches([' ', '-']).is_empty() {
                    // At the beginning of a line, Tab indents. YAML allows no tabs, so insert spaces.
                    true => self.edited(|editor| editor.insert("  "), tasks),
                    false => self.pick(Spot::Cursor(line, column), true, tasks),
                }
            }
            _ if is_control(key, 's') => self.review(tasks),
            _ if is_control(key, 'r') => self.edited(Editor::redo, tasks),
            _ => {
                self.edited(|editor| editor.input(key), tasks);
                // Update the picker for the new text and cursor.
                let Some(editor) = self.open_editor().filter(|_| is_picking) else { return };
                let (line, column) = editor.cursor();
                self.pick(Spot::Cursor(line, column), false, tasks);
            }
        }
    }

    /// Edits the text, and starts a check of the result.
    pub(super) fn edited(&mut self, change: impl FnOnce(&mut Editor) -> bool, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        if change(editor) {
            let has_plan = editor.has_plan || editor.lower == Lower::Plan;
            tasks.push(Task::Check(editor.version(), editor.text(), has_plan));
        }
    }

    /// Applies the fix of the current finding, or says why nothing can be fixed.
    fn fix(&mut self, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor() else { return };
        match editor.finding().map(|(_, finding)| finding.fix.is_some()) {
            Some(true) => self.edited(Editor::fix, tasks),
            Some(false) => self.say(Tone::Plain, "No fix for this finding; . goes to the next one"),
            None => self.say(Tone::Plain, "No finding here; . goes to the next one"),
        }
    }
}

/// Moves the cursor of the focused half.
fn step(editor: &mut Editor, by: isize) {
    // The row that the user selects now stays selected when the result of an earlier change arrives.
    editor.wanted = None;
    match editor.half {
        Half::Form => editor.step(by),
        Half::Yaml => {
            let (line, column) = editor.cursor();
            let last = editor.buffer.lines().len();
            let column = if by.unsigned_abs() > last { 1 } else { column };
            editor.jump(line.saturating_add_signed(by).clamp(1, last), column);
        }
    }
}

/// Returns whether a key is Ctrl-Space, which some terminals send as a null character.
fn is_blank_control(key: KeyEvent) -> bool {
    is_control(key, ' ') || key.code == KeyCode::Null
}
