//! Reads the manifests in which agentpack, the original tool of contract 000, listed the files that it wrote. mcpkg
//! takes over these files when users switch.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::targets::Target;

/// A file that agentpack wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOver {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// The SHA-256 that the file had when it was written.
    pub sha256: [u8; 32],
    /// The modules that the file came from.
    pub module_ids: Vec<String>,
}

const VERSION: u64 = 1;

/// The manifest's name in older versions of agentpack, which had one manifest for all targets.
const LEGACY: &str = ".agentpack.manifest.json";

#[derive(Deserialize)]
struct Manifest {
    schema_version: Value,
    tool: String,
    managed_files: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    path: String,
    sha256: String,
    #[serde(default)]
    module_ids: Option<Vec<String>>,
}

/// Returns the files that agentpack wrote below `root` for `target`, and warnings about unusable entries.
pub fn read(root: &Path, target: Target) -> (Vec<TakenOver>, Vec<String>) {
    let own = root.join(format!(".agentpack.manifest.{}.json", target.name()));
    let legacy = root.join(LEGACY);
    for (path, is_legacy) in [(own, false), (legacy, true)] {
        let bytes = match mcpkg_base::file::read(&path, mcpkg_base::file::TEXT) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => return (Vec::new(), vec![format!("`{}` cannot be read: {error}", path.display())]),
        };
        let (found, mut warnings) = parse(root, &path, &bytes, target, is_legacy);
        if is_legacy && !found.is_empty() {
            warnings.push(format!("`{}` uses an old format; mcpkg took over its files", path.display()));
        }
        return (found, warnings);
    }
    (Vec::new(), Vec::new())
}

fn parse(root: &Path, path: &Path, bytes: &[u8], target: Target, is_legacy: bool) -> (Vec<TakenOver>, Vec<String>) {
    let unusable = |why: String| (Vec::new(), vec![format!("cannot take over `{}`: {why}", path.display())]);
    let manifest: Manifest = match serde_json::from_slice(bytes) {
        Ok(manifest) => manifest,
        Err(error) => return unusable(format!("it is malformed: {error}")),
    };
    if manifest.schema_version.as_u64() != Some(VERSION) {
        return unusable(format!("its version is {}", manifest.schema_version));
    }
    if manifest.tool != target.name() {
        // The old name is the same for all targets, so a manifest of another target is not an error.
        return if is_legacy { Default::default() } else { unusable(format!("it belongs to `{}`", manifest.tool)) };
    }
    let mut warnings = Vec::new();
    let mut found = Vec::new();
    for entry in manifest.managed_files {
        match (inside(root, &entry.path), digest(&entry.sha256)) {
            (Some(path), Some(sha256)) => {
                found.push(TakenOver { path, sha256, module_ids: entry.module_ids.unwrap_or_default() });
            }
            (None, _) => {
                warnings.push(format!("`{}` lists `{}`, which is outside its folder", path.display(), entry.path))
            }
            (_, None) => warnings.push(format!("`{}` lists `{}` with an invalid hash", path.display(), entry.path)),
        }
    }
    (found, warnings)
}

fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    let below = Path::new(path);
    let plain =
        !path.is_empty() && !path.contains('\\') && below.components().all(|c| matches!(c, Component::Normal(_)));
    plain.then(|| root.join(below))
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let text = text.strip_prefix("sha256:").unwrap_or(text);
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut digest = [0; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str) -> Target {
        Target::named(name).unwrap()
    }

    fn manifest(version: u64, tool: &str, path: &str) -> String {
        let hash = "0a".repeat(32);
        format!(
            r#"{{"schema_version":{version},"generated_at":"x","tool":"{tool}","managed_files":[
                {{"path":"{path}","sha256":"{hash}","module_ids":["m"]}},{{"path":"b","sha256":"{hash}"}}]}}"#
        )
    }

    #[test]
    fn takes_over_usable_entries() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(read(root, target("codex")), (vec![], vec![]));
        assert_eq!(read(&root.join("none"), target("codex")), (vec![], vec![]));
        std::fs::write(root.join(".agentpack.manifest.codex.json"), manifest(1, "codex", "skills/a/SKILL.md")).unwrap();
        let (found, warnings) = read(root, target("codex"));
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(found[0].path, root.join("skills/a/SKILL.md"));
        assert_eq!((found[0].sha256, found[0].module_ids.as_slice()), ([10; 32], &["m".to_owned()][..]));
        assert_eq!((found.len(), found[1].module_ids.len()), (2, 0));

        std::fs::write(root.join(LEGACY), manifest(1, "vscode", "x")).unwrap();
        assert_eq!(read(root, target("cursor")), (vec![], vec![]));
        let (found, warnings) = read(root, target("vscode"));
        assert_eq!(found.len(), 2);
        assert!(warnings[0].contains("uses an old format"), "{warnings:?}");
    }

    #[test]
    fn warns_of_unusable_entries() {
        let folder = tempfile::tempdir().unwrap();
        for (text, count, says) in [
            ("{".to_owned(), 0, "malformed"),
            (manifest(999, "codex", "a"), 0, "version is 999"),
            (manifest(1, "cursor", "a"), 0, "it belongs to `cursor`"),
            (manifest(1, "codex", "../a"), 1, "is outside"),
            (manifest(1, "codex", "/etc/a"), 1, "is outside"),
            (manifest(1, "codex", "a").replacen("0a0a", "zz0a", 1), 1, "invalid hash"),
        ] {
            std::fs::write(folder.path().join(".agentpack.manifest.codex.json"), &text).unwrap();
            let (found, warnings) = read(folder.path(), target("codex"));
            assert_eq!(found.len(), count, "{text}");
            assert!(warnings.len() == 1 && warnings[0].contains(says), "{warnings:?}");
        }
    }
}
