//! Parts that the answers of all workflow tools (contract 004) share: the version field, cursors, page limits and
//! shortened text.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{self, Context, PAGE};
use mcpkg_store::page::Page;

/// The `schema_version` of every answer and every error.
pub const VERSION: &str = "1.0";

/// Maximum length of an id or a short query, in bytes.
const SHORT: usize = 255;

/// An answer: the result of the tool, or an error. No field is required, because clients check errors against this schema too.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
pub struct Answer<T> {
    /// The version of the response format
    schema_version: Option<String>,
    #[serde(flatten)]
    answer: Option<T>,
    /// The error, if the call failed
    error: Option<Failure>,
}

/// Why a call failed.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Failure {
    /// The error code, such as E_NOT_FOUND
    code: Option<String>,
    /// What went wrong
    message: Option<String>,
    /// The kind of error: validation, conflict, not_found, refused, execution or internal
    category: Option<String>,
    /// What to do about the error
    hint: Option<String>,
    /// What to do about the error, as one word
    next_step: Option<String>,
    /// More details, depending on the error code
    details: Option<Map<String, Value>>,
    /// How long to wait before a retry, in milliseconds
    retry_after_ms: Option<u64>,
}

pub fn data(answer: &impl Serialize) -> Result<Value> {
    let written = serde_json::to_value(answer);
    written.map_err(|error| Error::internal("a response cannot be written as JSON").with_source(error))
}

/// Deserializes a string into a list with one element. Agents pass a string where the shell passes a list of words.
pub fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    String::deserialize(deserializer).map(|text| vec![text])
}

/// Returns whether a query is as short as an id or a few words. Such queries are answered in microseconds.
pub fn is_short(asked: &[String]) -> bool {
    asked.iter().map(String::len).sum::<usize>() <= SHORT
}

/// Returns the size of a page: `asked`, or else `usual`. A size of 0 or more than `most` is an error.
pub fn limit(asked: Option<u32>, usual: u32, most: u32) -> Result<usize> {
    op::limit(asked, usual as usize, most as usize)
}

/// Encodes a cursor: the name of a list, and the position in it after which the next page begins.
pub fn cursor(list: &str, place: &impl Serialize) -> Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(data(&(list, place))?.to_string()))
}

/// Decodes the position in a cursor. A cursor of a list other than `list` is an error.
pub fn place<T: serde::de::DeserializeOwned>(list: &str, cursor: &str) -> Result<T> {
    let parsed = (|| {
        let (of, place) = serde_json::from_slice::<(String, T)>(&URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        (of == list).then_some(place)
    })();
    parsed.ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("'{}' is not a valid cursor for this list", cursor.escape_debug()))
            .hint("use the cursor from the previous page, or omit it to start from the first page")
            .with_details(json!({ "cursor": cursor }))
    })
}

/// Returns the page that a call asks for. By default, a shell gets the whole list and an agent gets a hundred rows. A cursor is
/// valid only for the list and the project that it was made for.
pub fn page(list: &str, project: i64, after: Option<&str>, limit: Option<u32>, context: &Context) -> Result<Page> {
    let mut page = match limit {
        None if context.is_shell() => Page::all(),
        asked => Page::first(op::limit(asked, PAGE, usize::MAX)?),
    };
    if let Some(after) = after {
        let (of, last) = place::<(i64, String)>(list, after)?;
        if of != project {
            return Err(Error::new(Code::InvalidArgument, "The cursor belongs to another project")
                .hint("a different project has been selected since the cursor was created; omit the cursor to start from the first page"));
        }
        page.after = last;
    }
    Ok(page)
}

/// Returns the cursor of the page after the row `last`, or `None` if there is no `last`.
pub fn next(list: &str, project: i64, last: Option<&str>) -> Result<Option<String>> {
    last.map(|last| cursor(list, &(project, last))).transpose()
}

/// Shortens text to at most `most` bytes, at the end of a word if possible.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    // `…` takes three bytes.
    let end = (0..=most.saturating_sub(3)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let end = text[..end].rfind(' ').filter(|space| space * 2 > end).unwrap_or(end);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_round_trips_and_other_text_is_refused() {
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
