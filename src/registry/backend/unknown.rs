//! The failures of what a registry does not have.

use semver::Version;
use serde_json::json;

use crate::error::{Code, Error};
use crate::registry::package::Name;

/// The most versions that a failure names.
const NAMED: usize = 20;

/// Returns the failure of a tool that a registry does not have.
pub fn no_tool(registry: &str, name: &Name) -> Error {
    Error::new(Code::ToolNotFound, format!("Registry '{registry}' has no tool '{name}'"))
        .with_details(json!({ "tool": name, "registry": registry }))
        .hint("`mcpkg tool search WORDS` finds tools")
}

/// Returns the failure of a version that a tool does not have; `wanted` is what was asked for.
pub fn no_version(registry: &str, name: &Name, wanted: &str, versions: &[Version]) -> Error {
    let mut versions: Vec<&Version> = versions.iter().collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    let named: Vec<String> = versions.iter().take(NAMED).map(ToString::to_string).collect();
    let hint = match named.is_empty() {
        true => "it has no version at all".to_owned(),
        false => format!("it has {}", named.join(", ")),
    };
    Error::new(Code::VersionNotFound, format!("{name} has no version {wanted} in registry '{registry}'"))
        .with_details(json!({ "tool": name, "registry": registry, "versions": named }))
        .hint(hint)
}
