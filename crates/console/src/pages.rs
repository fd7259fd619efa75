//! Reads long lists page by page, so that a screen opens as fast in a large project as in a small one.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Reply};

use crate::action::{Action, Does, Invocation};
use crate::screen::{Row, Span, Tone};

/// The first rows of a list.
pub struct Rows {
    pub rows: Vec<Value>,
    pub has_more: bool,
}

/// Runs a command that lists rows, and returns the first `wanted` rows of its list `field`. Reads at most `page` rows
/// in one call.
pub fn first(context: &Context, call: &Invocation, field: &str, wanted: usize, page: usize) -> Result<Rows> {
    let (replies, has_more) = replies(context, call, wanted, page)?;
    let rows = |reply: Reply| match reply.into_value()[field].take() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    };
    Ok(Rows { rows: replies.into_iter().flat_map(rows).collect(), has_more })
}

/// Returns the replies for the first pages of a list, and whether there are more.
pub fn replies(context: &Context, call: &Invocation, wanted: usize, page: usize) -> Result<(Vec<Reply>, bool)> {
    let mut replies = Vec::new();
    let mut cursor: Option<String> = None;
    let mut left = wanted;
    while left > 0 {
        let limit = left.min(page);
        let call = call.clone().option("--limit", &limit.to_string()).options("--cursor", cursor);
        let reply = call.run(context)?;
        cursor = reply.data["next_cursor"].as_str().map(str::to_owned);
        replies.push(reply);
        if cursor.is_none() {
            break;
        }
        left -= limit;
    }
    Ok((replies, cursor.is_some()))
}

/// Returns the row `... more`, which ends a list if not all rows are loaded. `of` names the rows, such as `prompts`.
pub fn more(of: &str) -> Row {
    Row {
        id: format!("more {of}"),
        cells: vec![Span::new(Tone::Dim, &format!("... more {of}"))],
        actions: vec![Action::new('\n', "more", Does::More)],
        ..Row::default()
    }
}

/// Adds `1,000 of more` to a title if not all rows are loaded.
pub fn titled(title: &str, rows: &[Row]) -> String {
    let count = rows.iter().filter(|row| !row.is_heading && !row.is_more()).count();
    match rows.iter().any(Row::is_more) {
        true => format!("{title}: {} of more", thousands(count)),
        false => title.to_owned(),
    }
}

/// Formats a number with commas: `1,000`.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_and_only_a_long_list_says_that_there_is_more() {
        assert_eq!([7, 999, 1_000, 1_234_567].map(thousands), ["7", "999", "1,000", "1,234,567"]);
        let rows = vec![Row::heading("PROMPTS"), Row::default(), more("prompts")];
        assert_eq!(titled("Content", &rows), "Content: 1 of more");
        assert_eq!(titled("Content", &rows[..2]), "Content");
        assert!(rows[2].matches("anything"), "a filter leaves the row that loads more");
    }
}
