//! Reads `agentpack.lock.json`: the commits and hashes that modules are pinned to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::bounds::{Bounds, Refusal};
use super::config::GitSource;
use super::tree::{Content, Hashes};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

pub(super) const FILE: &str = "agentpack.lock.json";

const VERSION: u64 = 1;

#[derive(Debug)]
pub(super) struct Lockfile {
    path: PathBuf,
    modules: BTreeMap<String, Locked>,
}

/// A module's entry in the lockfile.
#[derive(Debug, Deserialize)]
struct Locked {
    id: String,
    resolved_source: Resolved,
    sha256: String,
}

#[derive(Debug, Deserialize)]
struct Resolved {
    git: Option<Pin>,
}

/// The commit that a module is pinned to.
#[derive(Debug, Deserialize)]
pub(super) struct Pin {
    url: String,
    pub(super) commit: String,
    #[serde(default)]
    subdir: Option<String>,
}

#[derive(Deserialize)]
struct Head {
    version: Value,
}

#[derive(Deserialize)]
struct Raw {
    modules: Vec<Locked>,
}

impl Lockfile {
    /// Reads the repo's lockfile. Returns `None` if there is none.
    ///
    /// # Errors
    /// `E_LOCKFILE_INVALID` with the details `path` and `error`, `E_LOCKFILE_UNSUPPORTED_VERSION`, `E_FILE_FAILED`.
    pub(super) fn read(bounds: &Bounds) -> Result<Option<Self>> {
        let path = bounds.own().join(FILE);
        match bounds.read(&path, file::TEXT) {
            Ok(bytes) => Self::parse(path, &bytes).map(Some),
            Err(Refusal::Missing) => Ok(None),
            Err(refusal) => Err(refusal.error(&path, |why| refuse(&path, None, &format!("it {why}"), json!({})))),
        }
    }

    fn parse(path: PathBuf, bytes: &[u8]) -> Result<Self> {
        let malformed = |error: serde_json::Error| refuse(&path, None, &error.to_string(), json!({}));
        let head: Head = serde_json::from_slice(bytes).map_err(malformed)?;
        if head.version.as_u64() != Some(VERSION) {
            let why = format!("`{}`: version {} is not supported; use version {VERSION}", path.display(), head.version);
            let details = json!({"path": path.display().to_string(), "version": head.version, "supported": [VERSION]});
            return Err(Error::new(Code::LockfileVersion, why).with_details(details));
        }
        let raw: Raw = serde_json::from_slice(bytes).map_err(malformed)?;
        let mut modules = BTreeMap::new();
        for locked in raw.modules {
            let id = locked.id.clone();
            let digits = |text: &str, lengths: &[usize]| {
                lengths.contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
            };
            if !digits(&locked.sha256, &[64]) {
                return Err(refuse(&path, Some(&id), "its sha256 is invalid", json!({})));
            }
            if locked.resolved_source.git.as_ref().is_some_and(|pin| !digits(&pin.commit, &[40, 64])) {
                return Err(refuse(&path, Some(&id), "its commit is invalid", json!({})));
            }
            if modules.insert(id.clone(), locked).is_some() {
                return Err(refuse(&path, Some(&id), "it is listed twice", json!({})));
            }
        }
        Ok(Self { path, modules })
    }

    /// Returns the commit that the module `id` is pinned to. Returns `None` if the lockfile does not list the module.
    ///
    /// # Errors
    /// `E_LOCKFILE_INVALID` with the detail `module_id` if the pinned source differs from the one in `agentpack.yaml`.
    pub(super) fn pin(&self, id: &str, source: &GitSource) -> Result<Option<&Pin>> {
        let Some(locked) = self.modules.get(id) else { return Ok(None) };
        let Some(pin) = &locked.resolved_source.git else {
            return Err(refuse(
                &self.path,
                Some(id),
                "it is pinned as a local folder, but is now a git source",
                json!({}),
            ));
        };
        let subdir = pin.subdir.as_deref().unwrap_or_default().trim_matches('/').trim_start_matches("./");
        for (what, pinned, now) in [("url", pin.url.as_str(), source.url.as_str()), ("subdir", subdir, &source.subdir)]
        {
            if pinned != now {
                let (pinned, now) = (mcpkg_base::redact::redact(pinned), mcpkg_base::redact::redact(now));
                let why = format!("its {what} is now `{now}`, but `{pinned}` is pinned");
                return Err(refuse(&self.path, Some(id), &why, json!({"expected": pinned, "actual": now})));
            }
        }
        Ok(Some(pin))
    }

    /// Compares the files of the git module `id` with the pinned hash. `from` is the folder that they were read from.
    ///
    /// # Errors
    /// `E_LOCKFILE_INVALID` with the details `module_id`, `expected` and `actual`.
    pub(super) fn verify(&self, id: &str, from: &Path, files: &BTreeMap<String, Content>) -> Result<()> {
        let Some(locked) = self.modules.get(id) else { return Ok(()) };
        let actual = Hashes::of(files).tree;
        if actual == locked.sha256.to_ascii_lowercase() {
            return Ok(());
        }
        // agentpack skips links when it hashes, but mcpkg follows them.
        if files.values().any(|file| file.linked)
            && Hashes::of(files.iter().filter(|(_, file)| !file.linked)).tree == locked.sha256.to_ascii_lowercase()
        {
            return Ok(());
        }
        let why = format!("its files in `{}` differ from the pinned files", from.display());
        let details = json!({"expected": locked.sha256, "actual": actual, "checkout": from.display().to_string()});
        Err(refuse(&self.path, Some(id), &why, details)
            .hint("remove that folder to fetch the files again, or update the lockfile to accept the change"))
    }
}

fn refuse(path: &Path, id: Option<&str>, why: &str, more: Value) -> Error {
    let mut details = json!({"path": path.display().to_string(), "error": why});
    if let (Value::Object(details), Value::Object(more)) = (&mut details, more) {
        details.extend(id.map(|id| ("module_id".to_owned(), id.into())));
        details.extend(more);
    }
    let message = match id {
        Some(id) => format!("`{}`: module `{id}`: {why}", path.display()),
        None => format!("`{}` is damaged: {why}", path.display()),
    };
    Error::new(Code::LockfileInvalid, message).with_details(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Lockfile> {
        Lockfile::parse("l.json".into(), text.as_bytes())
    }

    fn locked(git: &str) -> String {
        let hash = "a".repeat(64);
        format!(
            r#"{{"version":1,"generated_at":"x","modules":[{{"id":"m","type":"skill","resolved_version":"v",
            "resolved_source":{{"local_path":null,"git":{git}}},"sha256":"{hash}","file_manifest":[]}}]}}"#
        )
    }

    #[test]
    fn d26_a_damaged_lockfile_is_an_error() {
        let twice = locked("null").replace("]}]}", "]},{\"id\":\"m\",\"resolved_source\":{},\"sha256\":\"")
            + &"b".repeat(64)
            + "\"}]}";
        for (text, code, says) in [
            ("{", Code::LockfileInvalid, "`l.json` is damaged: EOF"),
            ("[]", Code::LockfileInvalid, "is damaged"),
            (r#"{"version":2,"new":1}"#, Code::LockfileVersion, "version 2 is not supported"),
            (r#"{"version":1}"#, Code::LockfileInvalid, "modules"),
            (&locked("null").replace('a', "x"), Code::LockfileInvalid, "is damaged"),
            (&locked("null").replace("aaaa", "xxxx"), Code::LockfileInvalid, "its sha256 is invalid"),
            (&locked(r#"{"url":"u","commit":"../x"}"#), Code::LockfileInvalid, "its commit is invalid"),
            (&twice, Code::LockfileInvalid, "listed twice"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert!(error.message().contains(says), "{error}");
        }
    }

    #[test]
    fn a_pin_is_valid_only_for_the_source_it_was_made_for() {
        let source = GitSource { url: "u".into(), reference: "main".into(), subdir: "a/b".into(), shallow: true };
        let commit = "c".repeat(40);
        let pinned = |url: &str, subdir: &str| {
            parse(&locked(&format!(r#"{{"url":"{url}","commit":"{commit}","subdir":"{subdir}"}}"#))).unwrap()
        };
        assert_eq!(pinned("u", "a/b/").pin("m", &source).unwrap().unwrap().commit, commit);
        assert!(pinned("u", "a/b").pin("other", &source).unwrap().is_none());
        for (lockfile, says) in [
            (pinned("v", "a/b"), "its url is now `u`"),
            (pinned("u", ""), "its subdir is now `a/b`"),
            (parse(&locked("null")).unwrap(), "is now a git source"),
        ] {
            let error = lockfile.pin("m", &source).unwrap_err();
            assert_eq!((error.code(), &error.details().unwrap()["module_id"]), (Code::LockfileInvalid, &json!("m")));
            assert!(error.message().contains(says), "{error}");
        }
    }
}
