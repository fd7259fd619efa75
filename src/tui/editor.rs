//! The editor of a workflow: its text, the form of the same text, the findings, and the content of the lower pane.

use std::sync::atomic::{AtomicU64, Ordering};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_console::document::{Document, Versions};
use mcpkg_console::fields::{Field, Fields};
use mcpkg_console::finding::Finding;
use mcpkg_console::picker::{self, Pick, Picker, Spot};
use mcpkg_console::screen::Line;
use ratatui::crossterm::event::KeyEvent;
use ratatui_textarea::{CursorMove, TextArea};

use super::history::{Cursor, History};
use super::message::Version;
use super::question::Drawn;

/// The content of the lower pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lower {
    Findings,
    Plan,
    Picker(Box<Picking>),
    /// The diff that saving would make. `y` saves.
    Difference(Vec<Line>),
    /// The changes that would be lost if the text is thrown away. `y` throws it away.
    Lost(Vec<Line>),
    /// The version that somebody else saved while the text was open.
    Meanwhile(Box<Versions>),
}

/// An open picker: a [`Picker`] from a worker, the words that the user typed, and the selected row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picking {
    pub spot: Option<Spot>,
    /// The offered rows; `None` until they are loaded.
    pub picker: Option<Picker>,
    /// Words that narrow the list.
    pub words: String,
    /// The row for the typed words themselves, if the argument accepts them as a value.
    pub literal: Option<Pick>,
    /// The index of the selected row.
    pub marked: usize,
    /// The number of the latest request. Answers to earlier ones are dropped.
    pub wanted: u64,
    /// The number of the request that `picker` answers.
    pub shown: u64,
    /// Whether to take a row at once if it is the only one.
    pub completes: bool,
}

impl Picking {
    /// Returns the rows that match the words. In a list of commands, `workflow suggest` has already searched for the words.
    pub fn rows(&self) -> Vec<&Pick> {
        let Some(picker) = &self.picker else { return Vec::new() };
        let all = picker.rows.iter();
        match self.is_search() {
            true => all.collect(),
            false => all.filter(|pick| pick.matches(&self.words)).chain(&self.literal).collect(),
        }
    }

    /// Returns whether the words are sent to `workflow suggest`, which searches the commands.
    pub fn is_search(&self) -> bool {
        matches!(&self.spot, Some(Spot::Pointer(pointer)) if picker::takes_command(pointer))
    }

    /// Returns the pointer of the value that the picker sets.
    pub fn pointer(&self) -> &str {
        match (&self.picker, &self.spot) {
            (Some(picker), _) => &picker.pointer,
            (None, Some(Spot::Pointer(pointer))) => pointer,
            (None, _) => "",
        }
    }

    pub fn step(&mut self, by: isize) {
        self.marked = self.marked.saturating_add_signed(by).min(self.rows().len().saturating_sub(1));
    }
}

/// Which half of the editor has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Half {
    #[default]
    Yaml,
    Form,
}

pub struct Editor {
    pub document: Document,
    pub buffer: TextArea<'static>,
    pub findings: Vec<Finding>,
    pub fields: Fields,
    pub plan: Vec<Line>,
    pub lower: Lower,
    pub half: Half,
    /// The pointer of the form's selected row. The cursor of the text is at the same value, or at its step if the
    /// text does not contain the value.
    pub chosen: String,
    /// The value that is typed into the form.
    pub words: String,
    pub id: u64,
    /// Counts edits. The number is part of the [`Version`], so that most results for an older text are dropped.
    edits: u64,
    /// Whether the findings are those of the current text.
    pub is_checked: bool,
    /// Whether the plan is always visible, so that each edit needs a new plan. Drawing a frame sets it.
    pub has_plan: bool,
    /// The first visible line of the text.
    pub top: usize,
    /// The first visible line of the lower pane.
    pub scroll: usize,
    /// When the question of the lower pane was drawn.
    pub asked: Drawn,
    /// The number of the latest request for picker rows.
    pub requests: u64,
    /// The pointer of the row to select when the next form arrives.
    pub wanted: Option<String>,
    history: History,
    /// The lines of the buffer as one text.
    current: String,
    /// The line end of the text; `\n` if it has both.
    newline: &'static str,
}

impl Editor {
    pub fn new(document: Document) -> Self {
        // Each editor has an id, since results may arrive after the user has opened another editor.
        static IDS: AtomicU64 = AtomicU64::new(0);
        let lower = document.meanwhile.clone().map_or(Lower::Findings, |versions| Lower::Meanwhile(Box::new(versions)));
        let has_one = document.text.matches('\n').count() == document.text.matches("\r\n").count();
        let newline = if has_one && document.text.contains('\n') { "\r\n" } else { "\n" };
        let mut editor = Self {
            buffer: buffer(&document.text, newline),
            findings: document.findings.clone(),
            fields: document.fields.clone(),
            plan: Vec::new(),
            lower,
            half: Half::Yaml,
            chosen: String::new(),
            words: String::new(),
            id: IDS.fetch_add(1, Ordering::Relaxed),
            edits: 0,
            is_checked: true,
            has_plan: false,
            top: 0,
            scroll: 0,
            asked: Drawn::default(),
            requests: 0,
            wanted: None,
            history: History::default(),
            current: String::new(),
            newline,
            document,
        };
        editor.current = editor.buffer.lines().join("\n");
        editor.go_to_finding(true, true);
        editor
    }

    /// Returns the text to save. It ends with a newline if the text that was opened or last saved ends with one, or is
    /// empty.
    pub fn text(&self) -> String {
        let mut text = match self.newline {
            "\n" => self.current.clone(),
            newline => self.current.replace('\n', newline),
        };
        if self.document.text.ends_with('\n') || self.document.text.is_empty() {
            text.push_str(self.newline);
        }
        text
    }

    /// Returns the version of the text, for work that other threads do on it.
    pub fn version(&self) -> Version {
        Version { editor: self.id, number: self.edits }
    }

    pub fn is_changed(&self) -> bool {
        self.text() != self.document.text
    }

    /// Passes a key to the buffer. Returns whether the text changed.
    pub fn input(&mut self, key: KeyEvent) -> bool {
        let before = self.position();
        self.buffer.input(key);
        self.touched(before)
    }

    pub fn insert(&mut self, text: &str) -> bool {
        let before = self.position();
        self.buffer.insert_str(text);
        self.touched(before)
    }

    pub fn undo(&mut self) -> bool {
        let undone = self.history.undo(&self.current);
        self.restore(undone)
    }

    pub fn redo(&mut self) -> bool {
        let redone = self.history.redo(&self.current);
        self.restore(redone)
    }

    fn restore(&mut self, found: Option<(String, Cursor)>) -> bool {
        let Some((text, (line, column))) = found else { return false };
        self.buffer = TextArea::new(text.split('\n').map(str::to_owned).collect());
        self.jump(line + 1, column + 1);
        self.current = text;
        self.edited();
        true
    }

    /// Replaces the whole text, in one step of undo. The cursor stays at its line and column.
    pub fn replace(&mut self, text: &str) -> bool {
        let before = self.position();
        self.buffer = buffer(text, self.newline);
        self.jump(before.0 + 1, before.1 + 1);
        self.touched(before)
    }

    /// Records the edit after the buffer changed. Returns whether the text is different.
    fn touched(&mut self, before: Cursor) -> bool {
        let text = self.buffer.lines().join("\n");
        if text == self.current {
            return false;
        }
        self.history.record((&self.current, before), (&text, self.position()));
        self.current = text;
        self.edited();
        true
    }

    fn edited(&mut self) {
        self.edits += 1;
        self.is_checked = false;
        if matches!(self.lower, Lower::Difference(_) | Lower::Lost(_)) {
            self.lower = Lower::Findings;
        }
        self.follow();
    }

    /// Returns the workflow's name in the text, or its last known name if the text has none.
    pub fn name(&self) -> &str {
        let lines = self.buffer.lines().iter().map(String::as_str);
        mcpkg_console::document::named(lines).unwrap_or(&self.document.name)
    }

    /// Shows a question in the lower pane.
    pub fn ask(&mut self, question: Lower) {
        (self.lower, self.scroll, self.asked) = (question, 0, Drawn::default());
    }

    /// Returns whether the lower pane waits for an answer.
    pub fn asks(&self) -> bool {
        matches!(self.lower, Lower::Difference(_) | Lower::Lost(_) | Lower::Meanwhile(_))
    }

    /// Returns the yes-or-no question that the lower pane asks, if it asks one.
    pub fn question(&self) -> Option<String> {
        let name = self.name();
        let is_new = self.document.revision == 0 || name != self.document.name;
        let what = match &self.lower {
            Lower::Difference(_) if is_new => format!("Save as new workflow {name}?"),
            Lower::Difference(_) => format!("Save {name}?"),
            Lower::Lost(_) => format!("Throw away the changes of {name}?"),
            _ => return None,
        };
        Some(format!("{what}   y yes, other keys no"))
    }

    /// Returns the line and column of the cursor, counted from 1.
    pub fn cursor(&self) -> (usize, usize) {
        let (row, column) = self.position();
        (row + 1, column + 1)
    }

    fn position(&self) -> Cursor {
        let cursor = self.buffer.cursor();
        (cursor.0, cursor.1)
    }

    pub fn jump(&mut self, line: usize, column: usize) {
        let at = |number: usize| u16::try_from(number.saturating_sub(1)).unwrap_or(u16::MAX);
        self.buffer.move_cursor(CursorMove::Jump(at(line), at(column)));
        self.follow();
    }

    pub fn moved(&mut self, movement: CursorMove) {
        self.wanted = None;
        self.buffer.move_cursor(movement);
        self.follow();
    }

    /// Selects the row of the form at the cursor.
    pub fn follow(&mut self) {
        let (line, column) = self.cursor();
        if let Some(field) = self.fields.at(line, column) {
            self.chosen.clone_from(&field.pointer);
        }
    }

    /// Shows the form of the current text. Selects the row `wanted`, if there is one. Otherwise the form keeps its
    /// selection while it has the focus, if the row still exists. In all other cases, the row at the cursor is
    /// selected.
    pub fn take_fields(&mut self, fields: Fields) {
        self.fields = fields;
        if let Some(wanted) = self.wanted.take() {
            // A default or a command has no row of its own; its row is that of the input or step above it.
            let above = wanted.rsplit_once('/').map_or("", |(above, _)| above);
            let found = self.fields.get(&wanted).or_else(|| self.fields.get(above));
            if let Some((pointer, at)) = found.map(|field| (field.pointer.clone(), field.at)) {
                return self.choose(&pointer, at);
            }
        }
        match self.fields.get(&self.chosen).map(|field| field.at) {
            // The text around the selected value may have moved.
            Some(Some((line, column))) if self.half == Half::Form => {
                let chosen = std::mem::take(&mut self.chosen);
                self.jump(line, column);
                self.chosen = chosen;
            }
            Some(_) if self.half == Half::Form => {}
            _ => self.follow(),
        }
    }

    /// Returns the selected row of the form.
    pub fn field(&self) -> Option<&Field> {
        self.fields.get(&self.chosen)
    }

    /// Selects another row of the form, and moves the cursor to its place in the text.
    pub fn step(&mut self, by: isize) {
        if let Some(field) = self.fields.step(&self.chosen, by) {
            let (pointer, at) = (field.pointer.clone(), field.at);
            self.choose(&pointer, at);
        }
    }

    /// Selects a row, and moves the cursor to its value `at` or, if the text does not have the value, to its step.
    pub fn choose(&mut self, pointer: &str, at: Option<Cursor>) {
        let step = Fields::step_of(pointer).and_then(|step| self.fields.get(&step)?.at);
        if let Some((line, column)) = at.or(step) {
            self.jump(line, column);
        }
        pointer.clone_into(&mut self.chosen);
    }

    /// Returns the current finding and its index. In the form, it is the finding of the selected row. In the text, it
    /// is the one at the cursor, or else the first one on the cursor's line.
    pub fn finding(&self) -> Option<(usize, &Finding)> {
        if self.half == Half::Form {
            let found = self.field().and_then(|field| self.fields.finding(field, &self.findings))?;
            let at = self.findings.iter().position(|finding| finding == found)?;
            return Some((at, found));
        }
        let (line, column) = self.cursor();
        let on_line = |finding: &Finding| finding.line == line;
        let at = |finding: &Finding| on_line(finding) && finding.column <= column && column <= finding.end_column;
        let found = self.findings.iter().position(at).or_else(|| self.findings.iter().position(on_line))?;
        Some((found, &self.findings[found]))
    }

    /// Moves the cursor to the next or previous finding, and wraps around at the ends of the text. With `errors_first`,
    /// skips warnings as long as there are errors.
    pub fn go_to_finding(&mut self, forward: bool, errors_first: bool) {
        let only_errors = errors_first && self.findings.iter().any(|finding| finding.is_error);
        let mut places: Vec<(usize, usize, &str)> = self
            .findings
            .iter()
            .filter(|finding| finding.is_error || !only_errors)
            .map(|finding| (finding.line, finding.column, finding.pointer.as_str()))
            .collect();
        places.sort_unstable();
        places.dedup_by_key(|place| (place.0, place.1));
        let now = self.cursor();
        let next = match forward {
            true => places.iter().find(|place| (place.0, place.1) > now).or(places.first()),
            false => places.iter().rev().find(|place| (place.0, place.1) < now).or(places.last()),
        };
        if let Some((line, column, pointer)) = next.map(|next| (next.0, next.1, next.2.to_owned())) {
            self.jump(line, column);
            // The finding of a missing value is at its step in the text, but has a row of its own in the form.
            if self.fields.get(&pointer).is_some() {
                self.chosen = pointer;
            }
        }
    }

    /// Applies the fix of the current finding. Returns whether the text changed.
    pub fn fix(&mut self) -> bool {
        let Some(fix) = self.finding().and_then(|(_, finding)| finding.fix.clone()) else { return false };
        let Some(fixed) = fix.apply(&self.text()) else { return false };
        let changed = self.replace(&fixed);
        self.jump(fix.line, fix.column);
        changed
    }

    /// Returns the numbers of errors and warnings.
    pub fn counts(&self) -> (usize, usize) {
        let errors = self.findings.iter().filter(|finding| finding.is_error).count();
        (errors, self.findings.len() - errors)
    }
}

/// Opens a text in `$EDITOR`. Returns the edited text.
pub fn rewritten(name: &str, text: &str) -> Result<String> {
    let (_, edited) = mcpkg_base::editor::edit(name, "yaml", text, "set EDITOR, or type the text here with `e`")?;
    String::from_utf8(edited).map_err(|_| Error::new(Code::InvalidArgument, "The edited text is not valid UTF-8"))
}

/// Makes a buffer from a text, without the newline at its end.
fn buffer(text: &str, newline: &str) -> TextArea<'static> {
    TextArea::new(text.strip_suffix(newline).unwrap_or(text).split(newline).map(str::to_owned).collect())
}
