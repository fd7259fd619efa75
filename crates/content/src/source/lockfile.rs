//! The lock file `mcpkg.lock`, which contains the commit of each source of a project and the hash of each file.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::address::Address;
use super::changed;
use super::contents::{Contents, mode};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::git;
use mcpkg_base::hex;
use mcpkg_base::plural;
use mcpkg_core::names;
use mcpkg_store::sources::{Choice, ItemRow, Kind, Origin};

/// The default name of the lock file.
pub const FILE: &str = "mcpkg.lock";

const VERSION: u32 = 1;

/// The maximum number of differing files that an error message lists.
const NAMED: usize = 10;

/// The contents of a lock file. Keys and lists have a fixed order, so that equal locks give equal files.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lockfile {
    version: u32,
    pub sources: Vec<Locked>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locked {
    pub name: String,
    pub kind: Kind,
    /// The URL that git fetches from, or the path of the folder.
    pub url: String,
    /// The branch or tag that the source follows; absent if it follows a commit or a folder.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit that was locked; absent if the source is a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The source's folder inside the repository.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The other options of the source.
    #[serde(flatten)]
    pub choice: Choice,
    /// The SHA-256 of all items: the digest that [`Contents::digest`] returns.
    pub digest: String,
    pub items: Vec<LockedItem>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedItem {
    pub path: String,
    pub sha256: String,
    /// The mode in git's notation, such as 100644.
    pub mode: String,
}

impl Lockfile {
    /// Creates the contents of a lock file. The sources must be sorted by name, and the items of each by path.
    pub fn new(sources: Vec<(Origin, Vec<ItemRow>)>) -> Self {
        let locked = |(origin, items): (Origin, Vec<ItemRow>)| {
            let Origin { name, kind, url, reference, path, choice, commit, digest } = origin;
            let items = items.into_iter().map(|row| LockedItem {
                path: row.path,
                sha256: hex::encode(&row.sha256),
                mode: mode(row.executable).to_owned(),
            });
            let (items, digest) = (items.collect(), hex::encode(&digest));
            Locked { name, kind, url, reference, commit, path, choice, digest, items }
        };
        Self { version: VERSION, sources: sources.into_iter().map(locked).collect() }
    }

    /// Returns the lock file's JSON.
    pub fn text(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n")
            .map_err(|error| Error::internal("the lock file cannot be written").with_source(error))
    }

    /// Reads and checks a lock file. It may come from somebody who is not trusted.
    pub fn read(path: &Path) -> Result<Self> {
        let text = file::read_text(path, file::TEXT)
            .map_err(|error| Error::file("read", path, error).hint("create a lock file with `mcpkg source lock`"))?;
        Self::parse(&text).map_err(|error| {
            Error::new(error.code(), format!("`{}` {error}", path.display()))
                .hint("create the lock file again with `mcpkg source lock`")
        })
    }

    fn parse(text: &str) -> Result<Self> {
        let invalid = |why: String| Error::new(Code::LockfileInvalid, why);
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let version: Version =
            serde_json::from_str(text).map_err(|error| invalid(format!("is not a valid source lock file: {error}")))?;
        if version.version != VERSION {
            let why = format!("has version {}; this mcpkg supports version {VERSION}", version.version);
            return Err(Error::new(Code::LockfileVersion, why));
        }
        let lock: Self =
            serde_json::from_str(text).map_err(|error| invalid(format!("is not a valid source lock file: {error}")))?;
        for source in &lock.sources {
            source.check().map_err(|error| invalid(format!("contains an invalid source: {error}")))?;
        }
        Ok(lock)
    }
}

impl Locked {
    fn check(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::new(Code::LockfileInvalid, why));
        names::check("Source", &self.name)?;
        if let Some(prefix) = &self.choice.prefix {
            names::check("Prefix", prefix)?;
        }
        let is_git = self.kind == Kind::Git;
        if is_git != self.commit.is_some() || self.commit.as_deref().is_some_and(|commit| !git::is_commit(commit)) {
            return refuse(format!("source '{}' has no full commit ID", self.name));
        }
        if self.reference.as_deref().is_some_and(|reference| !reference.starts_with("refs/")) {
            return refuse(format!("source '{}' has an abbreviated ref", self.name));
        }
        let inside = |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside(&self.path) || !self.items.iter().all(|item| inside(&item.path)) {
            return refuse(format!("source '{}' has a path that leads out of it", self.name));
        }
        if is_git {
            Address::check_url(&self.url)?;
        }
        Ok(())
    }

    pub fn origin(&self) -> Result<Origin> {
        let digest = hex::decode(&self.digest).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
            Error::new(Code::LockfileInvalid, format!("The digest of the source '{}' is not a SHA-256 hash", self.name))
        })?;
        Ok(Origin {
            name: self.name.clone(),
            kind: self.kind,
            url: self.url.clone(),
            reference: self.reference.clone(),
            path: self.path.clone(),
            choice: self.choice.clone(),
            commit: self.commit.clone(),
            digest,
        })
    }

    /// Fails with `E_SOURCE_CHANGED` if the contents differ from the locked ones. The error names the differences.
    pub fn compare(&self, contents: &Contents) -> Result<()> {
        let mut locked: BTreeMap<&str, &LockedItem> =
            self.items.iter().map(|item| (item.path.as_str(), item)).collect();
        let mut faults = Vec::new();
        for taken in &contents.items {
            match locked.remove(taken.path.as_str()) {
                None => faults.push(format!("`{}` is not in the lock file", taken.path)),
                Some(item) if item.sha256 != hex::encode(&taken.sha256) => {
                    faults.push(format!("`{}` has different content", taken.path));
                }
                Some(item) if item.mode != mode(taken.executable) => {
                    faults.push(format!("`{}` has a different file mode", taken.path));
                }
                Some(_) => {}
            }
        }
        faults.extend(locked.into_keys().map(|path| format!("`{path}` is missing")));
        if faults.is_empty() && hex::encode(&contents.digest()) != self.digest {
            faults.push("the digest of the whole source differs".to_owned());
        }
        if faults.is_empty() {
            return Ok(());
        }
        let named = plural::first(&faults, NAMED);
        let why = format!("The source '{}' differs from the lock file; nothing was installed: {named}", self.name);
        Err(changed(why).with_details(serde_json::json!({ "source": self.name, "faults": faults })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(change: impl Fn(&mut serde_json::Value)) -> Result<Lockfile> {
        let mut value = serde_json::json!({ "version": 1, "sources": [{
            "name": "kit", "kind": "git", "url": "https://example.com/kit.git", "ref": "refs/heads/main",
            "commit": "a".repeat(40), "only": ["skills"], "digest": "b".repeat(64),
            "items": [{ "path": "skills/a/SKILL.md", "sha256": "c".repeat(64), "mode": "100644" }],
        }] });
        change(&mut value);
        Lockfile::parse(&value.to_string())
    }

    #[test]
    fn a_lock_file_is_read_back_unchanged() {
        let read = lock(|_| {}).unwrap();
        assert_eq!(read.sources[0].choice.only, ["skills"]);
        assert_eq!(Lockfile::parse(&read.text().unwrap()).unwrap(), read);
        assert!(read.sources[0].origin().is_ok());
    }

    #[test]
    fn invalid_lock_files_are_refused() {
        for (what, change) in [
            ("a path out", ("/sources/0/items/0/path", serde_json::json!("../x"))),
            ("no commit", ("/sources/0/commit", serde_json::json!("main"))),
            ("another scheme", ("/sources/0/url", serde_json::json!("ext::sh -c id"))),
            ("an option", ("/sources/0/url", serde_json::json!("--upload-pack=id"))),
            ("a short ref", ("/sources/0/ref", serde_json::json!("--main"))),
            ("a name", ("/sources/0/name", serde_json::json!("../kit"))),
        ] {
            let error = lock(|value| *value.pointer_mut(change.0).unwrap() = change.1.clone()).expect_err(what);
            assert_eq!(error.code(), Code::LockfileInvalid, "{what}: {error}");
        }
        assert_eq!(lock(|value| value["version"] = 2.into()).unwrap_err().code(), Code::LockfileVersion);
        assert_eq!(Lockfile::parse("{").unwrap_err().code(), Code::LockfileInvalid);
    }
}
