//! Notes: short texts that a person adds when they approve or deny something, or that an agent adds to say why it asks.

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::quote;

/// The maximum length of a note, in bytes.
const MOST: usize = 1_000;

/// Trims a note; `None` if nothing is left. Refuses a note that is longer than 1,000 bytes or contains U+0000.
pub fn checked(note: Option<&str>) -> Result<Option<&str>> {
    checked_as("note", note)
}

/// Like [`checked`], for a text that errors call `what`.
pub fn checked_as<'n>(what: &str, note: Option<&'n str>) -> Result<Option<&'n str>> {
    let Some(note) = note.map(str::trim).filter(|note| !note.is_empty()) else { return Ok(None) };
    if note.len() > MOST {
        let why = format!("The {what} has {} bytes; the limit is {MOST}", note.len());
        return Err(Error::new(Code::InvalidArgument, why));
    }
    if note.contains('\0') {
        return Err(Error::new(Code::InvalidArgument, format!("The {what} contains the character U+0000")));
    }
    Ok(Some(note))
}

/// Quotes a note within a sentence, to show that the text is not mcpkg's.
pub fn quoted(note: &str) -> String {
    quote::text(note)
}
