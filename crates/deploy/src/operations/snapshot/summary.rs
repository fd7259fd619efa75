//! Converts a snapshot to data, for `list` and `show`.

use serde_json::{Value, json};

use mcpkg_base::clock;
use mcpkg_store::snapshots::Snapshot;

/// Returns the data of a snapshot of the place `root`.
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
