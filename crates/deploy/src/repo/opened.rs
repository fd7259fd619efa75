//! Opens a config repo: its manifest, its lockfile, and the folders that it may read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::bounds::Bounds;
use super::config::{DeclaredTarget, GitSource};
use super::lockfile::{Lockfile, Pin};
use super::manifest::{self, Manifest};
use crate::targets::Target;
use mcpkg_base::disk;
use mcpkg_base::error::Result;

#[derive(Debug)]
pub struct Repo {
    pub(super) bounds: Bounds,
    pub(super) home: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) lockfile: Option<Lockfile>,
}

/// Returns agentpack's home folder: `AGENTPACK_HOME`, else `~/.agentpack`. It contains the cache and the repo of
/// agentpack, the original tool of contract 000.
pub fn home_below(home: &Path) -> PathBuf {
    let given = std::env::var_os("AGENTPACK_HOME").map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    match given {
        Some(path) => path.strip_prefix("~").map_or_else(|_| path.clone(), |below| home.join(below)),
        None => home.join(".agentpack"),
    }
}

impl Repo {
    /// Opens the config repo in `folder`. It may read files below this folder and below the folders in `allowed`. Git
    /// sources are cached in agentpack's home folder ([`home_below`]).
    ///
    /// # Errors
    /// `E_CONFIG_MISSING` if `folder` has no `agentpack.yaml`; `E_INVALID_ARGUMENT` if a path in `allowed` is not a
    /// folder; the errors of reading `agentpack.yaml` and `agentpack.lock.json`.
    pub fn open(folder: &Path, allowed: &[PathBuf]) -> Result<Self> {
        Self::open_with(folder, allowed, home_below(&disk::home()?))
    }

    /// Like [`Repo::open`], but caches git sources in `home`.
    pub fn open_with(folder: &Path, allowed: &[PathBuf], home: PathBuf) -> Result<Self> {
        if !folder.is_dir() {
            return Err(manifest::missing(folder));
        }
        let bounds = Bounds::new(folder, allowed)?;
        let manifest = Manifest::read(&bounds, folder)?;
        let lockfile = Lockfile::read(&bounds)?;
        Ok(Self { bounds, home, manifest, lockfile })
    }

    /// Returns the repo's folder, with links resolved.
    pub fn folder(&self) -> &Path {
        self.bounds.own()
    }

    /// Whether the user allowed reading the real path `path`, outside the repo.
    pub fn allows(&self, path: &Path) -> bool {
        self.bounds.allows(path)
    }

    /// Returns the targets that the manifest configures.
    pub fn targets(&self) -> &BTreeMap<Target, DeclaredTarget> {
        &self.manifest.targets
    }

    /// Returns the commit that the lockfile pins the git source of the module `id` to.
    pub(super) fn pin(&self, id: &str, source: &GitSource) -> Result<Option<&Pin>> {
        self.lockfile.as_ref().map_or(Ok(None), |lockfile| lockfile.pin(id, source))
    }
}
