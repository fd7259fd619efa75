//! Holds the checked content of a config repo's manifest: targets, profiles, modules and their sources.

use mcpkg_base::git;
use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::module::Kind;
use crate::targets::Target;

/// Which folders a target writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The agents' own folders in the home folder.
    User,
    /// Folders below the deploy root.
    Project,
    Both,
}

/// A target, as declared in the manifest.
#[derive(Clone, Debug)]
pub struct DeclaredTarget {
    /// The folders that the target writes to.
    pub scope: Scope,
    /// The target's options, exactly as in the file.
    pub options: Map<String, Value>,
}

/// A profile: selects modules by tag or id.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) include_tags: BTreeSet<String>,
    pub(super) include_modules: BTreeSet<String>,
    pub(super) exclude_modules: BTreeSet<String>,
}

/// Where a module's files come from.
#[derive(Debug)]
pub(super) enum ModuleSource {
    Local(PathBuf),
    Git(GitSource),
}

/// A folder in a git repository.
#[derive(Clone, Debug)]
pub(super) struct GitSource {
    pub(super) url: String,
    pub(super) reference: String,
    pub(super) subdir: String,
    pub(super) shallow: bool,
}

impl GitSource {
    /// Whether the reference is a commit. Unlike a branch, it never moves.
    pub(super) fn is_commit(&self) -> bool {
        git::is_commit(&self.reference)
    }
}

/// A module, as declared in the manifest.
#[derive(Debug)]
pub(super) struct DeclaredModule {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) enabled: bool,
    pub(super) tags: Vec<String>,
    pub(super) targets: Vec<Target>,
    pub(super) source: ModuleSource,
}
