//! Maps tones to terminal styles, and truncates text.

use mcpkg_console::screen::Tone;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The space between the columns of a list.
pub const GAP: usize = 2;

/// Below this width, a row of a list may take two rows of the screen.
pub const NARROW: u16 = 60;

/// Returns the terminal style of a tone. It uses only the 16 basic colours, and keeps the terminal's background.
pub fn style(tone: Tone) -> Style {
    let style = Style::new();
    match tone {
        Tone::Plain => style,
        Tone::Dim => style.add_modifier(Modifier::DIM),
        Tone::Name => style.fg(Color::Cyan),
        Tone::Strong => style.add_modifier(Modifier::BOLD),
        Tone::Good | Tone::Added => style.fg(Color::Green),
        Tone::Warning => style.fg(Color::Yellow),
        Tone::Bad | Tone::Removed => style.fg(Color::Red),
        Tone::Changed => style.add_modifier(Modifier::REVERSED),
    }
}

/// Truncates a text that is wider than `width`, with an ellipsis.
pub fn cut(text: &str, width: usize, is_ascii: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let ellipsis = if is_ascii { "..." } else { "…" };
    let room = width.saturating_sub(ellipsis.width());
    let (mut cut, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        cut.push(c);
    }
    cut + if width >= ellipsis.width() { ellipsis } else { "" }
}

/// Truncates a text like [`cut`], but keeps its end.
fn cut_start(text: &str, width: usize, is_ascii: bool) -> String {
    let turned = |text: &str| text.chars().rev().collect::<String>();
    turned(&cut(&turned(text), width, is_ascii))
}

/// Truncates the text of a cell, or fills it with blanks.
pub fn padded(text: &str, width: usize, is_ascii: bool) -> String {
    let cut = cut_cell(text, width, is_ascii);
    let blank = width.saturating_sub(cut.width());
    cut + &" ".repeat(blank)
}

/// Truncates the text of a cell. A path keeps its end, which tells files apart, and so does a text that ends with a quoted
/// value.
pub fn cut_cell(text: &str, width: usize, is_ascii: bool) -> String {
    let value = text.find(" \"").filter(|_| text.ends_with('"')).map(|at| text.split_at(at));
    if let Some((what, value)) = value.filter(|(_, value)| value.width() <= width / 2) {
        return cut(what, width - value.width(), is_ascii) + value;
    }
    match text.contains('/') && !text.contains(' ') {
        true => cut_start(text, width, is_ascii),
        false => cut(text, width, is_ascii),
    }
}
