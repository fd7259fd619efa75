//! A config repo: `agentpack.yaml`, its modules and their overlays, as the original agentpack has them.

pub mod identity;
pub mod taken_over;

mod baseline;
mod bounds;
mod branch;
mod checkout;
mod compose;
mod config;
mod lockfile;
mod manifest;
mod overlay;
mod patch;
mod propose;
mod tree;
mod validate;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::deploy::module::{Module, Target};
use crate::error::{Code, Error, Result};
use bounds::Bounds;
use config::GitSource;
use lockfile::{Lockfile, Pin};
use manifest::Manifest;

pub use checkout::Checkouts;
pub use config::{Scope, TargetConfig};
pub use manifest::FILE;
pub use propose::{Proposal, Proposed, ProposedFile, SkippedFile};

/// A config repo that was opened.
#[derive(Debug)]
pub struct Repo {
    bounds: Bounds,
    home: PathBuf,
    manifest: Manifest,
    lockfile: Option<Lockfile>,
}

/// What is wanted of a repo.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The profile that selects the modules.
    pub profile: &'a str,
    /// The machine, as [`identity::machine`] says it.
    pub machine: &'a str,
    /// The project, as [`identity::project`] says it.
    pub project: &'a str,
}

/// The modules of a profile.
#[derive(Debug)]
pub struct Composed {
    /// Each once, by id.
    pub modules: Vec<Module>,
    /// What the user should know of them.
    pub warnings: Vec<String>,
}

/// Returns the original's home folder, `AGENTPACK_HOME` or `~/.agentpack`: its cache and its own repo lie there.
///
/// # Errors
/// `E_FILE_FAILED` where the user has no home folder.
pub fn home() -> Result<PathBuf> {
    let given = std::env::var_os("AGENTPACK_HOME").map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    if let Some(path) = given.as_ref().filter(|path| !path.starts_with("~")) {
        return Ok(path.clone());
    }
    let home = etcetera::home_dir().map_err(|error| {
        Error::new(Code::FileFailed, format!("The home folder is not known: {error}")).hint("set AGENTPACK_HOME")
    })?;
    let below = given.as_ref().and_then(|path| path.strip_prefix("~").ok());
    Ok(home.join(below.unwrap_or(Path::new(".agentpack"))))
}

impl Repo {
    /// Opens the config repo in `folder`, which may read below its own folder and those in `allowed`. What git sources
    /// need is kept in [`home`].
    ///
    /// # Errors
    /// `E_CONFIG_MISSING`, `E_CONFIG_INVALID`, `E_CONFIG_UNSUPPORTED_VERSION`, `E_TARGET_UNSUPPORTED`,
    /// `E_LOCKFILE_INVALID`, `E_LOCKFILE_UNSUPPORTED_VERSION`, `E_FILE_FAILED`; `E_INVALID_ARGUMENT` for a folder in
    /// `allowed` that is none.
    pub fn open(folder: &Path, allowed: &[PathBuf]) -> Result<Self> {
        Self::open_with(folder, allowed, home()?)
    }

    /// Opens the config repo in `folder`; what git sources need is kept in `home`.
    ///
    /// # Errors
    /// As [`Repo::open`].
    pub fn open_with(folder: &Path, allowed: &[PathBuf], home: PathBuf) -> Result<Self> {
        if !folder.is_dir() {
            return Err(manifest::missing(folder));
        }
        let bounds = Bounds::new(folder, allowed)?;
        let manifest = Manifest::read(&bounds, folder)?;
        let lockfile = Lockfile::read(&bounds)?;
        Ok(Self { bounds, home, manifest, lockfile })
    }

    /// The folder, without links.
    pub fn folder(&self) -> &Path {
        self.bounds.own()
    }

    /// Whether the user allowed the real path `path`, which is not its own.
    pub fn allows(&self, path: &Path) -> bool {
        self.bounds.allows(path)
    }

    /// The targets that it is configured for.
    pub fn targets(&self) -> &BTreeMap<Target, TargetConfig> {
        &self.manifest.targets
    }

    /// Selects the modules of a profile, lays their overlays over them, and checks them; git sources as they were fetched.
    ///
    /// # Errors
    /// `E_NOT_FOUND` for the profile; `E_CONFIG_INVALID` with module_id and path for a module or overlay that breaks
    /// a rule; `E_OVERLAY_PATCH_APPLY_FAILED`; `E_LOCKFILE_INVALID` where a module differs from its pin;
    /// `E_PLAN_CHANGED` where a git source is not the one that was fetched; `E_FILE_FAILED`.
    pub fn compose(&self, choice: &Choice<'_>, checkouts: &Checkouts) -> Result<Composed> {
        compose::compose(self, choice, checkouts)
    }

    /// Fetches the git sources of what a profile selects, and returns where they are. It may take minutes, and is to be
    /// called with nothing held that others wait for; `before_network` is called before another host is waited for.
    ///
    /// # Errors
    /// `E_NOT_FOUND` for the profile; `E_GIT_NOT_FOUND`, `E_GIT_FAILED`, `E_CANCELLED`; `E_CONFIG_INVALID` where there is
    /// no such branch, or a repository lies on this machine where nobody allowed it; `E_LOCKFILE_INVALID`,
    /// `E_FILE_FAILED`.
    pub fn fetch(&self, profile: &str, cancelled: &AtomicBool, before_network: &dyn Fn()) -> Result<Checkouts> {
        checkout::fetch_all(self, profile, cancelled, before_network)
    }

    /// The commit that the lockfile pins the git source of the module `id` to.
    fn pin(&self, id: &str, source: &GitSource) -> Result<Option<&Pin>> {
        self.lockfile.as_ref().map_or(Ok(None), |lockfile| lockfile.pin(id, source))
    }

    /// The ids of the modules of a profile, without reading them.
    ///
    /// # Errors
    /// `E_NOT_FOUND` where there is no such profile.
    pub fn selected(&self, profile: &str) -> Result<Vec<&str>> {
        Ok(compose::select(self, profile, &mut Vec::new())?.into_iter().map(|module| module.id.as_str()).collect())
    }

    /// Writes files into the overlays of a scope, in one commit on a new branch. The work tree, the index and the branch
    /// that is checked out stay as they are; no hook runs. Files that a higher overlay decides, or with which the module
    /// would not compose, are left out and listed.
    ///
    /// # Errors
    /// `E_GIT_REPO_REQUIRED`, `E_GIT_WORKTREE_DIRTY`, `E_GIT_NOT_FOUND`, `E_GIT_FAILED`, each with command and repo;
    /// `E_INVALID_ARGUMENT`, `E_ALREADY_EXISTS` for the branch; `E_NOT_FOUND` for a module; `E_IO_INVALID_PATH` for a
    /// file's path; what [`Repo::compose`] gives for the modules.
    pub fn propose(&self, proposal: &Proposal<'_>) -> Result<Proposed> {
        propose::propose(self, proposal)
    }
}
