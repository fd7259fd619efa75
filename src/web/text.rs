//! Draws text as lines of spans. All text reaches a page through a [`Span`], which shows hidden characters as marks.

use maud::{Markup, html};

use mcpkg_console::screen::{Line, Span, Tone};

/// Returns a text as one line, with hidden characters shown as marks.
pub fn shown(text: &str) -> String {
    Span::plain(text).text().to_owned()
}

/// Draws lines. Quoted lines, which others wrote, are grouped behind a bar.
pub fn lines(lines: &[Line]) -> Markup {
    html! {
        div.text {
            @for part in lines.chunk_by(|one, next| one.is_quoted == next.is_quoted) {
                @if part[0].is_quoted {
                    div.quoted role="group" aria-label="Quoted text" { @for one in part { (line(one)) } }
                } @else {
                    @for one in part { (line(one)) }
                }
            }
        }
    }
}

pub fn line(line: &Line) -> Markup {
    html! { div.line.stop[line.is_stop] { @for one in &line.spans { (span(one)) } } }
}

pub fn span(span: &Span) -> Markup {
    let class = match span.tone {
        Tone::Plain => return html! { (span.text()) },
        Tone::Strong => return html! { strong { (span.text()) } },
        // The changed words of a line. Screen readers announce `mark` elements.
        Tone::Changed => return html! { mark { (span.text()) } },
        Tone::Dim => "dim",
        Tone::Name => "name",
        Tone::Good => "good",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
        Tone::Added => "added",
        Tone::Removed => "removed",
    };
    html! { span class=(class) { (span.text()) } }
}
