//! A config repo: `agentpack.yaml`, its modules and their overlays, as the original agentpack has them.

mod compose;
mod manifest;
mod tree;
mod validate;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::module::{Module, Target};
use crate::error::{Error, Result};
use manifest::Manifest;

pub use manifest::{FILE, Scope, TargetConfig};

/// A config repo that was opened.
#[derive(Debug)]
pub struct Repo {
    folder: PathBuf,
    manifest: Manifest,
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

impl Repo {
    /// Opens the config repo in `folder`.
    ///
    /// # Errors
    /// `E_CONFIG_MISSING`, `E_CONFIG_INVALID`, `E_CONFIG_UNSUPPORTED_VERSION`, `E_TARGET_UNSUPPORTED`,
    /// `E_LOCKFILE_INVALID`, `E_LOCKFILE_UNSUPPORTED_VERSION`, `E_FILE_FAILED`.
    pub fn open(folder: &Path) -> Result<Self> {
        let manifest = Manifest::read(folder)?;
        let folder = folder.canonicalize().map_err(|error| Error::file("read", folder, error))?;
        Ok(Self { folder, manifest })
    }

    /// The folder, without links.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The targets that it is configured for.
    pub fn targets(&self) -> &BTreeMap<Target, TargetConfig> {
        &self.manifest.targets
    }

    /// Selects the modules of a profile, lays their overlays over them, and checks them.
    ///
    /// # Errors
    /// `E_NOT_FOUND` for the profile; `E_CONFIG_INVALID` with module_id and path for a module or overlay that breaks
    /// a rule; `E_OVERLAY_PATCH_APPLY_FAILED`; `E_LOCKFILE_INVALID` where a module differs from its pin;
    /// `E_GIT_NOT_FOUND`, `E_GIT_FAILED`; `E_FILE_FAILED`.
    pub fn compose(&self, choice: &Choice<'_>) -> Result<Composed> {
        compose::compose(self, choice)
    }

    /// The ids of the modules of a profile, without reading them.
    ///
    /// # Errors
    /// `E_NOT_FOUND` where there is no such profile.
    pub fn selected(&self, profile: &str) -> Result<Vec<&str>> {
        Ok(compose::select(self, profile, &mut Vec::new())?.into_iter().map(|module| module.id.as_str()).collect())
    }
}
