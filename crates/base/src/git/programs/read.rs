//! Reads the configuration of a repository without running git inside it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::setting::Setting;
use crate::cache::Cache;
use crate::error::{Code, Error, Result};
use crate::file;
use crate::git::failure::{ended, failed};
use crate::git::folder::Folders;
use crate::git::paths::parts;
use crate::process::{Environment, Limits, Program};
use crate::sha256::{self, Sha};

/// The largest configuration file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

/// How deeply included files may be nested.
const DEPTH: usize = 10;

/// Every relevant setting contains one of these words. Files without any of them are not parsed.
const WORDS: &[&str] = &[
    "program",
    "command",
    "helper",
    "driver",
    "textconv",
    "clean",
    "smudge",
    "process",
    "pack",
    "vcs",
    "include",
    "gitproxy",
    "askpass",
    "hookspath",
    "external",
    "submodule",
    "customtransfer",
    "worktree",
];

/// Adds the settings of a repository that name programs.
pub(super) fn settings(kept: &Folders, limits: &Limits<'_>, found: &mut BTreeSet<Setting>) -> Result<()> {
    let mut all = Vec::new();
    for path in [kept.shared.join("config"), kept.own.join("config.worktree")] {
        take(&path, DEPTH, limits, &mut all)?;
    }
    found.extend(all.into_iter().filter(|setting| setting.key != WORKTREE || is_elsewhere(kept, &setting.value)));
    Ok(())
}

/// The setting that moves the work tree to another folder.
const WORKTREE: &str = "core.worktree";

/// Whether `core.worktree` points to a folder other than the one where the repository was found. Returns false for a
/// submodule with an unknown folder.
fn is_elsewhere(kept: &Folders, value: &str) -> bool {
    let Some(top) = &kept.top else { return !kept.is_submodule };
    let same = |one: &Path, other: &Path| matches!((crate::platform::real(one), crate::platform::real(other)), (Ok(one), Ok(other)) if one == other);
    !same(top, &kept.own.join(value))
}

/// Reads the settings of a file and of all files that it includes, even those that it includes under a condition.
fn take(path: &Path, depth: usize, limits: &Limits<'_>, found: &mut Vec<Setting>) -> Result<()> {
    let bytes = match file::read(path, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::file("read", path, error)),
    };
    let lower = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    if !WORDS.iter().any(|word| lower.contains(word)) {
        return Ok(());
    }
    for setting in parsed(path, &bytes, limits)? {
        let is_include =
            setting.key == "include.path" || (setting.key.starts_with("includeif.") && setting.key.ends_with(".path"));
        if is_include && depth > 0 {
            take(&included(path, &setting.value)?, depth - 1, limits, found)?;
        } else if setting.runs().is_some() {
            found.push(setting);
        }
    }
    Ok(())
}

/// Returns the path of an included file.
fn included(path: &Path, value: &str) -> Result<PathBuf> {
    let in_home = value.strip_prefix("~/");
    // mcpkg cannot resolve these paths: another user's home folder, and git's installation folder.
    if (value.starts_with('~') && in_home.is_none()) || value.starts_with("%(") || value.starts_with(":(") {
        let what = format!("Cannot read the configuration `{}`: it includes `{value}`", path.display());
        return Err(Error::new(Code::GitFailed, what).hint("include the file by its absolute path"));
    }
    Ok(match in_home {
        Some(rest) => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(rest),
        None => path.parent().unwrap_or(path).join(value),
    })
}

/// Parses a file's settings with git itself. git runs outside any repository, where it executes nothing.
fn parsed(path: &Path, bytes: &[u8], limits: &Limits<'_>) -> Result<Vec<Setting>> {
    static KNOWN: Cache<Sha, Vec<Setting>> = Cache::new(1_000);
    let digest = sha256::of(bytes);
    if let Some(known) = KNOWN.get(&digest) {
        return Ok(known);
    }
    let args = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    let root = if crate::platform::IS_WINDOWS { "C:\\" } else { "/" };
    let nowhere = Path::new(root);
    let program = Program::new("git")
        .folder(nowhere)
        .environment(Environment::Allowed)
        .variable("GIT_CONFIG_NOSYSTEM", "1")
        .variable("GIT_CONFIG_GLOBAL", "/dev/null")
        .variable("GIT_DIR", "/dev/null")
        .variable("LC_ALL", "C")
        .capture(crate::process::Capture { head: 16 << 20, tail: 4 << 10 })
        .args(args);
    let output = program.run(bytes, limits).map_err(|failure| ended(nowhere, &args, limits, failure))?;
    if !output.status.success() {
        let error = failed(nowhere, &args, &output.status, &output.stderr);
        let what = format!("Cannot read the configuration `{}`: {}", path.display(), error.message());
        return Err(Error::new(Code::GitFailed, what).with_details(error.details().cloned().unwrap_or_default()));
    }
    let printed = output.stdout.whole().unwrap_or_default();
    let settings: Vec<Setting> = parts(&printed)
        .map(|part| {
            let text = String::from_utf8_lossy(part);
            // A setting without a value counts as true.
            let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
            Setting { key: key.to_owned(), value: value.to_owned() }
        })
        .collect();
    KNOWN.put(digest, settings.clone());
    Ok(settings)
}
