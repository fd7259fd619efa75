//! Draws forms for the arguments of an operation, and reads what the user entered.

use maud::{Markup, PreEscaped, html};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_console::form::{Field, Form};

use super::address::Fields;
use super::page::secret;
use super::session::Session;
use super::text::shown;

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
                p.warning { "You can only read here, so only commands that change nothing and write no files can run." }
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
            label for=(id) { (label) @if field.is_required { " (required)" } }
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
        missing if !missing.is_empty() => Err(Error::new(Code::InvalidArgument, format!("Missing: {missing}"))),
        _ => Ok(form),
    }
}

/// Returns the content of a `textarea`. It starts with an extra newline, because browsers drop a newline after the tag.
pub fn typed(text: &str) -> Markup {
    html! { (PreEscaped("\n")) (text) }
}
