//! Draws forms for the arguments of an operation and the text of a workflow, and reads what the user entered.

use maud::{Markup, PreEscaped, html};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_console::document::Document;
use mcpkg_console::editor;
use mcpkg_console::finding::Finding;
use mcpkg_console::form::{Field, Form};

use super::address::Fields;
use super::at::At;
use super::page::secret;
use super::session::Session;
use super::text::{lines, shown};

/// The arguments that usually take several lines of text.
const LONG: [&str; 4] = ["content", "text", "yaml", "message"];

/// Returns the name of an argument's input field. The prefix avoids a clash with the form's own fields, such as
/// `secret`.
fn name(field: &Field) -> String {
    format!("value.{}", field.name)
}

pub fn form(session: &Session, address: &str, form: &Form, is_read_only: bool) -> Markup {
    html! {
        p { (shown(form.about)) }
        form.fields method="post" action=(address) {
            (secret(session))
            @for (number, field) in form.fields.iter().enumerate() { (row(number, field)) }
            @if is_read_only {
                p.warning { "The console was started with --read-only, so only commands that change nothing and write no files can run." }
            }
            button.main { "Run" }
        }
    }
}

fn row(number: usize, field: &Field) -> Markup {
    let (id, about) = (format!("field-{number}"), format!("about-{number}"));
    let (name, label) = (name(field), shown(&field.name));
    let is_long = LONG.contains(&field.name.trim_start_matches('-'));
    html! {
        div.field {
            label for=(id) { (label) @if field.is_required { " (needed)" } }
            p.about id=(about) { (shown(&field.about)) }
            @if field.is_flag {
                input type="checkbox" id=(id) name=(name) value="on" checked[!field.value.is_empty()] aria-describedby=(about);
            } @else if !field.values.is_empty() {
                select id=(id) name=(name) aria-describedby=(about) {
                    option value="" { "" }
                    @for value in &field.values {
                        option value=(value) selected[*value == field.value] { (value) }
                    }
                }
            } @else if is_long {
                textarea id=(id) name=(name) rows="8" required[field.is_required] aria-describedby=(about) { (typed(&field.value)) }
            } @else {
                input type="text" id=(id) name=(name) value=(field.value) required[field.is_required] aria-describedby=(about);
            }
        }
    }
}

/// Returns a form with the values that the user posted.
pub fn filled(mut form: Form, posted: &Fields) -> Result<Form> {
    for field in &mut form.fields {
        let value = posted.get(&name(field));
        // Browsers send CRLF line ends.
        field.value = value.replace("\r\n", "\n");
        if field.value == "-" {
            let why = format!("'-' is not a value of {} here, because a page has no standard input", field.name);
            return Err(Error::new(Code::InvalidArgument, why));
        }
    }
    match form.missing().join(", ") {
        missing if !missing.is_empty() => Err(Error::new(Code::InvalidArgument, format!("Needed: {missing}"))),
        _ => Ok(form),
    }
}

/// Returns a hash of the texts and the revision that an editor was opened with. A later hash differs if somebody else
/// has changed the workflow since.
pub fn base(document: &Document) -> String {
    sha256::hex(format!("{}\n{}\n{}", document.revision, document.saved, document.text))
}

pub fn editor(session: &Session, at: &At, document: &Document, is_read_only: bool) -> Markup {
    edited(session, at, document, &document.text, is_read_only)
}

/// Draws an editor that shows `text` instead of the text it was opened with.
pub fn edited(session: &Session, at: &At, document: &Document, text: &str, is_read_only: bool) -> Markup {
    html! {
        form.fields method="post" action=(at.address()) {
            (secret(session))
            input type="hidden" name="base" value=(base(document));
            @if document.findings.is_empty() {
                p.good { "The text has no mistakes." }
            } @else {
                ul.findings aria-label="Findings" { @for finding in &document.findings { (row_of(finding, is_read_only)) } }
            }
            label for="text" { "Text of the workflow" }
            textarea #text name="text" rows="24" spellcheck="false" readonly[is_read_only] { (typed(text)) }
            @if !is_read_only {
                button name="key" value="check" { "Check" } " "
                button.main name="key" value="save" { (if document.by.is_empty() { "Save" } else { "Save and approve" }) }
            }
        }
        @if text != document.saved {
            h2 { "What saving changes" }
            (lines(&editor::difference(document, text)))
        }
    }
}

fn row_of(finding: &Finding, is_read_only: bool) -> Markup {
    let (word, class) = if finding.is_error { ("Error", "bad") } else { ("Warning", "warning") };
    html! {
        li {
            span class=(class) { (word) } " "
            span.dim { "line " (finding.line) ", column " (finding.column) ": " }
            (shown(&finding.message))
            @match &finding.fix {
                Some(fix) if !is_read_only => {
                    " " button name="fix" value=(spot(finding)) { "Change to " code { (shown(&fix.text)) } }
                }
                Some(fix) => { span.good { " fix: " (shown(&fix.text)) } }
                None if finding.hint.is_empty() => {}
                None => { span.dim { " (" (shown(&finding.hint)) ")" } }
            }
        }
    }
}

/// Returns a text that identifies a finding among all findings about the same workflow.
fn spot(finding: &Finding) -> String {
    format!("{} {} {}:{}", finding.code, finding.pointer, finding.line, finding.column)
}

/// Returns the text with the fix of the finding that `wanted` identifies.
pub fn mended(findings: &[Finding], text: &str, wanted: &str) -> Option<String> {
    findings.iter().find(|finding| spot(finding) == wanted)?.fix.as_ref()?.apply(text)
}

/// Returns the content of a `textarea`. It starts with an extra newline, because browsers drop a newline after the tag.
fn typed(text: &str) -> Markup {
    html! { (PreEscaped("\n")) (text) }
}
