//! Errors for tools and versions that a registry does not have.

use semver::Version;
use serde_json::json;

use crate::package::Name;
use mcpkg_base::error::{Code, Error};

/// The maximum number of versions that an error lists.
const NAMED: usize = 20;

pub fn no_tool(registry: &str, name: &Name) -> Error {
    Error::new(Code::ToolNotFound, format!("Registry '{registry}' has no tool '{name}'"))
        .with_details(json!({ "tool": name, "registry": registry }))
        .hint("`mcpkg tool search WORDS` finds tools")
}

/// Returns the error for a missing version; `wanted` is the requested version or range.
pub fn no_version(registry: &str, name: &Name, wanted: &str, versions: &[Version]) -> Error {
    let named = newest(versions);
    let hint = match named.is_empty() {
        true => "the tool has no versions".to_owned(),
        false => format!("it has {}", named.join(", ")),
    };
    Error::new(Code::VersionNotFound, format!("{name} has no version {wanted} in registry '{registry}'"))
        .with_details(json!({ "tool": name, "registry": registry, "versions": named }))
        .hint(hint)
}

/// Returns the error for a tool whose versions were all yanked.
pub fn none_but_yanked(registry: &str, name: &Name, versions: &[Version]) -> Error {
    let named = newest(versions);
    let message = format!("All versions of {name} in registry '{registry}' were yanked: {}", named.join(", "));
    Error::new(Code::VersionNotFound, message)
        .with_details(json!({ "tool": name, "registry": registry, "versions": named }))
}

/// Returns the versions that an error lists, newest first.
fn newest(versions: &[Version]) -> Vec<String> {
    let mut versions: Vec<&Version> = versions.iter().collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    versions.iter().take(NAMED).map(ToString::to_string).collect()
}
