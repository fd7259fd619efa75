//! Decides how much of a plan an answer contains.
//!
//! The shell gets every field, and so do clients of a server that runs as `agentpack` (contract 000). Other agents
//! get each fact once, paths relative to one root, and long lists in pages.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::source::Site;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{self, Context, Identity, Reply};

/// The maximum number of files that a short answer to an agent lists ([`is_brief`]).
pub const MOST: usize = 200;

/// The fields of [`Page`] that a tool's schema lists in addition to the contract's. The other fields are accepted too,
/// but every field in a schema costs every client tokens.
pub const PAGED: &str = r#"{ "cursor": { "type": "string" } }"#;

/// Which files an answer lists.
#[derive(Clone, Debug, Default, clap::Args, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Page {
    /// Value of next_cursor from the previous response
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
    /// Maximum number of files to list
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
    /// Include each file's SHA-256 (`--json` always includes it)
    #[arg(skip)]
    pub hashes: bool,
}

/// Describes the part of a list that an answer leaves out.
pub struct Rest {
    /// How many files the answer lists.
    pub listed: usize,
    /// How many files there are in total.
    pub total: usize,
    /// The cursor for the next part.
    pub cursor: String,
}

impl Page {
    /// Returns the part of `items` that an answer lists. `path` returns the file of an item.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if the limit is out of range or the cursor does not belong to this list.
    pub fn of<'i, T>(
        &self,
        context: &Context,
        root: &str,
        items: &'i [T],
        path: impl Fn(&T) -> &Path,
    ) -> Result<(&'i [T], Option<Rest>)> {
        let usual = if is_brief(context) { MOST } else { usize::MAX };
        let most = if context.is_shell() { usize::MAX } else { MOST };
        let limit = op::limit(self.limit, usual, most)?;
        let name = |item: &T| below(root, path(item));
        let rest = match &self.cursor {
            None => items,
            Some(cursor) => match items.iter().position(|item| name(item) == *cursor) {
                Some(last) => &items[last + 1..],
                None => return Err(no_such_cursor(cursor)),
            },
        };
        let listed = &rest[..rest.len().min(limit)];
        let last = listed.last().filter(|_| listed.len() < rest.len());
        Ok((listed, last.map(|last| Rest { listed: listed.len(), total: items.len(), cursor: name(last) })))
    }
}

/// Adds a warning that says how to get the rest of the list from `tool`, and `next_cursor` to the data.
pub fn add_rest(reply: &mut Reply, rest: Option<Rest>, tool: &str) {
    let Some(Rest { listed, total, cursor }) = rest else { return };
    let cursor = json!(cursor);
    reply
        .warnings
        .push(format!("{listed} of {total} files are listed; call {tool} with cursor={cursor} for the next files"));
    reply.data["next_cursor"] = cursor;
}

fn no_such_cursor(cursor: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("'{}' is not a cursor of this list", cursor.escape_debug()))
        .hint(
            "use `next_cursor` from the previous response; if something has changed since then, omit the cursor to start again",
        )
        .with_details(json!({ "cursor": cursor }))
}

/// Returns a path relative to `root`. A path outside `root` is returned unchanged.
pub fn below(root: &str, path: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => disk::posix(rest),
        Err(_) => path.display().to_string(),
    }
}

/// Whether the answer is for an agent that gets the short form.
pub fn is_brief(context: &Context) -> bool {
    !context.is_shell() && context.caller.identity() != Identity::Agentpack
}

/// Shortens a reply if it is for an agent that gets the short form.
pub fn reply(context: &Context, site: &Site, page: &Page, mut reply: Reply) -> Reply {
    let root = site.place.root.as_str();
    if !is_brief(context) {
        return reply;
    }
    let brief = Brief { root, hashes: page.hashes };
    if let Value::Object(data) = std::mem::take(&mut reply.data) {
        reply.data = Value::Object(brief.data(data));
    }
    if root.len() > 1 {
        let folder = format!("{root}/");
        reply.warnings.iter_mut().for_each(|warning| *warning = warning.replace(&folder, ""));
    }
    reply
}

/// Converts the data of an answer to the short form.
struct Brief<'a> {
    root: &'a str,
    hashes: bool,
}

impl Brief<'_> {
    /// Returns the data in the short form. The counts and the root come before the first list of files.
    fn data(&self, given: Map<String, Value>) -> Map<String, Value> {
        let mut data = Map::new();
        let is_list = |value: &Value| value.as_array().is_some_and(|rows| rows.iter().any(Value::is_object));
        let summary = given.get("summary").cloned();
        for (key, value) in given {
            if let Some(summary) = summary.clone().filter(|_| is_list(&value)) {
                data.entry("summary").or_insert(summary);
            }
            if is_list(&value) {
                data.entry("root").or_insert_with(|| json!(self.root));
            }
            self.put(&mut data, key, value);
        }
        data.entry("root").or_insert_with(|| json!(self.root));
        data
    }

    /// Adds a field. A list that is too long is cut, and its full length is added.
    fn put(&self, fields: &mut Map<String, Value>, key: String, mut value: Value) {
        let total = value.as_array().map_or(0, Vec::len);
        if total > MOST
            && let Some(rows) = value.as_array_mut()
        {
            rows.truncate(MOST);
            fields.insert(format!("{key}_total"), json!(total));
        }
        fields.insert(key, self.value(value));
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::Array(values) => values.into_iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => Value::Object(self.fields(fields)),
            other => other,
        }
    }

    fn fields(&self, given: Map<String, Value>) -> Map<String, Value> {
        let is_change = given.contains_key("op");
        let says_targets = given.contains_key("targets");
        let repeats = |key: &str, value: &Value| match key {
            "target" => says_targets,
            "module_ids" => is_change,
            "reason" => is_change && value.as_str().is_some_and(|reason| PLAIN.contains(&reason)),
            "before_sha256" | "after_sha256" | "before_hash" | "after_hash" | "expected" | "actual" => !self.hashes,
            _ => key.strip_suffix("_posix").is_some_and(|twin| given.get(twin) == Some(value)),
        };
        let mut fields = Map::new();
        for (key, value) in given.iter().filter(|(key, value)| !repeats(key, value)) {
            let value = match (key.as_str(), value) {
                ("path" | "root", Value::String(path)) => json!(below(self.root, Path::new(path))),
                (_, value) => value.clone(),
            };
            self.put(&mut fields, key.clone(), value);
        }
        fields
    }
}

/// Reasons that repeat what the operation of a change already says. A short answer omits them.
const PLAIN: [&str; 4] = ["file missing", "content differs", "no longer managed", "rolled back"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_gets_each_fact_once() {
        let brief = Brief { root: "/r", hashes: false };
        let given = json!({
            "applied": false,
            "changes": [{
                "target": "codex", "op": "create", "path": "/r/a/b.md", "path_posix": "/r/a/b.md",
                "before_sha256": null, "after_sha256": "00", "reason": "file missing", "targets": ["codex", "vscode"],
                "module_ids": ["skill:b"],
            }, { "op": "update", "path": "/elsewhere/c.md", "reason": "mode differs", "targets": ["codex"] }],
        });
        let Value::Object(given) = given else { unreachable!() };
        let changes = json!([
            { "op": "create", "path": "a/b.md", "targets": ["codex", "vscode"] },
            { "op": "update", "path": "/elsewhere/c.md", "reason": "mode differs", "targets": ["codex"] },
        ]);
        let shown = Value::Object(brief.data(given.clone()));
        assert_eq!(shown.to_string(), json!({ "applied": false, "root": "/r", "changes": changes }).to_string());
        let with_hashes = Brief { root: "/r", hashes: true }.data(given);
        assert_eq!(with_hashes["changes"][0]["after_sha256"], "00");
    }
}
