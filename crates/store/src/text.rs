//! Cleans texts that users or agents wrote, for the audit trail (`events`) and for messages.

use super::engine::{Row, Value};

/// Shortens a text to 255 characters and replaces control characters by spaces.
pub(super) fn plain(text: &str) -> String {
    text.chars().take(255).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the legible part of a text in a damaged row, to show as its name.
pub(super) fn legible(row: &Row<'_>, column: usize) -> String {
    match row.get(column) {
        Ok(Value::Text(text)) => plain(&String::from_utf8_lossy(text)),
        _ => "?".to_owned(),
    }
}
