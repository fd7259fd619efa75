//! Maps tones to terminal styles, and truncates text.

use mcpkg_console::screen::Tone;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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
