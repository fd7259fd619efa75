//! Makes the name of a skill from a text.

/// The longest name of a skill, in characters.
pub const MAX_NAME: usize = 64;

/// Makes the name of a skill from a text: lower-case ASCII letters and digits with single hyphens in between, at most
/// [`MAX_NAME`] characters. Example: `Code.Review` becomes `code-review`. A text without such characters becomes
/// `command`. Rows contain these names, so this function must never change.
pub fn name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
    }
    let name = name.trim_matches('-');
    let name = name.get(..MAX_NAME).unwrap_or(name).trim_end_matches('-');
    if name.is_empty() { "command".to_owned() } else { name.to_owned() }
}
