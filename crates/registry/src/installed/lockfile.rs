//! Reads and writes `mcpkg-tools.lock`: the tools installed in a scope, each with the digest of its archive.

use std::collections::BTreeSet;
use std::path::Path;

use semver::Version;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::backend::sha256;
use crate::package::Name;
use crate::trust::Identity;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

/// The default file name.
pub const FILE: &str = "mcpkg-tools.lock";

const VERSION: u32 = 1;

const MOST: usize = 10_000;

/// The contents of a lock file. Keys and lists have a fixed order.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lockfile {
    version: u32,
    /// The tools, sorted by name and version.
    pub tools: Vec<Locked>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locked {
    pub name: Name,
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub version: Version,
    /// The SHA-256 of the archive, in hex.
    pub sha256: String,
    /// The registry that the archive came from.
    pub registry: String,
    /// The trusted identities that vouched for the archive.
    pub identities: Vec<String>,
    /// Whether agents see this version of the tool.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub active: bool,
}

fn as_text<S: Serializer>(version: &Version, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(version)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_yes(active: &bool) -> bool {
    *active
}

impl Lockfile {
    pub fn new(mut tools: Vec<Locked>) -> Self {
        tools.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.version.cmp(&b.version)));
        Self { version: VERSION, tools }
    }

    /// Serializes the lock file. Fails only through a bug.
    pub fn text(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n")
            .map_err(|error| Error::internal("the lock file cannot be written as JSON").with_source(error))
    }

    /// Reads a lock file, which may come from an untrusted source.
    pub fn read(path: &Path) -> Result<Self> {
        let text = file::read_text(path, file::TEXT)
            .map_err(|error| Error::file("read", path, error).hint("create a lock file with `mcpkg tool lock`"))?;
        Self::parse(&text).map_err(|error| {
            Error::new(error.code(), format!("`{}` {error}", path.display()))
                .hint("write the lock file again with `mcpkg tool lock`")
        })
    }

    fn parse(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let head: Head =
            serde_json::from_str(text).map_err(|error| invalid(format!("is not a lock file for tools: {error}")))?;
        if head.version != VERSION {
            let why = format!("has version {}; this mcpkg reads version {VERSION}", head.version);
            return Err(Error::new(Code::LockfileVersion, why));
        }
        let lock: Self =
            serde_json::from_str(text).map_err(|error| invalid(format!("is not a lock file for tools: {error}")))?;
        lock.check()?;
        Ok(lock)
    }

    fn check(&self) -> Result<()> {
        if self.tools.len() > MOST {
            return Err(invalid(format!("lists more than {MOST} tools")));
        }
        let (mut seen, mut active) = (BTreeSet::new(), BTreeSet::new());
        for tool in &self.tools {
            let Locked { name, version, .. } = tool;
            tool.check().map_err(|why| invalid(format!("has an invalid entry for {name}@{version}: {why}")))?;
            if !seen.insert((name, version)) {
                return Err(invalid(format!("names {name}@{version} twice")));
            }
            if tool.active && !active.insert(name) {
                return Err(invalid(format!("marks two versions of {name} as the version that agents see")));
            }
        }
        match seen.iter().find(|(name, _)| !active.contains(name)) {
            Some((name, _)) => Err(invalid(format!("marks no version of {name} as the version that agents see"))),
            None => Ok(()),
        }
    }
}

impl Locked {
    fn check(&self) -> Result<(), String> {
        if !self.name.is_publishable() {
            return Err("its name has only one segment".to_owned());
        }
        if self.digest().is_none() {
            return Err("its digest is not a SHA-256 in hex".to_owned());
        }
        let odd = self.identities.iter().find(|identity| identity.parse::<Identity>().is_err());
        odd.map_or(Ok(()), |odd| Err(format!("'{}' is not an identity", odd.escape_debug())))
    }

    /// Returns the SHA-256 of the archive.
    pub fn digest(&self) -> Option<[u8; 32]> {
        sha256(&self.sha256)
    }

    /// Returns `NAME@VERSION`.
    pub fn reference(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

fn invalid(why: String) -> Error {
    Error::new(Code::LockfileInvalid, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const WHO: &str = "ed25519:SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

    fn tool(name: &str, version: &str, active: bool) -> Value {
        json!({
            "name": name, "version": version, "sha256": "ab".repeat(32), "registry": "team", "identities": [WHO],
            "active": active,
        })
    }

    fn parse(tools: &[Value]) -> Result<Lockfile> {
        Lockfile::parse(&json!({ "version": 1, "tools": tools }).to_string())
    }

    #[test]
    fn x56_a_lock_file_is_read_back_unchanged_and_has_one_order() {
        let tools = [tool("b/x", "1.0.0", true), tool("a/x", "1.10.0", true), tool("a/x", "1.9.0", false)];
        let lock = Lockfile::new(parse(&tools).expect("a lock").tools);
        let order: Vec<String> = lock.tools.iter().map(Locked::reference).collect();
        assert_eq!(order, ["a/x@1.9.0", "a/x@1.10.0", "b/x@1.0.0"]);
        let text = lock.text().expect("a text");
        assert_eq!(Lockfile::parse(&text).expect("the same"), lock);
        let mut turned = lock.tools.clone();
        turned.reverse();
        assert_eq!(Lockfile::new(turned).text().expect("a text"), text);
        assert_eq!(lock.tools[0].digest(), Some([0xab; 32]));
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn random_texts_are_refused_and_a_parsed_file_is_written_back_unchanged(
            text in "\\PC{0,60}",
            at in 0..400_usize,
            byte in any::<u8>(),
        ) {
            prop_assert!(Lockfile::parse(&text).is_err());
            let mut bytes = parse(&[tool("a/x", "1.0.0", true)]).expect("a lock").text().expect("a text").into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(text) = String::from_utf8(bytes)
                && let Ok(read) = Lockfile::parse(&text)
            {
                prop_assert_eq!(Lockfile::parse(&read.text().expect("a text")).expect("the same"), read);
            }
        }
    }

    #[test]
    fn an_invalid_lock_file_is_refused() {
        let with = |key: &str, value: Value| {
            let mut tool = tool("a/x", "1.0.0", true);
            tool[key] = value;
            tool
        };
        for (what, tools) in [
            ("a name", vec![with("name", json!("../x"))]),
            ("one segment", vec![with("name", json!("x"))]),
            ("a version", vec![with("version", json!("^1"))]),
            ("a digest", vec![with("sha256", json!("ab"))]),
            ("an identity", vec![with("identities", json!(["alice"]))]),
            ("twice", vec![tool("a/x", "1.0.0", true), tool("a/x", "1.0.0", false)]),
            ("two active", vec![tool("a/x", "1.0.0", true), tool("a/x", "1.1.0", true)]),
            ("none active", vec![tool("a/x", "1.0.0", false)]),
        ] {
            let error = parse(&tools).expect_err(what);
            assert_eq!(error.code(), Code::LockfileInvalid, "{what}: {error}");
        }
        let newer = Lockfile::parse(r#"{ "version": 2, "tools": 7 }"#).expect_err("another version");
        assert_eq!(newer.code(), Code::LockfileVersion);
        for text in ["", "{", "[]", "{}", r#"{ "version": 1 }"#] {
            assert_eq!(Lockfile::parse(text).expect_err(text).code(), Code::LockfileInvalid, "{text}");
        }
    }
}
