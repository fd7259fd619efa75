//! Shared parts of the answers on prompts and resources: pages, sizes, text and data.

use serde::Serialize;
use serde_json::{Value, json};

use super::cursor;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{self, Body, Context, Reply, Table};
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::page::{Page, Slice};
use mcpkg_store::prompts::Argument;
use mcpkg_store::revisions::Kind;

/// Refuses content that is too large for one answer, before it is read.
pub fn check_size(size: i64, limit: u64, what: impl FnOnce() -> String, how: impl FnOnce() -> String) -> Result<()> {
    let size = u64::try_from(size).unwrap_or(0);
    if size <= limit {
        return Ok(());
    }
    Err(too_large(&what(), size, limit, &how()))
}

/// Returns the reply of a deletion: the history stays, and a hint says how to bring the item back.
pub(super) fn deleted(kind: Kind, name: &str, revision: i64, project: &str, data: Value) -> Reply {
    let (word, before) = (kind.word(), revision.saturating_sub(1));
    Reply::sentence(format!("Deleted {word} '{name}' from project '{project}'"), data)
        .hint(format!("`mcpkg {word} restore {name} {before}` restores the {word}"))
}

/// Returns the hint for an update that changed nothing: it adds no revision.
pub(super) fn unchanged(before: i64, after: i64) -> Option<String> {
    (before == after).then(|| "nothing changed, so no revision was added".to_owned())
}

/// Returns the failure of content that is larger than one answer may be.
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

/// Returns the page a list call asks for: everything from the shell, a hundred for an agent, unless it says.
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

/// Returns the cursor of the next page; `name` returns the name of a row. `None` if this is the last page.
pub(super) fn next_cursor<R>(list: &str, project: i64, slice: &Slice<R>, name: fn(&R) -> &str) -> Option<String> {
    slice.rows.last().filter(|_| slice.more).map(|last| cursor::encode(list, project, name(last)))
}

/// Returns a list as its caller reads it. Many clients show a model only the text, so the text has the cursor of the next page.
pub(super) fn listed(context: &Context, table: Table, next_cursor: Option<&str>) -> Body {
    let next = next_cursor.filter(|_| !context.is_shell()).map(|next| Body::Text(format!("next_cursor: {next}\n")));
    match next {
        Some(next) => Body::Several(vec![Body::Table(table), next]),
        None => Body::Table(table),
    }
}

/// Whether a list call asks for a page of the usual size at most, which takes microseconds.
pub(super) fn is_one_page(limit: Option<u32>) -> bool {
    limit.is_none_or(|limit| limit as usize <= mcpkg_core::op::PAGE)
}

/// Returns stored bytes as the text they are known to be.
pub(super) fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes)
        .map_err(|error| mcpkg_store::blobs::damaged_value("a prompt's content is not UTF-8").with_source(error))
}

/// Returns the arguments that a prompt declares, from the JSON that is stored.
pub fn arguments(json: Option<&str>) -> Result<Vec<Argument>> {
    json.map_or(Ok(Vec::new()), serde_json::from_str)
        .map_err(|error| damaged_value("a prompt's arguments are malformed").with_source(error))
}

/// Returns a reply's data.
pub(super) fn serialize(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(unwritable)
}

/// Returns the failure of a reply that cannot be written as JSON.
pub(super) fn unwritable(error: serde_json::Error) -> Error {
    Error::internal("a reply cannot be written as JSON").with_source(error)
}
