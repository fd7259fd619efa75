//! Notes: what a person says with a decision to whoever asked for it.

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::quote;

/// The most bytes of a note.
const MOST: usize = 1_000;

/// Returns a note without blanks at its ends; `None` if nothing is left.
pub fn checked(note: Option<&str>) -> Result<Option<&str>> {
    let Some(note) = note.map(str::trim).filter(|note| !note.is_empty()) else { return Ok(None) };
    if note.len() > MOST {
        let why = format!("The note has {} bytes; the limit is {MOST}", note.len());
        return Err(Error::new(Code::InvalidArgument, why));
    }
    if note.contains('\0') {
        return Err(Error::new(Code::InvalidArgument, "The note contains the character U+0000"));
    }
    Ok(Some(note))
}

/// Quotes a note for a sentence: it is a person's text, not mcpkg's.
pub fn quoted(note: &str) -> String {
    quote::text(note)
}
