//! Reads and writes TOML files that hold one text and its metadata: Gemini's commands and Codex's subagents.

use toml_edit::{DocumentMut, Item};

/// The key that contains a command's text.
pub const PROMPT: &str = "prompt";
/// The key that contains a subagent's text.
pub const INSTRUCTIONS: &str = "developer_instructions";

/// Parses a file. The error is the reason, for people, why the file is not valid TOML.
pub fn parse(file: &[u8]) -> Result<DocumentMut, String> {
    let text = std::str::from_utf8(file).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.parse::<DocumentMut>().map_err(|error| format!("it is not valid TOML: {}", error.message()))
}

/// Returns the value of a key if it is a string.
pub fn text<'d>(document: &'d DocumentMut, key: &str) -> Option<&'d str> {
    document.get(key)?.as_str()
}

/// Writes a file with these keys, and then the text.
pub fn write(keys: &[(&str, &str)], key: &str, text: &str) -> String {
    let mut document = DocumentMut::new();
    for (key, value) in keys.iter().chain(&[(key, text)]) {
        document[*key] = toml_edit::value(*value);
    }
    document.to_string()
}

/// Replaces the text in a file and keeps everything else.
pub fn with(key: &str, file: &[u8], text: &str) -> Result<Vec<u8>, String> {
    let mut document = parse(file)?;
    document[key] = toml_edit::value(text);
    Ok(document.to_string().into_bytes())
}

/// Compares an edited file with the one that was written. Returns the new text, and whether other keys changed as well.
pub fn changed(key: &str, written: &[u8], edited: &[u8]) -> Result<(String, bool), String> {
    let (mut before, mut after) = (parse(written)?, parse(edited)?);
    before.remove(key);
    let text = after.remove(key).and_then(|item| item.as_str().map(str::to_owned));
    let text = text.ok_or_else(|| format!("its `{key}` is missing or is not a string"))?;
    let values = |document: &DocumentMut| -> Vec<(String, String)> {
        let value = |item: &Item| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
        document.iter().map(|(key, item)| (key.to_owned(), value(item))).collect()
    };
    Ok((text, values(&before) != values(&after)))
}
