//! Helpers for the answers about prompts and resources: pages, size limits, and decoding of stored bytes.

use serde::Serialize;
use serde_json::{Value, json};

use super::cursor;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{self, Body, Context, Table};
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::page::{Page, Slice};
use mcpkg_store::prompts::Argument;

/// Fails if content is too large for one answer. Call this before reading the content.
pub fn check_size(size: i64, limit: u64, what: impl FnOnce() -> String, how: impl FnOnce() -> String) -> Result<()> {
    let size = u64::try_from(size).unwrap_or(0);
    if size <= limit {
        return Ok(());
    }
    Err(too_large(&what(), size, limit, &how()))
}

/// Returns the hint for an update that changed nothing and therefore added no revision.
pub(super) fn unchanged(before: i64, after: i64) -> Option<String> {
    (before == after).then(|| "nothing changed, so no revision was added".to_owned())
}

/// Returns the error for content that is larger than one answer may be.
pub fn too_large(what: &str, size: u64, limit: u64, how: &str) -> Error {
    Error::new(
        Code::TooLarge,
        format!(
            "{what} is {size} bytes long, but a response can be at most {limit} bytes long; in the shell, `{how}` has no \
                such limit"
        ),
    )
    .hint("`mcpkg serve --max-answer BYTES` raises the limit")
    .with_details(json!({ "size": size, "limit": limit }))
}

/// Returns the page that a list call asks for. By default, the shell gets all rows, and an agent gets [`op::PAGE`]
/// rows.
pub(super) fn page(
    list: &str,
    after: Option<&str>,
    limit: Option<u32>,
    context: &Context,
    project: i64,
) -> Result<Page> {
    let mut page = match limit {
        None if context.is_shell() => Page::all(),
        asked => Page::first(op::limit(asked, op::PAGE, usize::MAX)?),
    };
    if let Some(after) = after {
        let (of, name) = cursor::decode(list, after)?;
        cursor::check_project(of, project)?;
        page.after = name;
    }
    Ok(page)
}

/// Returns the cursor of the next page, or `None` on the last page. `name` returns the name of a row.
pub(super) fn next_cursor<R>(list: &str, project: i64, slice: &Slice<R>, name: fn(&R) -> &str) -> Option<String> {
    slice.rows.last().filter(|_| slice.more).map(|last| cursor::encode(list, project, name(last)))
}

/// Returns the body of a list. An agent also gets a text with `next_cursor`, because many clients show a model only the
/// text.
pub(super) fn listed(context: &Context, table: Table, next_cursor: Option<&str>) -> Body {
    let next = next_cursor.filter(|_| !context.is_shell()).map(|next| Body::Text(format!("next_cursor: {next}\n")));
    match next {
        Some(next) => Body::Several(vec![Body::Table(table), next]),
        None => Body::Table(table),
    }
}

/// Returns whether an agent's list call asks for at most one page of the default size. Such a call takes microseconds.
pub(super) fn is_one_page(limit: Option<u32>) -> bool {
    limit.is_none_or(|limit| limit as usize <= mcpkg_core::op::PAGE)
}

/// Converts a prompt's stored bytes to text. Bytes that are not UTF-8 mean that the store is damaged.
pub(super) fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes)
        .map_err(|error| mcpkg_store::blobs::damaged_value("a prompt's content is not UTF-8").with_source(error))
}

/// Parses the stored JSON of a prompt's arguments.
pub fn arguments(json: Option<&str>) -> Result<Vec<Argument>> {
    json.map_or(Ok(Vec::new()), serde_json::from_str)
        .map_err(|error| damaged_value("a prompt's arguments are malformed").with_source(error))
}

pub(super) fn serialize(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(unwritable)
}

/// Returns the error for a reply that cannot be written as JSON.
pub(super) fn unwritable(error: serde_json::Error) -> Error {
    Error::internal("a reply cannot be written as JSON").with_source(error)
}
