//! What a text is called as a skill.

/// The most characters of a skill's name.
pub const MAX_NAME: usize = 64;

/// Returns a text as the name of a skill: lower case, single hyphens between letters and digits, [`MAX_NAME`] characters at
/// most; `Code.Review` is `code-review`. It stands in rows: it never changes.
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
