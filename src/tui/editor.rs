//! The text editor: a buffer, its findings, and the content of the second pane.

use std::sync::atomic::{AtomicU64, Ordering};

use mcpkg_console::document::{Document, Finding};
use mcpkg_console::screen::Line;
use ratatui::crossterm::event::KeyEvent;
use ratatui_textarea::{CursorMove, TextArea};

use super::message::Version;

/// The content of the second pane, which is below or beside the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lower {
    Findings,
    Plan(Vec<Line>),
    /// The diff that saving would make. `y` saves.
    Difference(Vec<Line>),
}

pub struct Editor {
    pub document: Document,
    pub buffer: TextArea<'static>,
    pub findings: Vec<Finding>,
    pub lower: Lower,
    pub id: u64,
    /// Counts edits. Findings for an older version are dropped.
    edits: u64,
    /// Whether the findings are those of the current text.
    pub is_checked: bool,
    /// The first visible line.
    pub top: usize,
}

impl Editor {
    pub fn new(document: Document) -> Self {
        let buffer = TextArea::new(document.text.lines().map(str::to_owned).collect());
        let findings = document.findings.clone();
        // Names the editor in messages, which may come after the user has gone elsewhere.
        static IDS: AtomicU64 = AtomicU64::new(0);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let mut editor =
            Self { document, buffer, findings, lower: Lower::Findings, id, edits: 0, is_checked: true, top: 0 };
        editor.go_to_finding(true, true);
        editor
    }

    /// Returns the text to save. It ends with a newline if the original text does.
    pub fn text(&self) -> String {
        let mut text = self.buffer.lines().join("\n");
        if self.document.text.ends_with('\n') || self.document.text.is_empty() {
            text.push('\n');
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
        let changed = self.buffer.input(key);
        self.touched(changed)
    }

    pub fn insert(&mut self, text: &str) -> bool {
        let changed = self.buffer.insert_str(text);
        self.touched(changed)
    }

    pub fn undo(&mut self) -> bool {
        let changed = self.buffer.undo();
        self.touched(changed)
    }

    pub fn redo(&mut self) -> bool {
        let changed = self.buffer.redo();
        self.touched(changed)
    }

    fn touched(&mut self, changed: bool) -> bool {
        if changed {
            self.edits += 1;
            self.is_checked = false;
            if !matches!(self.lower, Lower::Findings) {
                self.lower = Lower::Findings;
            }
        }
        changed
    }

    /// Returns the line and column of the cursor, counted from 1.
    pub fn cursor(&self) -> (usize, usize) {
        let (row, column) = self.position();
        (row + 1, column + 1)
    }

    fn position(&self) -> (usize, usize) {
        let cursor = self.buffer.cursor();
        (cursor.0, cursor.1)
    }

    pub fn jump(&mut self, line: usize, column: usize) {
        let at = |number: usize| u16::try_from(number.saturating_sub(1)).unwrap_or(u16::MAX);
        self.buffer.move_cursor(CursorMove::Jump(at(line), at(column)));
    }

    pub fn moved(&mut self, movement: CursorMove) {
        self.buffer.move_cursor(movement);
    }

    /// Returns the finding at the cursor, or else the first one on its line, with its index.
    pub fn finding(&self) -> Option<(usize, &Finding)> {
        let (line, column) = self.cursor();
        let on_line = |finding: &Finding| finding.line <= line && line <= finding.end_line.min(finding.line);
        let at = |finding: &Finding| on_line(finding) && finding.column <= column && column <= finding.end_column;
        let found = self.findings.iter().position(at).or_else(|| self.findings.iter().position(on_line))?;
        Some((found, &self.findings[found]))
    }

    /// Moves the cursor to the next or previous finding, and wraps around at the end of the text. With `errors_first`,
    /// it skips warnings as long as there are errors.
    pub fn go_to_finding(&mut self, forward: bool, errors_first: bool) {
        let only_errors = errors_first && self.findings.iter().any(|finding| finding.is_error);
        let mut places: Vec<(usize, usize)> = self
            .findings
            .iter()
            .filter(|finding| finding.is_error || !only_errors)
            .map(|finding| (finding.line, finding.column))
            .collect();
        places.sort_unstable();
        places.dedup();
        let now = self.cursor();
        let next = match forward {
            true => places.iter().find(|place| **place > now).or(places.first()),
            false => places.iter().rev().find(|place| **place < now).or(places.last()),
        };
        if let Some((line, column)) = next.copied() {
            self.jump(line, column);
        }
    }

    /// Fixes the finding at the cursor. Returns whether the text changed.
    pub fn fix(&mut self) -> bool {
        let Some(fix) = self.finding().and_then(|(_, finding)| finding.fix.clone()) else { return false };
        let Some(fixed) = fix.apply(&self.text()) else { return false };
        self.replace(&fixed);
        self.jump(fix.line, fix.column);
        true
    }

    /// Replaces the whole text. The buffer records this as two edits, a cut and an insertion, so `u` needs two presses.
    pub fn replace(&mut self, text: &str) {
        self.buffer.select_all();
        self.buffer.cut();
        self.insert(text.strip_suffix('\n').unwrap_or(text));
    }
}
