//! What contract 004's tools answer, as their output schemas say it, and the pages of those that list.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{Code, Error, Result};

/// The version that every answer and every failure begins with.
pub const VERSION: &str = "1.0";

/// An answer: what the tool gives, or why it failed. It requires nothing, since a client holds failures against it too.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
pub struct Answer<T> {
    /// The version of what follows
    schema_version: Option<String>,
    #[serde(flatten)]
    answer: Option<T>,
    /// Why it failed
    error: Option<Failure>,
}

/// Why a call failed.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Failure {
    /// A code, such as E_NOT_FOUND
    code: Option<String>,
    /// What went wrong
    message: Option<String>,
    /// validation, conflict, not_found, refused, execution or internal
    category: Option<String>,
    /// What to do about it
    hint: Option<String>,
    /// The same, as one word
    next_step: Option<String>,
    /// What is known besides, by code
    details: Option<Map<String, Value>>,
    /// How long to wait, in milliseconds
    retry_after_ms: Option<u64>,
}

/// Returns an answer as data.
///
/// # Errors
/// `E_INTERNAL` where it cannot be written as JSON.
pub fn data(answer: &impl Serialize) -> Result<Value> {
    let written = serde_json::to_value(answer);
    written.map_err(|error| Error::internal("an answer cannot be written as JSON").with_source(error))
}

/// Takes one text, where the shell takes several words.
pub fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    String::deserialize(deserializer).map(|text| vec![text])
}

/// Returns how many rows a page has: as many as were asked for, else the usual number.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where none were asked for, or more than `most`.
pub fn limit(asked: Option<u32>, usual: u32, most: u32) -> Result<usize> {
    let limit = asked.unwrap_or(usual);
    if !(1..=most).contains(&limit) {
        return Err(Error::new(Code::InvalidArgument, format!("limit {limit} is not between 1 and {most}")));
    }
    Ok(limit as usize)
}

/// Returns the cursor of what comes after a row of `list`, which is at this place.
pub fn cursor(list: &str, place: &impl Serialize) -> Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(data(&(list, place))?.to_string()))
}

/// Returns the place that a cursor of `list` names.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where the list never gave it out.
pub fn place<T: serde::de::DeserializeOwned>(list: &str, cursor: &str) -> Result<T> {
    let parsed = (|| {
        let (of, place) = serde_json::from_slice::<(String, T)>(&URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        (of == list).then_some(place)
    })();
    parsed.ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("'{}' is not a cursor of this list", cursor.escape_debug()))
            .hint("use the cursor that the page before gave, or leave it out to begin anew")
            .with_details(json!({ "cursor": cursor }))
    })
}

/// Returns a text of at most so many bytes, cut at the end of a word where it can be.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    // The sign at the end has three bytes.
    let end = (0..=most.saturating_sub(3)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let end = text[..end].rfind(' ').filter(|space| space * 2 > end).unwrap_or(end);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_and_nothing_else_is_one() {
        let next = cursor("commands", &(2, "apps:list")).unwrap();
        assert_eq!(place::<(u32, String)>("commands", &next).unwrap(), (2, "apps:list".to_owned()));
        for bad in ["", "x", "!!!", &next[1..]] {
            assert_eq!(place::<(u32, String)>("commands", bad).unwrap_err().code(), Code::InvalidArgument, "{bad}");
        }
        assert!(place::<(u32, String)>("providers", &next).is_err());
    }

    #[test]
    fn a_limit_is_within_its_bounds() {
        assert_eq!((limit(None, 20, 100).unwrap(), limit(Some(100), 20, 100).unwrap()), (20, 100));
        assert!(limit(Some(0), 20, 100).is_err() && limit(Some(101), 20, 100).is_err());
    }

    #[test]
    fn a_long_text_is_cut_at_a_word() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("a rather long summary", 16), "a rather…");
        assert_eq!(cut("ääääääää", 9), "äää…");
        assert!(cut(&"x".repeat(100), 80).len() <= 80);
    }
}
