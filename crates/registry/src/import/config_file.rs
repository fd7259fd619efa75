//! Reads `config.yaml` of Enact, the program that contract 002 describes: trust, the registry, and settings.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::home::Text;
use super::plan::LeftOut;
use mcpkg_base::error::Result;
use mcpkg_base::yaml;

/// The maximum number of values that the YAML aliases of a file may expand to.
const MAX_ALIASED: usize = 10_000;

/// The contents of `config.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConfigFile {
    pub trust: Trust,
    pub registry: Registry,
    pub execution: Execution,
    pub cache: Cache,
    #[serde(rename = "version")]
    _version: Value,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The section `trust`: the identities that the user trusts, and the policy.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Trust {
    /// Identities that are trusted both as publishers and as auditors, under the key that Enact itself reads.
    pub auditors: Vec<String>,
    /// Trusted auditors, under the key that contract 002 uses.
    pub trusted_auditors: Vec<String>,
    pub trusted_publishers: Vec<String>,
    pub policy: Option<String>,
    /// The older name of the policy.
    pub require_signatures: Option<bool>,
    /// How many attestations a tool needs.
    pub minimum_attestations: Option<i64>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The section `registry`: where tools come from.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Registry {
    pub url: Option<String>,
    /// Where the token is stored.
    pub auth_token_ref: Option<String>,
    /// The token itself, in plain text.
    pub auth_token: Option<Value>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The section `execution`: settings for runs of tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Execution {
    /// The timeout of a run.
    pub default_timeout: Option<String>,
    pub verbose: Option<Value>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The section `cache`: how much is cached, and for how long.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Cache {
    /// The maximum size of unpacked tools in mebibytes.
    pub max_size_mb: Option<u64>,
    /// How many seconds a cached response stays valid.
    pub ttl_seconds: Option<u64>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl ConfigFile {
    /// Reads the file, and reports unknown keys.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if it is malformed; defaults are not used in that case.
    pub fn read(text: &Text, left: &mut Vec<LeftOut>) -> Result<Self> {
        let value: Value =
            yaml::read(&text.text, yaml::options(MAX_ALIASED)).map_err(|malformed| text.malformed(malformed))?;
        let value = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(map) => without_nulls(map),
            _ => return Err(text.malformed("it is not a mapping of keys and values")),
        };
        let read: Self = serde_json::from_value(value).map_err(|error| text.malformed(error))?;
        let sections = [
            ("", &read.other),
            ("trust.", &read.trust.other),
            ("registry.", &read.registry.other),
            ("execution.", &read.execution.other),
            ("cache.", &read.cache.other),
        ];
        for (section, other) in sections {
            for key in other.keys() {
                let what = format!("'{section}{}'", key.escape_debug());
                left.push(LeftOut::new(what, &text.name, "mcpkg has no such setting"));
            }
        }
        Ok(read)
    }
}

/// Removes keys that have no value, also within sections.
fn without_nulls(map: Map<String, Value>) -> Value {
    let said = map.into_iter().filter(|(_, value)| !value.is_null());
    let said = said.map(|(key, value)| match value {
        Value::Object(section) => (key, without_nulls(section)),
        value => (key, value),
    });
    Value::Object(said.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;

    fn read(text: &str) -> Result<(ConfigFile, Vec<LeftOut>)> {
        let text =
            Text { name: "config.yaml".to_owned(), path: "/home/me/.enact/config.yaml".into(), text: text.to_owned() };
        let mut left = Vec::new();
        ConfigFile::read(&text, &mut left).map(|read| (read, left))
    }

    #[test]
    fn x17_both_spellings_are_read_and_broken_yaml_is_an_error() {
        let text = "trust:\n  auditors: [github:a]\n  trusted_auditors: [github:b]\n  trusted_publishers: [github:c]\n  \
                    policy: prompt\n  minimum_attestations: 2\nregistry:\n  url: https://api.enact.dev\n";
        let (read_, left) = read(text).expect("a file");
        assert_eq!(read_.trust.auditors, ["github:a"]);
        assert_eq!(read_.trust.trusted_auditors, ["github:b"]);
        assert_eq!(read_.trust.trusted_publishers, ["github:c"]);
        assert_eq!((read_.trust.minimum_attestations, left), (Some(2), Vec::new()));
        for bad in [
            "trust: [",
            "trust:\n\tpolicy: prompt\n",
            "just a text",
            "- a list",
            "trust: prompt",
            "trust:\n  auditors: github:a\n",
            "trust:\n  minimum_attestations: many\n",
            "cache:\n  maxSizeMb: -1\n",
            "a: 1\na: 2\n",
        ] {
            assert_eq!(read(bad).expect_err(bad).code(), Code::InvalidArgument, "{bad}");
        }
    }

    #[test]
    fn an_empty_file_is_valid_and_unknown_keys_are_reported() {
        for empty in ["", "# nothing\n", "trust:\n", "trust: {}\n", "trust:\n  auditors:\n"] {
            let (read_, left) = read(empty).expect(empty);
            assert!(read_.trust.policy.is_none() && left.is_empty(), "{empty:?}");
        }
        let (_, left) = read("version: 1.0.0\ncolour: red\ncache:\n  maxSize: 5\n").expect("a file");
        let told: Vec<&str> = left.iter().map(|left| left.what.as_str()).collect();
        assert_eq!(told, ["'colour'", "'cache.maxSize'"]);
    }
}
