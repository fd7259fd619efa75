//! Converts a snapshot to JSON, for `list` and `show`.

use serde_json::{Value, json};

use mcpkg_base::clock;
use mcpkg_store::snapshots::Snapshot;

/// Returns the JSON of a snapshot. `root` is the root folder that the snapshot's files are below.
pub(super) fn summary(snapshot: &Snapshot, root: &str) -> Value {
    json!({
        "id": snapshot.uuid.to_string(),
        "created_at": clock::rfc3339(snapshot.created_at),
        "kind": snapshot.kind,
        "state": snapshot.state,
        "pinned": snapshot.pinned,
        "files": snapshot.files,
        "targets": snapshot.targets,
        "profile": snapshot.profile,
        "rolled_back_to": snapshot.rolled_back_to,
        "actor": snapshot.actor,
        "root": root,
    })
}
