//! Finds values after the name of a secret: in settings, JSON, headers, XML and URLs.

use memchr::{memchr3_iter, memmem};

use super::name::Name;
use super::span::Matches;
use super::value::Values;

/// Finds the values after names of secrets in a text.
pub fn find(text: &str, found: &mut Matches) {
    let bytes = text.as_bytes();
    let mut values = Values::new(text);
    for at in memchr3_iter(b'=', b':', b'>', bytes) {
        let Some(after) = separator(bytes, at) else { continue };
        if at < values.until {
            continue;
        }
        if let Some(name) = Name::before(text, at).filter(|name| name.is_in_element(bytes, at)) {
            values.hide(after, &name, found);
        }
    }
    let mut values = Values::new(text);
    for at in memmem::find_iter(bytes, b"%3") {
        let is_separator = matches!(bytes.get(at + 2), Some(b'd' | b'D' | b'a' | b'A'));
        if is_separator
            && at >= values.until
            && let Some(name) = Name::before(text, at)
        {
            values.hide_encoded(at + 3, &name, found);
        }
    }
}

/// Returns the end of the separator at a position: `=`, `:`, `=>`, `:=`, or the `>` of an element.
fn separator(bytes: &[u8], at: usize) -> Option<usize> {
    let (before, after) = (at.checked_sub(1).map(|before| bytes[before]), bytes.get(at + 1).copied());
    match (bytes[at], before, after) {
        // These are not separators: paths such as `a::b`, URLs, comparisons, arrows.
        (b':', Some(b':'), _) | (b':', _, Some(b':')) => None,
        (b':', ..) if bytes[at + 1..].starts_with(b"//") => None,
        (b'=', _, Some(b'=' | b'~')) | (b'=', Some(b'=' | b'!' | b'<' | b'>' | b'~' | b':'), _) => None,
        (b'>', Some(b'=' | b'-'), _) => None,
        (b'=', _, Some(b'>')) | (b':', _, Some(b'=')) => Some(at + 2),
        _ => Some(at + 1),
    }
}
