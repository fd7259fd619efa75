//! Builds a plugin's `hooks/hooks.json` from the project's own file and the hooks of an imported manifest.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::making::{Making, json_bytes, word};
use super::manifest::{self, CLAUDES};
use crate::item::{Entry, What};
use mcpkg_base::error::Result;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::blobs::NewContent;

/// The file with the hooks of a plugin. Scripts are next to it.
pub(super) const HOOKS: &str = "hooks/hooks.json";
const KEY: &str = "hooks";

/// The plugin's `hooks/hooks.json`.
pub(super) struct HooksFile {
    pub bytes: Vec<u8>,
    /// The index of the item that an import should restore from this file: the project's own `hooks/hooks.json`, or
    /// else the manifest.
    pub at: usize,
    /// The paths of the files whose hooks were merged into this one.
    pub merged: BTreeSet<String>,
}

/// Returns the plugin's hooks, if the project has hooks. Notes hooks in Claude Code's manifest that cannot be merged.
pub(super) fn of(making: &mut Making, items: &[(Entry, NewContent)]) -> Result<Option<HooksFile>> {
    let own = find(items, HOOKS);
    let manifest = manifest::at(items, CLAUDES);
    let mut merged = BTreeSet::new();
    let mut more = Vec::new();
    let listed = match manifest.as_ref().and_then(|(_, manifest)| manifest.get(KEY)) {
        Some(Value::Array(list)) => list.as_slice(),
        Some(Value::Null) | None => &[],
        Some(value) => std::slice::from_ref(value),
    };
    for value in listed {
        match value {
            Value::String(path) => {
                let path = path.strip_prefix("./").unwrap_or(path);
                // The hooks in the default file run once, even if the manifest lists that file too.
                if path == HOOKS {
                    continue;
                }
                let Some(found) = find(items, path) else {
                    let why = "the manifest names it, and the project does not hold it";
                    making.left_out(&[], word::AGENT_FILE, path, why);
                    continue;
                };
                let file = manifest::read(&items[found].1);
                if let Some(events) = file.as_ref().and_then(|file| events(file.get(KEY)?)) {
                    more.push(events.clone());
                    merged.insert(path.to_owned());
                }
            }
            inline => match events(inline) {
                Some(events) => more.push(events.clone()),
                None => making.left_out(
                    &[],
                    word::AGENT_FILE,
                    CLAUDES,
                    "Claude Code ignores some of its hooks, because they are not lists by event",
                ),
            },
        }
    }
    more.retain(|events| !events.is_empty());
    let Some(at) = own.or(manifest.map(|(at, _)| at).filter(|_| !more.is_empty())) else { return Ok(None) };
    let original = own.map(|own| items[own].1.bytes()).transpose()?.map(|bytes| bytes.into_owned());
    if more.is_empty() {
        return Ok(original.map(|bytes| HooksFile { bytes, at, merged }));
    }
    let file = match own {
        Some(own) => manifest::read(&items[own].1).and_then(|file| with(file, more)),
        None => with(Map::new(), more),
    };
    let names = || merged.iter().map(String::as_str).chain([CLAUDES]);
    match (file, original) {
        (Some(file), original) => {
            let why = format!("its hooks are in {HOOKS}");
            names().for_each(|name| making.changed(&[], word::AGENT_FILE, name, &why));
            if original.is_some() {
                making.changed(&[], word::AGENT_FILE, HOOKS, "it also has the hooks of the manifest");
            }
            Ok(Some(HooksFile { bytes: json_bytes(&file.into())?, at, merged }))
        }
        (None, original) => {
            let why = format!("its hooks cannot be added to {HOOKS}, which is not a JSON object with lists by event");
            names().for_each(|name| making.left_out(&[], word::AGENT_FILE, name, &why));
            Ok(original.map(|bytes| HooksFile { bytes, at, merged: BTreeSet::new() }))
        }
    }
}

fn find(items: &[(Entry, NewContent)], path: &str) -> Option<usize> {
    items.iter().position(|(entry, _)| entry.name == path && is_claudes(entry))
}

/// Returns whether an item is one of Claude Code's hook files.
pub(super) fn is_claudes(entry: &Entry) -> bool {
    matches!(entry.what, What::AgentFile { holds: Kind::Hook, .. })
        && entry.origin.agent.as_deref() == Some(super::making::CLAUDE)
}

/// Returns hooks by event, if they are in the form that Claude Code reads: `{"Stop": [...]}`.
fn events(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object().filter(|events| events.values().all(Value::is_array))
}

/// Adds hooks to a file. Returns `None` if the file's own hooks are not in the form that Claude Code reads.
fn with(mut file: Map<String, Value>, more: Vec<Map<String, Value>>) -> Option<Map<String, Value>> {
    let hooks = file.entry(KEY).or_insert_with(|| Map::new().into());
    events(hooks)?;
    for (event, added) in more.into_iter().flatten() {
        let Value::Array(added) = added else { continue };
        if let Value::Array(list) = hooks.as_object_mut()?.entry(event).or_insert_with(|| Value::Array(Vec::new())) {
            list.extend(added);
        }
    }
    Some(file)
}
