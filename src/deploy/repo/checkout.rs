//! Git sources: which commit is wanted, and where its files lie. The cache is the original's.

use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::config::GitSource;
use super::lockfile::Pin;
use crate::deploy::disk::hex;
use crate::error::{Code, Error, Result};
use crate::git;
use crate::redact::redact;

/// A commit's files, on the disk.
#[derive(Debug)]
pub(super) struct Checkout {
    /// The folder of the module in them.
    pub(super) folder: PathBuf,
    /// The commit.
    pub(super) commit: String,
}

/// Finds or fetches the files of the module `id`. `home` is the original's home folder; git runs in `repo`.
///
/// # Errors
/// `E_GIT_NOT_FOUND`, `E_GIT_FAILED`; `E_CONFIG_INVALID` where there is no such branch or folder; `E_FILE_FAILED`.
pub(super) fn checkout(repo: &Path, home: &Path, id: &str, source: &GitSource, pin: Option<&Pin>) -> Result<Checkout> {
    let commit = match pin {
        Some(pin) => pin.commit.to_ascii_lowercase(),
        None => resolve(repo, id, source)?,
    };
    let of_url = home.join("cache/git").join(hex(&Sha256::digest(&source.url)));
    let whole = of_url.join(&commit);
    if !whole.is_dir() {
        fetch(repo, &of_url, &whole, source, &commit)?;
    }
    let folder = whole.join(&source.subdir);
    let real = |path: &Path| path.canonicalize().ok();
    match (real(&folder), real(&whole)) {
        (Some(inside), Some(whole)) if inside.starts_with(&whole) => Ok(Checkout { folder, commit }),
        (found, _) => {
            let why = if found.is_some() { "leads out of it" } else { "is not in it" };
            let url = redact(&source.url);
            Err(Error::new(
                Code::ConfigInvalid,
                format!("Module `{id}`: commit {commit} of `{url}`: `{}` {why}", source.subdir),
            )
            .with_details(json!({"module_id": id, "path": folder.display().to_string(), "url": url, "commit": commit})))
        }
    }
}

/// Asks the remote which commit a branch or tag is at.
fn resolve(repo: &Path, id: &str, source: &GitSource) -> Result<String> {
    let wanted = &source.reference;
    if source.is_commit() {
        return Ok(wanted.to_ascii_lowercase());
    }
    let (head, tag) = (format!("refs/heads/{wanted}"), format!("refs/tags/{wanted}"));
    let peeled = format!("{tag}^{{}}");
    let said = git::run(repo, &["ls-remote", "--", &source.url, &head, &tag, &peeled])?;
    let said = String::from_utf8_lossy(&said);
    let find = |name: &str| said.lines().find_map(|line| line.split_once('\t').filter(|(_, found)| *found == name));
    let found = [peeled, head, tag].iter().find_map(|name| find(name)).map(|(commit, _)| commit.to_owned());
    found.filter(|commit| commit.bytes().all(|digit| digit.is_ascii_hexdigit())).ok_or_else(|| {
        let url = redact(&source.url);
        Error::new(Code::ConfigInvalid, format!("Module `{id}`: `{url}` has no branch or tag `{wanted}`"))
            .with_details(json!({"module_id": id, "url": url, "ref": wanted}))
    })
}

/// Fetches a commit beside its place, and moves it there when it is whole.
fn fetch(repo: &Path, of_url: &Path, whole: &Path, source: &GitSource, commit: &str) -> Result<()> {
    let failed = |error| Error::file("write", of_url, error);
    std::fs::create_dir_all(of_url).map_err(failed)?;
    let private = tempfile::Builder::new().prefix(".fetching-").tempdir_in(of_url).map_err(failed)?;
    let mut tree = private.path().join("shallow");
    if !source.shallow || shallow(repo, &tree, source, commit).is_err() {
        // Not every server gives one commit alone.
        tree = private.path().join("full");
        let to = tree.as_os_str();
        let url = source.url.as_ref();
        let clone = ["clone", "-q", "--no-checkout", "--template=", "--"].map(std::ffi::OsStr::new);
        git::run(repo, &[&clone[..], &[url, to]].concat())?;
        git::run(&tree, &["-c", "core.autocrlf=false", "checkout", "-q", "--detach", commit])?;
    }
    match std::fs::rename(&tree, whole) {
        // Another process was faster: what it fetched is the same.
        Err(_) if whole.is_dir() => Ok(()),
        renamed => renamed.map_err(|error| Error::file("write", whole, error)),
    }
}

fn shallow(repo: &Path, tree: &Path, source: &GitSource, commit: &str) -> Result<()> {
    let init = ["init", "-q", "--template=", "--"].map(std::ffi::OsStr::new);
    git::run(repo, &[&init[..], &[tree.as_os_str()]].concat())?;
    // A path in the URL is meant from the repo's folder, so git is run there.
    let mut at = std::ffi::OsString::from("--git-dir=");
    at.push(tree.join(".git"));
    let fetch = ["fetch", "-q", "--no-tags", "--depth=1", "--", &source.url, commit].map(std::ffi::OsStr::new);
    git::run(repo, &[&[at.as_os_str()], &fetch[..]].concat())?;
    git::run(tree, &["-c", "core.autocrlf=false", "checkout", "-q", "--detach", commit])?;
    Ok(())
}
