//! Finds the versions of a tool in a folder registry: `tools/NAME/VERSION/`.

use semver::Version;

use super::record::Record;
use super::root::{JSON, Root};
use crate::backend::wire;
use crate::package::Name;
use mcpkg_base::error::Result;

/// The names of the tools' folder, and of the files and the folder in a version's folder.
pub const TOOLS: &str = "tools";
pub const PACKAGE: &str = "package.json";
pub const MANIFEST: &str = "manifest.json";
pub const BUNDLE: &str = "bundle.tar.gz";
pub const ATTESTATIONS: &str = "attestations";

pub fn folder_of(name: &str) -> String {
    format!("{TOOLS}/{name}")
}

pub fn folder(name: &Name, version: &Version) -> String {
    format!("{TOOLS}/{name}/{version}")
}

/// Returns the path of a file that belongs to a version.
pub fn file(name: &Name, version: &Version, file: &str) -> String {
    format!("{TOOLS}/{name}/{version}/{file}")
}

/// Reads the record of a version; `None` if it does not exist.
pub fn one(root: &Root, name: &Name, version: &Version) -> Result<Option<Record>> {
    let path = file(name, version, PACKAGE);
    let Some(bytes) = root.read(&path, JSON)? else { return Ok(None) };
    Record::parse(&bytes, name, version).map(Some).map_err(|why| root.malformed(format!("`{path}` {why}")))
}

/// Returns the versions of a tool, unsorted. Skips versions that cannot be read.
pub fn all(root: &Root, name: &Name) -> Result<Vec<(Version, Record)>> {
    let names = root.names(&folder_of(name.as_str()))?;
    let versions = names.iter().filter_map(|name| wire::version(name));
    let read = versions.filter_map(|version| match one(root, name, &version) {
        Ok(record) => Some((version, record?)),
        Err(error) => {
            tracing::warn!(%name, %version, %error, "skipped a version that cannot be read");
            None
        }
    });
    Ok(read.collect())
}
