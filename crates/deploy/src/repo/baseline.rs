//! Warns if a module has changed since its overlay was made. The overlay's baseline records the module's state at that
//! time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds::Refusal;
use super::overlay::Overlay;
use super::tree::{Hashes, META};
use mcpkg_base::error::{Code, Error};
use mcpkg_base::file;

/// The content of `baseline.json`.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Baseline {
    version: u64,
    #[serde(default)]
    created_at: Value,
    upstream_sha256: String,
    file_manifest: Vec<Entry>,
    #[serde(default)]
    upstream: Value,
}

#[derive(Debug, Deserialize, Serialize)]
struct Entry {
    path: String,
    sha256: String,
    bytes: u64,
}

impl Baseline {
    /// The name of the baseline file in an overlay.
    pub(super) const FILE: &str = "baseline.json";

    /// Records the module's current state. `upstream` describes the module's source.
    pub(super) fn of(hashes: &Hashes, upstream: Value, created_at: String) -> Self {
        let entry = |(path, (sha256, bytes)): (&String, &(String, usize))| Entry {
            path: path.clone(),
            sha256: sha256.clone(),
            bytes: *bytes as u64,
        };
        Self {
            version: 2,
            created_at: created_at.into(),
            upstream_sha256: hashes.tree.clone(),
            file_manifest: hashes.files.iter().map(entry).collect(),
            upstream,
        }
    }
}

/// Returns warnings if the module `id` has changed since its overlay was made. `touched` are the paths that the
/// overlay changes. `hashes` is called only if there is a baseline.
pub(super) fn drift(
    id: &str,
    overlay: &Overlay<'_>,
    touched: &BTreeSet<String>,
    hashes: impl FnOnce() -> Hashes,
) -> Vec<String> {
    let path = overlay.folder.join(META).join(Baseline::FILE);
    let bytes = match overlay.bounds.read(&path, file::TEXT) {
        Ok(bytes) => bytes,
        Err(Refusal::Missing) => return Vec::new(),
        Err(refusal) => {
            let unread = |why: &str| Error::new(Code::ConfigInvalid, format!("`{}` {why}", path.display()));
            return vec![format!("Overlay of module `{id}`: {}", refusal.error(&path, unread))];
        }
    };
    match serde_json::from_slice::<Baseline>(&bytes) {
        Ok(baseline) => compare(id, &overlay.folder, touched, &baseline, &hashes()),
        Err(error) => vec![format!("Overlay of module `{id}`: `{}` cannot be read: {error}", path.display())],
    }
}

fn compare(id: &str, folder: &Path, touched: &BTreeSet<String>, baseline: &Baseline, now: &Hashes) -> Vec<String> {
    if baseline.upstream_sha256 == now.tree {
        return Vec::new();
    }
    let then: BTreeMap<&str, &str> =
        baseline.file_manifest.iter().map(|entry| (entry.path.as_str(), entry.sha256.as_str())).collect();
    let about = |path: &String| {
        let what = match now.files.get(path) {
            None => "was removed from",
            Some((hash, _)) if then.get(path.as_str())? != hash => "changed in",
            Some(_) => return None,
        };
        then.get(path.as_str())?;
        Some(format!("Overlay of module `{id}`: `{path}` {what} the module since `{}` was created", folder.display()))
    };
    let warnings: Vec<String> = touched.iter().filter_map(about).collect();
    if warnings.is_empty() {
        return vec![format!("Overlay of module `{id}`: the module changed since `{}` was created", folder.display())];
    }
    warnings
}
