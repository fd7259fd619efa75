//! Draws the form that edits a text, with the findings about it and what saving would change. It works without scripts; with
//! `editor.js`, CodeMirror takes the place of the text area.

use maud::{Markup, html};

use mcpkg_console::finding::{self, Finding};
use mcpkg_console::picker::{Does, Picker};
use mcpkg_console::screen::Line;

use super::asset::{CODEMIRROR, EDITOR};
use super::form::typed;
use super::page::secret;
use super::session::Session;
use super::text::{label, lines, shown};

pub struct Sheet<'a> {
    /// The address that the form is sent to.
    pub address: &'a str,
    pub label: &'static str,
    /// A remark about the text, or nothing.
    pub about: &'static str,
    /// The language of the text, for `editor.js`.
    pub syntax: &'static str,
    /// Whether the server can suggest values.
    pub suggests: bool,
    /// The label of the button that saves.
    pub save: &'static str,
    /// A hash of what the editor was opened with.
    pub base: String,
    /// Who saved the newest revision, for a sentence.
    pub saved_by: &'a str,
    pub text: &'a str,
    pub findings: &'a [Finding],
    /// The difference that saving makes; empty if there is none.
    pub changes: Vec<Line>,
    pub is_read_only: bool,
    /// The nonce of the styles that CodeMirror adds.
    pub nonce: &'a str,
}

impl Sheet<'_> {
    pub fn draw(&self, session: &Session) -> Markup {
        html! {
            form.fields.editor method="post" action=(self.address) data-by=(shown(self.saved_by)) {
                (secret(session))
                input type="hidden" name="base" value=(self.base);
                p #note.warning role="status" hidden {}
                p #discard hidden { button type="button" { "Discard my text" } }
                (self.verdict())
                label #text-label for="text" { (self.label) }
                @if !self.about.is_empty() { p.about { (self.about) } }
                p #text-keys.about hidden {
                    "Tab leaves the editor. Ctrl-] indents, F8 goes to the next finding, Ctrl-F searches"
                    @if self.suggests { ", Ctrl-Space suggests" }
                    @if !self.is_read_only { ", Ctrl-S saves" } "."
                }
                textarea #text name="text" rows="24" spellcheck="false" readonly[self.is_read_only]
                    data-syntax=(self.syntax) data-suggests[self.suggests] data-nonce=(self.nonce) { (typed(self.text)) }
                @if !self.is_read_only {
                    p {
                        button name="key" value="check" { "Check" } " "
                        button.main name="key" value="save" { (self.save) }
                    }
                }
                // Below the text, so that the text stays where it is when the list changes.
                ul #findings.findings aria-label="Findings" {
                    @for finding in self.findings { (row(finding, self.is_read_only)) }
                }
                div #changes {
                    @if !self.changes.is_empty() {
                        h2 { "What saving changes" }
                        (lines(&self.changes))
                    }
                }
            }
            script src=(CODEMIRROR.address()) defer {}
            script src=(EDITOR.address()) defer {}
        }
    }

    /// Draws a sentence about the findings. Screen readers announce it when it changes.
    fn verdict(&self) -> Markup {
        let first = self.findings.first().map(|first| format!("line {}: {}", first.line, first.message));
        html! {
            @match first {
                None => { p #verdict.good role="status" { "The text has no mistakes." } }
                Some(first) => {
                    p #verdict.warning role="status" {
                        (finding::counted(self.findings)) ", first " (shown(&first))
                    }
                }
            }
        }
    }
}

/// Returns the place of a finding for `editor.js`: `13:26-13:32`.
fn place(line: usize, column: usize, end_line: usize, end_column: usize) -> String {
    format!("{line}:{column}-{end_line}:{end_column}")
}

fn row(finding: &Finding, is_read_only: bool) -> Markup {
    // The editor of the page knows these two severities.
    let (severity, class) = if finding.is_error { ("error", "bad") } else { ("warning", "warning") };
    let at = place(finding.line, finding.column, finding.end_line, finding.end_column);
    html! {
        li data-at=(at) data-severity=(severity) {
            span class=(class) { (label(finding.severity)) } " "
            span.dim { "line " (finding.line) ", column " (finding.column) ": " }
            span.message { (shown(&finding.message)) }
            @match &finding.fix {
                Some(fix) if !is_read_only => {
                    " " button name="fix" value=(spot(finding)) data-text=(fix.text)
                        data-at=(place(fix.line, fix.column, fix.end_line, fix.end_column)) {
                        "Change to " code { (shown(&fix.text)) }
                    }
                }
                Some(fix) => { span.good { " fix: " (shown(&fix.text)) } }
                None if finding.hint.is_empty() => {}
                None => { span.dim { " (" (shown(&finding.hint)) ")" } }
            }
        }
    }
}

/// Returns a text that identifies a finding among all findings about the same text.
fn spot(finding: &Finding) -> String {
    format!("{} {} {}:{}", finding.code, finding.pointer, finding.line, finding.column)
}

/// Returns the text with the fix of the finding that `wanted` identifies.
pub fn mended(findings: &[Finding], text: &str, wanted: &str) -> Option<String> {
    findings.iter().find(|finding| spot(finding) == wanted)?.fix.as_ref()?.apply(text)
}

/// Draws the suggestions for a place in a text, for `editor.js`.
pub fn suggestions(picker: &Picker) -> Markup {
    html! {
        ul #suggestions {
            @for pick in &picker.rows {
                @if let Does::Write(fix) = &pick.does {
                    li data-text=(fix.text) data-at=(place(fix.line, fix.column, fix.end_line, fix.end_column)) {
                        @for cell in &pick.cells[1..] { @if !cell.text().trim().is_empty() { (cell.text()) " " } }
                    }
                }
            }
        }
    }
}
