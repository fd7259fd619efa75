//! Cleans up names for the audit trail (`events`), for reports of damaged rows, and for skills.

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

/// The longest name of a skill, in characters.
pub const MAX_SKILL_NAME: usize = 64;

/// Makes the name of a skill from a text: lower-case ASCII letters and digits with single hyphens in between, at most
/// [`MAX_SKILL_NAME`] characters. Example: `Code.Review` becomes `code-review`. A text without such characters becomes
/// `command`. Rows contain these names, so this function must never change.
pub fn skill_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
    }
    let name = name.trim_matches('-');
    let name = name.get(..MAX_SKILL_NAME).unwrap_or(name).trim_end_matches('-');
    if name.is_empty() { "command".to_owned() } else { name.to_owned() }
}
