//! Defines the arguments that choose what is deployed, and where.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::targets::Target;
use mcpkg_core::op::Names;

/// Where a project is deployed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Below the deploy root
    #[default]
    Project,
    /// In the agents' folders in your home folder
    User,
}

/// Chooses what is deployed, and where: the arguments that the operations of this domain share.
#[derive(Clone, Debug, Default, clap::Args, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Choice {
    /// Config repo to deploy [default: deploy the selected project]
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// Profile of the config repo [default: default]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Targets to deploy to: names such as codex,cursor, or `all` for every enabled target; can be repeated [default: all]
    #[arg(id = "target", long = "target", value_name = "NAME,...", value_delimiter = ',', value_parser = target_name, add = ANY_TARGET)]
    #[serde(rename = "target", deserialize_with = "one_target")]
    #[schemars(with = "Option<String>")]
    pub targets: Vec<String>,
    /// Name of the machine whose overlays in the config repo to use [default: this machine]
    #[arg(long, value_name = "ID")]
    pub machine: Option<String>,
    /// Folder to deploy into [default: the folder bound to the project, else the git repository that contains the current folder]
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub root: Option<PathBuf>,
    /// Where to deploy a project: below the deploy root, or into the user's own folders
    #[arg(long, value_name = "SCOPE", value_enum, default_value_t)]
    #[serde(skip)]
    pub scope: Scope,
    /// Also write prompts as VS Code prompt files, which VS Code's agent sessions no longer load
    #[arg(long)]
    #[serde(skip)]
    pub prompt_files: bool,
    /// Another folder that the config repo is allowed to read; can be repeated
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub allow_outside: Vec<PathBuf>,
    /// The files that the user named to deploy alone ([`super::Only`]); all if there are none.
    #[arg(skip)]
    #[serde(skip)]
    pub only: Vec<PathBuf>,
    /// Whether the deploy root is allowed to be missing. Only a rollback of the root's files allows this.
    #[arg(skip)]
    #[serde(skip)]
    pub may_be_gone: bool,
}

/// Deserializes the one target that an agent may name: the contract's tools do not accept a list.
fn one_target<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::<String>::deserialize(value)?.into_iter().collect())
}

/// The profile to use if the user names none.
pub(super) const DEFAULT_PROFILE: &str = "default";

/// What the user types for all targets.
pub(super) const ALL: &str = "all";

/// Converts a target name that a user typed: `claude-code` (the client's name) becomes `claude_code`.
#[expect(clippy::unnecessary_wraps, reason = "a value parser may fail")]
fn target_name(word: &str) -> Result<String, std::convert::Infallible> {
    Ok(word.replace('-', "_"))
}

/// Completes target names and `all`.
const ANY_TARGET: Names =
    Names::Known(|_| std::iter::once(ALL).chain(Target::all_names()).map(str::to_owned).collect());

/// Resolves the symbolic links in a path that a user wrote. A path that does not exist is returned unchanged.
pub(super) fn real(path: &Path) -> PathBuf {
    mcpkg_base::platform::real(path).unwrap_or_else(|_| path.to_owned())
}

/// Replaces a leading `~` with the home folder.
pub(super) fn expand(path: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => path.to_owned(),
    }
}
