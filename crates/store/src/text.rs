//! Prepares texts from others for the trail and messages.

use super::engine::{Row, Value};

/// Returns what an agent or a user called something as the trail keeps it: at most 255 characters, no control ones.
pub(super) fn plain(text: &str) -> String {
    text.chars().take(255).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns a text as far as it can be read: for the name of a row that is damaged.
pub(super) fn legible(row: &Row<'_>, column: usize) -> String {
    match row.get(column) {
        Ok(Value::Text(text)) => plain(&String::from_utf8_lossy(text)),
        _ => "?".to_owned(),
    }
}
