//! Draws text as lines of spans. All text reaches a page through a [`Span`], which shows hidden characters as marks.

use maud::{Markup, html};

use mcpkg_console::screen::{Line, Span, Tone};

/// Returns a text as one line, with hidden characters shown as marks.
pub fn shown(text: &str) -> String {
    Span::plain(text).text().to_owned()
}

/// Draws lines. Quoted lines, which others wrote, are grouped behind a bar. Lines that are aligned by spaces are drawn
/// in a fixed-width font.
pub fn lines(lines: &[Line]) -> Markup {
    let is_blank = |line: &Line| line.spans.iter().all(|span| span.text().is_empty());
    let is_one_part = |one: &Line, next: &Line| {
        (one.is_quoted, one.is_row) == (next.is_quoted, next.is_row)
            && (one.is_quoted || !is_blank(one) || is_blank(next))
    };
    let is_aligned = |line: &Line| {
        let text = line.text();
        text.starts_with(' ') || text.contains("   ")
    };
    html! {
        div.text {
            @for part in lines.chunk_by(is_one_part) {
                @if part[0].is_row {
                    // A region that scrolls needs the focus for the arrow keys.
                    div.quoted.aligned role="group" aria-label="Table" tabindex="0" { @for one in part { (line(one)) } }
                } @else if part[0].is_quoted {
                    div.quoted role="group" aria-label="Quoted text" { @for one in part { (line(one)) } }
                } @else {
                    div.code[part.iter().any(is_aligned)] { @for one in part { (line(one)) } }
                }
            }
        }
    }
}

/// Returns the words of a button or a link, beginning with a capital letter.
pub fn label(words: &str) -> String {
    let words = shown(words);
    let mut rest = words.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

pub fn line(line: &Line) -> Markup {
    html! { div.line.stop[line.is_stop] { @for one in line.spans.iter().filter(|one| !one.names_keys) { (span(one)) } } }
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
