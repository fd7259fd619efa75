//! Fetches git sources: finds the commit that is needed, and the folder with its files.
//!
//! Sources are fetched first, without holding locks that others wait for. Modules are then composed from the cache
//! alone. The cache has the same layout as that of agentpack, the original tool of contract 000.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::bounds::{self, Bounds};
use super::config::{GitSource, ModuleSource};
use super::lockfile::Pin;
use super::opened::Repo;
use super::select::select;
use mcpkg_base::disk::fetching::Fetching;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git;
use mcpkg_base::process::Limits;
use mcpkg_base::redact::redact;
use mcpkg_base::sha256;

/// How long a remote may take to list its branches and tags.
const ASK: Duration = Duration::from_secs(60);

/// How long fetching a commit may take.
const FETCH: Duration = Duration::from_secs(300);

/// Git runs in this folder, with absolute addresses only. Inside the repo, it would read the repo's own configuration.
const NOWHERE: &str = "/";

/// The commits of a config repo's git sources. They are looked up once, before taking any lock that others wait for.
#[derive(Clone, Debug, Default)]
pub struct Checkouts {
    /// The commits, by URL and wanted revision. Their files are in the cache.
    commits: BTreeMap<(String, String), String>,
    /// A deploy root and the id of the project that it belongs to.
    project: Option<(PathBuf, String)>,
}

/// The files of a fetched commit on disk.
#[derive(Debug)]
pub(super) struct Checkout {
    /// The module's folder inside the checkout.
    pub(super) folder: PathBuf,
    pub(super) commit: String,
    /// The folders that may be read.
    pub(super) bounds: Bounds,
}

impl Repo {
    /// Fetches the git sources of the modules that a profile selects. This may take minutes, so call it without
    /// holding a lock that others wait for. Calls `before_network` each time before it waits for another host.
    ///
    /// # Errors
    /// `E_NOT_FOUND` if the profile does not exist; `E_CONFIG_INVALID` if a branch or tag does not exist, or if a
    /// repository is in a local folder that the user did not allow; `E_LOCKFILE_INVALID` if a module's source differs
    /// from the pinned one; the errors of git, and of the file system if the cache cannot be written.
    pub fn fetch(&self, profile: &str, cancelled: &CancellationToken, before_network: &dyn Fn()) -> Result<Checkouts> {
        let mut checkouts = Checkouts::default();
        for declared in select(self, profile, &mut Vec::new())? {
            let ModuleSource::Git(source) = &declared.source else { continue };
            let id = declared.id.as_str();
            let wanted = wanted(source, self.pin(id, source)?);
            let key = (source.url.clone(), wanted);
            if checkouts.commits.contains_key(&key) {
                continue;
            }
            let address = address(self, id, source)?;
            let within = |time| {
                before_network();
                Limits::new(time, cancelled)
            };
            let commit = match git::is_commit(&key.1) {
                true => key.1.clone(),
                false => resolve(id, source, &address, &within(ASK))?,
            };
            if !place(self, source, &commit).is_dir() {
                fetch(self, source, &address, &commit, &within(FETCH))?;
            }
            checkouts.commits.insert(key, commit);
        }
        Ok(checkouts)
    }
}

impl Checkouts {
    /// Records which project `root` belongs to.
    pub fn set_project(&mut self, root: PathBuf, id: String) {
        self.project = Some((root, id));
    }

    /// Returns the recorded id of the project that `root` belongs to.
    ///
    /// # Errors
    /// `E_PLAN_CHANGED` if the id was recorded for another root.
    pub fn project(&self, root: &Path) -> Result<String> {
        self.project.as_ref().filter(|(of, _)| of == root).map(|(_, id)| id.clone()).ok_or_else(|| {
            let why = "The deploy root changed while the plan was being made; nothing was written";
            Error::new(Code::PlanChanged, why).hint("make a new plan and review it")
        })
    }

    /// Returns the fetched files of the module `id`.
    ///
    /// # Errors
    /// `E_PLAN_CHANGED` if this source was not fetched; `E_CONFIG_INVALID` if the commit does not contain the module's
    /// folder, or if the folder is a link that leads out of the repository; the error of the file system if the
    /// checkout cannot be opened.
    pub(super) fn of(&self, repo: &Repo, id: &str, source: &GitSource, pin: Option<&Pin>) -> Result<Checkout> {
        let commit = self.commits.get(&(source.url.clone(), wanted(source, pin))).cloned().ok_or_else(|| {
            let why = format!("The source of module `{id}` changed while the plan was being made; nothing was written");
            Error::new(Code::PlanChanged, why).hint("make a new plan and review it")
        })?;
        let whole = place(repo, source, &commit);
        let bounds = repo.bounds.of_checkout(&whole)?;
        let folder = whole.join(&source.subdir);
        let refuse = |why: &str| {
            let url = redact(&source.url);
            let details = json!({"module_id": id, "path": folder.display().to_string(), "url": url, "commit": commit});
            let why = format!("Module `{id}`: commit {commit} of `{url}`: `{}` {why}", source.subdir);
            Error::new(Code::ConfigInvalid, why).with_details(details)
        };
        match mcpkg_base::platform::real(&folder) {
            Ok(real) if real.starts_with(bounds.own()) || bounds.allows(&real) => {
                Ok(Checkout { folder, commit, bounds })
            }
            Ok(real) => Err(bounds::allowable(
                refuse(&format!("is a link to `{}`, outside the repository", real.display())),
                &real,
            )),
            Err(_) => Err(refuse("does not exist in that commit")),
        }
    }
}

/// Returns the revision to check out: a commit, or the name of a branch or tag.
fn wanted(source: &GitSource, pin: Option<&Pin>) -> String {
    match pin {
        Some(pin) => pin.commit.to_ascii_lowercase(),
        None if source.is_commit() => source.reference.to_ascii_lowercase(),
        None => source.reference.clone(),
    }
}

/// Returns the cache folder of all repositories.
fn cache(repo: &Repo) -> PathBuf {
    repo.home.join("cache/git")
}

/// Returns the cache folder of one repository. It contains a folder for each commit.
fn of_url(repo: &Repo, source: &GitSource) -> PathBuf {
    cache(repo).join(sha256::hex(&source.url))
}

fn place(repo: &Repo, source: &GitSource, commit: &str) -> PathBuf {
    of_url(repo, source).join(commit)
}

/// Returns the address to fetch from. A local repository must be in a folder that the user allowed.
fn address(repo: &Repo, id: &str, source: &GitSource) -> Result<String> {
    let Some(path) = local(repo.folder(), &source.url) else { return Ok(source.url.clone()) };
    // A cached commit is used even if the repository no longer exists.
    let real = mcpkg_base::platform::real(&path).unwrap_or(path);
    let is_plain = !real.components().any(|part| part == Component::ParentDir);
    if let Some(path) = real.to_str().filter(|_| is_plain && repo.bounds.allows(&real)) {
        return Ok(path.to_owned());
    }
    let why = format!(
        "Module `{id}`: its repository `{}` is on this machine, but a config repo can only read its own files",
        source.url
    );
    let details = json!({"module_id": id, "url": source.url, "path": real.display().to_string()});
    Err(bounds::allowable(Error::new(Code::ConfigInvalid, why).with_details(details), &real))
}

/// Returns the local path of a URL that git would treat as a path on this machine.
fn local(repo: &Path, url: &str) -> Option<PathBuf> {
    let scheme = url.split_once("://").map(|(scheme, path)| (scheme.to_ascii_lowercase(), path));
    let is_remote = |at: usize| !url[..at].contains('/');
    match scheme {
        Some((scheme, path)) if scheme == "file" => Some(Path::new("/").join(path)),
        Some(_) => None,
        // A remote address: `host:path` or `helper::address`.
        None if url.find(':').is_some_and(is_remote) => None,
        None => Some(repo.join(url)),
    }
}

/// Asks the remote which commit a branch or tag points to.
fn resolve(id: &str, source: &GitSource, address: &str, limits: &Limits<'_>) -> Result<String> {
    let wanted = &source.reference;
    let (head, tag) = (format!("refs/heads/{wanted}"), format!("refs/tags/{wanted}"));
    let peeled = format!("{tag}^{{}}");
    let said = git::run(Path::new(NOWHERE), &["ls-remote", "--", address, &head, &tag, &peeled], limits)?;
    let said = String::from_utf8_lossy(&said);
    let find = |name: &str| said.lines().find_map(|line| line.split_once('\t').filter(|(_, found)| *found == name));
    let found = [peeled, head, tag].iter().find_map(|name| find(name)).map(|(commit, _)| commit.to_owned());
    found.filter(|commit| git::is_commit(commit)).ok_or_else(|| {
        let url = redact(&source.url);
        Error::new(Code::ConfigInvalid, format!("Module `{id}`: `{url}` has no branch or tag `{wanted}`"))
            .with_details(json!({"module_id": id, "url": url, "ref": wanted}))
    })
}

/// Fetches a commit into a temporary folder, then renames the folder once it is complete.
fn fetch(repo: &Repo, source: &GitSource, address: &str, commit: &str, limits: &Limits<'_>) -> Result<()> {
    let (of_url, whole) = (of_url(repo, source), place(repo, source, commit));
    let private = Fetching::begin(&cache(repo), &of_url)?;
    let mut tree = private.path().join("shallow");
    let alone = if source.shallow { shallow(&tree, address, commit, limits).map(|()| true) } else { Ok(false) };
    match alone {
        Ok(true) => {}
        Err(error) if error.code() == Code::Cancelled => return Err(error),
        // The manifest wants a full clone, or the server cannot send a single commit.
        Ok(false) | Err(_) => {
            tree = private.path().join("full");
            let clone = ["clone", "-q", "--no-checkout", "--no-local", "--template=", "--"].map(std::ffi::OsStr::new);
            let from_to = [address.as_ref(), tree.as_os_str()];
            git::run(Path::new(NOWHERE), &[&clone[..], &from_to].concat(), limits)?;
            check_out(&tree, commit, limits)?;
        }
    }
    match std::fs::rename(&tree, &whole) {
        // Another process fetched the same files first.
        Err(_) if whole.is_dir() => Ok(()),
        renamed => renamed.map_err(|error| Error::file("write", &whole, error)),
    }
}

fn shallow(tree: &Path, address: &str, commit: &str, limits: &Limits<'_>) -> Result<()> {
    let init = ["init", "-q", "--template=", "--"].map(std::ffi::OsStr::new);
    git::run(Path::new(NOWHERE), &[&init[..], &[tree.as_os_str()]].concat(), limits)?;
    git::run(tree, &["fetch", "-q", "--no-tags", "--depth=1", "--", address, commit], limits)?;
    check_out(tree, commit, limits)
}

fn check_out(tree: &Path, commit: &str, limits: &Limits<'_>) -> Result<()> {
    git::run(tree, &["-c", "core.autocrlf=false", "checkout", "-q", "--detach", commit], limits).map(drop)
}
