//! Parses the responses of a registry: untrusted JSON.

use semver::Version;
use serde_json::Value;

use crate::backend::facts::{Facts, one_line};
use crate::backend::query::Hit;
use crate::backend::tool::{Listed, ToolInfo, VersionInfo};
use crate::backend::wire;
use crate::package::Name;
use mcpkg_base::clock::Millis;
use mcpkg_store::tools::packages::{Visibility, Yank};

/// The maximum number of versions of a tool that are read.
const VERSIONS: usize = 10_000;

/// Parses the response to a search: its valid results, and how many tools match.
pub fn search(answer: &Value, limit: u32) -> Option<(Vec<Hit>, u64)> {
    let tools = answer.get("tools")?.as_array()?;
    let hits: Vec<Hit> = tools.iter().filter_map(hit).take(limit as usize).collect();
    let total = answer.get("total").and_then(Value::as_u64).unwrap_or(0).max(hits.len() as u64);
    Some((hits, total))
}

fn hit(tool: &Value) -> Option<Hit> {
    let name = Name::parse(tool.get("name")?.as_str()?).ok().filter(Name::is_publishable)?;
    let version = wire::version(tool.get("version")?.as_str()?)?;
    let Facts { description, tags, .. } = Facts::of(tool);
    Some(Hit { name: name.to_string(), version: version.to_string(), description, tags })
}

pub fn info(answer: &Value, name: &Name) -> Option<ToolInfo> {
    let versions = answer.get("versions")?.as_array()?;
    if answer.get("name")?.as_str()? != name.as_str() {
        return None;
    }
    let mut versions: Vec<Listed> = versions.iter().take(VERSIONS).filter_map(listed).collect();
    versions.sort_unstable_by(|a, b| b.version.cmp(&a.version));
    let Facts { description, tags, license } = Facts::of(answer);
    Some(ToolInfo { name: name.clone(), description, tags, license, versions })
}

fn listed(version: &Value) -> Option<Listed> {
    let published_at = wire::time(version, "published_at").unwrap_or(0);
    Some(Listed {
        version: wire::version(version.get("version")?.as_str()?)?,
        sha256: version.get("bundle_hash").and_then(Value::as_str).and_then(wire::sha256),
        published_at,
        yank: yank(version, published_at),
    })
}

pub fn version(answer: &Value, name: &Name, version: &Version) -> Option<VersionInfo> {
    let is_asked = answer.get("name")?.as_str()? == name.as_str()
        && wire::version(answer.get("version")?.as_str()?).as_ref() == Some(version);
    let bundle = answer.get("bundle").filter(|_| is_asked)?;
    let published_at = wire::time(answer, "published_at").unwrap_or(0);
    let visibility = answer.get("visibility").and_then(Value::as_str).and_then(Visibility::from_word);
    Some(VersionInfo {
        name: name.clone(),
        version: version.clone(),
        sha256: wire::sha256(bundle.get("hash")?.as_str()?)?,
        size: bundle.get("size").and_then(Value::as_u64).unwrap_or(0),
        publisher: publisher(answer.get("published_by")),
        visibility: visibility.unwrap_or_default(),
        published_at,
        yank: yank(answer, published_at),
    })
}

/// Parses the publisher of a version: a string, or an object with a user name.
fn publisher(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text,
        object => object.get("username")?.as_str()?,
    };
    Some(one_line(text)).filter(|text| !text.is_empty())
}

fn yank(object: &Value, published_at: Millis) -> Option<Yank> {
    if object.get("yanked") != Some(&Value::Bool(true)) {
        return None;
    }
    Some(Yank {
        at: wire::time(object, "yanked_at").unwrap_or(published_at),
        reason: wire::text(object, "yank_reason"),
        replacement: wire::text(object, "yank_replacement"),
    })
}

/// An entry in a list of attestations: either the bundle itself, or only the name of the auditor who signed it.
#[derive(Debug, PartialEq, Eq)]
pub enum Attestation {
    /// A bundle as JSON.
    Bundle(String),
    /// The name of the auditor. Another request fetches the bundle.
    Of(String),
}

pub fn attestations(answer: &Value) -> Option<Vec<Attestation>> {
    let list = answer.get("attestations").unwrap_or(answer).as_array()?;
    let read = list.iter().filter_map(|item| match item.get("bundle") {
        Some(bundle @ Value::Object(_)) => Some(Attestation::Bundle(bundle.to_string())),
        Some(Value::String(bundle)) => Some(Attestation::Bundle(bundle.clone())),
        _ => item.get("auditor")?.as_str().map(|auditor| Attestation::Of(auditor.to_owned())),
    });
    Some(read.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_invalid_hit_is_skipped() {
        let answer = json!({ "total": 9, "tools": [
            { "name": "a/b", "version": "1.0.0", "description": "x\u{7}\ny", "tags": ["t"] },
            { "name": "../b", "version": "1.0.0" }, { "name": "a/b", "version": "1/../2" }, { "name": "a/c" }, 7,
        ] });
        let (hits, total) = search(&answer, 10).unwrap();
        assert_eq!((hits.len(), total, hits[0].description.as_str()), (1, 9, "x y"));
        assert_eq!(search(&json!({ "tools": "none" }), 10), None);
        assert_eq!(search(&json!([]), 10), None);
    }

    #[test]
    fn x60_a_response_about_another_tool_or_version_is_refused() {
        let (name, asked) = (Name::parse("a/b").unwrap(), Version::new(1, 0, 0));
        let hash = format!("sha256:{}", "ab".repeat(32));
        let answer = |name: &str, at: &str| json!({ "name": name, "version": at, "bundle": { "hash": hash } });
        assert!(version(&answer("a/b", "1.0.0"), &name, &asked).is_some());
        assert!(version(&answer("a/c", "1.0.0"), &name, &asked).is_none());
        assert!(version(&answer("a/b", "1.0.1"), &name, &asked).is_none());
        assert!(version(&json!({ "name": "a/b", "version": "1.0.0" }), &name, &asked).is_none());
        assert!(info(&json!({ "name": "a/c", "versions": [] }), &name).is_none());
    }

    #[test]
    fn an_attestation_is_a_bundle_or_the_name_of_its_auditor() {
        let list = json!({ "attestations": [{ "bundle": { "a": 1 } }, { "auditor": "x" }, { "bundle": "{}" }, 3] });
        let expected = [
            Attestation::Bundle(r#"{"a":1}"#.to_owned()),
            Attestation::Of("x".to_owned()),
            Attestation::Bundle("{}".to_owned()),
        ];
        assert_eq!(attestations(&list).unwrap(), expected);
        assert_eq!(attestations(&json!({})), None);
    }
}
