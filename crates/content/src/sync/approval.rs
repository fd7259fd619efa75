//! The record that this user synced a project with a folder on this machine. mcpkg ignores folders in the database
//! without such a record, because the database may come from somebody else.

use std::path::Path;

use serde_json::{Value, json};

use mcpkg_base::approved::Kind;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_store::projects::Project;

/// A project, and a folder to sync it with.
pub(super) struct Pair<'p>(pub &'p Project, pub &'p Path);

impl Approvable for Pair<'_> {
    const KIND: Kind = Kind::Sync;

    fn covers(&self) -> Vec<u8> {
        [self.0.uuid.as_bytes(), self.1.as_os_str().as_encoded_bytes()].concat()
    }

    fn note(&self) -> Value {
        json!({ "path": self.1.display().to_string(), "project": self.0.uuid.to_string() })
    }
}
