//! Reads the manifests of imported plugins. An export generates new manifests, and adds a remark on each part of an old
//! manifest that it leaves out.

use serde_json::{Map, Value};

use super::making::{Making, word};
use crate::item::{Entry, What};
use mcpkg_store::agent_files::Kind;
use mcpkg_store::blobs::NewContent;

/// The manifest whose hooks an export writes.
pub(super) const CLAUDES: &str = ".claude-plugin/plugin.json";

/// The manifests of an imported plugin, best first.
const BEST: [&str; 4] = [CLAUDES, "plugin.json", ".codex-plugin/plugin.json", ".cursor-plugin/plugin.json"];

const HOOKS: &str = "hooks";

/// The fields that [`add_remarks`] does not list as unknown: an export writes or generates them, or their files are
/// items of the project. Hooks get a remark of their own.
const KNOWN: [&str; 16] = [
    "$schema",
    "name",
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "agents",
    "commands",
    "skills",
    "rules",
    "mcpServers",
    HOOKS,
    "strict",
];

/// Returns the index and the content of the manifest at a path.
pub(super) fn at(items: &[(Entry, NewContent)], path: &str) -> Option<(usize, Map<String, Value>)> {
    let (at, (_, content)) =
        items.iter().enumerate().find(|(_, (entry, _))| is_manifest(entry) && entry.name == path)?;
    Some((at, read(content)?))
}

/// Returns the content of the manifest that describes the plugin best.
pub(super) fn best(items: &[(Entry, NewContent)]) -> Option<Map<String, Value>> {
    BEST.iter().find_map(|path| at(items, path)).map(|(_, manifest)| manifest)
}

/// Notes the parts of manifests that an export does not write, except the hooks in [`CLAUDES`].
pub(super) fn add_remarks(making: &mut Making, items: &[(Entry, NewContent)]) {
    for (entry, content) in items.iter().filter(|(entry, _)| is_manifest(entry)) {
        let Some(manifest) = read(content) else { continue };
        let path = entry.name.as_str();
        // In a marketplace's file, each plugin has its own entry.
        let of_market = manifest.get("plugins").and_then(Value::as_array);
        let has_hooks = |value: &Value| value.get(HOOKS).is_some_and(|hooks| !is_empty(hooks));
        let hooks = match of_market {
            Some(plugins) => plugins.iter().any(has_hooks),
            None => path != CLAUDES && manifest.get(HOOKS).is_some_and(|hooks| !is_empty(hooks)),
        };
        if hooks {
            let why = format!("only hooks in `{HOOKS}/` and {CLAUDES} are written");
            making.left_out(&[], word::AGENT_FILE, &format!("{path}: {HOOKS}"), &why);
        }
        let others = manifest.keys().filter(|key| of_market.is_none() && !KNOWN.contains(&key.as_str()));
        for key in others {
            let key: String = key.chars().take(64).collect();
            let name = format!("{path}: {}", key.escape_debug());
            making.left_out(&[], word::AGENT_FILE, &name, "the plugin's manifests have only what all agents accept");
        }
    }
}

fn is_manifest(entry: &Entry) -> bool {
    matches!(entry.what, What::AgentFile { holds: Kind::Plugin, .. })
}

/// Parses a JSON object. A byte-order mark may come before it.
pub(super) fn read(content: &NewContent) -> Option<Map<String, Value>> {
    let bytes = content.bytes().ok()?;
    serde_json::from_slice(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes)).ok()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        other => other.is_null(),
    }
}
