//! Reads and writes `package.json`, the file that describes one version in a folder registry.

use semver::Version;
use serde_json::{Value, json};

use crate::backend::tool::VersionInfo;
use crate::backend::wire;
use crate::package::Name;
use mcpkg_base::clock::{self, Millis};
use mcpkg_base::hex;
use mcpkg_base::sha256::Sha;
use mcpkg_store::tools::packages::{Visibility, Yank};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub sha256: Sha,
    /// The size of the archive in bytes.
    pub size: u64,
    /// The claimed publisher, which is not verified.
    pub publisher: Option<String>,
    pub visibility: Visibility,
    pub published_at: Millis,
    pub yank: Option<Yank>,
}

impl Record {
    /// Parses the `package.json` of this version; an error says what is wrong.
    pub fn parse(bytes: &[u8], name: &Name, version: &Version) -> Result<Self, String> {
        let object: Value = serde_json::from_slice(bytes).map_err(|error| format!("is not valid JSON: {error}"))?;
        if object["name"] != name.as_str() || object["version"] != version.to_string() {
            return Err(format!("does not describe {name}@{version}"));
        }
        let sha256 = object["sha256"].as_str().and_then(wire::sha256).ok_or("has no SHA-256")?;
        let size = object["size"].as_u64().ok_or("has no size")?;
        let published_at = wire::time(&object, "published_at").ok_or("has no publication date")?;
        let visibility = match object.get("visibility") {
            None => Visibility::Public,
            Some(word) => word.as_str().and_then(Visibility::from_word).ok_or("has an unknown visibility")?,
        };
        let yank = match object.get("yanked") {
            None | Some(Value::Null) => None,
            Some(yank) => Some(Yank {
                at: wire::time(yank, "at").ok_or("says that the version was yanked, but not when")?,
                reason: wire::text(yank, "reason"),
                replacement: wire::text(yank, "replacement"),
            }),
        };
        Ok(Self { sha256, size, publisher: wire::text(&object, "publisher"), visibility, published_at, yank })
    }

    /// Formats the `package.json` of this version.
    pub fn text(&self, name: &Name, version: &Version) -> String {
        let Self { sha256, size, publisher, visibility, published_at, yank } = self;
        let mut object = json!({
            "name": name,
            "version": version.to_string(),
            "sha256": hex::encode(sha256),
            "size": size,
            "published_at": clock::rfc3339(*published_at),
            "visibility": visibility.word(),
        });
        if let Some(publisher) = publisher {
            object["publisher"] = json!(publisher);
        }
        if let Some(yank) = yank {
            object["yanked"] = json!(yank);
        }
        format!("{object:#}\n")
    }

    pub fn info(self, name: &Name, version: Version) -> VersionInfo {
        let Self { sha256, size, publisher, visibility, published_at, yank } = self;
        VersionInfo { name: name.clone(), version, sha256, size, publisher, visibility, published_at, yank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_only_for_its_own_version() {
        let (name, version) = (Name::parse("alice/pdf").unwrap(), Version::new(1, 2, 0));
        let yank = Yank { at: 2_000, reason: Some("broken".to_owned()), replacement: None };
        let plain = Record {
            sha256: [7; 32],
            size: 5,
            publisher: None,
            visibility: Visibility::Unlisted,
            published_at: 1_000,
            yank: None,
        };
        for record in [plain.clone(), Record { yank: Some(yank), publisher: Some("a".to_owned()), ..plain }] {
            let text = record.text(&name, &version);
            assert_eq!(Record::parse(text.as_bytes(), &name, &version).as_ref(), Ok(&record), "{text}");
            let other = Record::parse(text.as_bytes(), &name, &Version::new(1, 2, 1));
            assert_eq!(other, Err("does not describe alice/pdf@1.2.1".to_owned()));
        }
        assert!(Record::parse(b"{", &name, &version).is_err());
        assert!(Record::parse(br#"{"name":"alice/pdf","version":"1.2.0"}"#, &name, &version).is_err());
    }
}
