//! What a config repo's manifest says, checked: targets, profiles, modules and their sources.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::deploy::module::{Kind, Target};

/// Whose places a target writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The agents' home folders.
    User,
    /// Below the deploy root.
    Project,
    /// Both.
    Both,
}

impl Scope {
    /// Whether the agents' home folders are written to.
    pub fn has_user(self) -> bool {
        self != Scope::Project
    }

    /// Whether the deploy root is written to.
    pub fn has_project(self) -> bool {
        self != Scope::User
    }
}

/// What the file says of a target.
#[derive(Clone, Debug)]
pub struct TargetConfig {
    /// Whose places it writes to.
    pub scope: Scope,
    /// Its options, as they stand in the file.
    pub options: Map<String, Value>,
}

impl TargetConfig {
    /// Returns the option `name` where it is a truth value or a word for one, else `default`.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        match self.options.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(number)) if number.as_u64() == Some(1) => true,
            Some(Value::Number(number)) if number.as_u64() == Some(0) => false,
            Some(Value::String(word)) => match word.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "1" => true,
                "false" | "no" | "0" => false,
                _ => default,
            },
            _ => default,
        }
    }

    /// Returns the option `name` where it is a text that is not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.options.get(name)?.as_str().filter(|text| !text.trim().is_empty())
    }
}

/// Which modules a profile selects.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) include_tags: BTreeSet<String>,
    pub(super) include_modules: BTreeSet<String>,
    pub(super) exclude_modules: BTreeSet<String>,
}

/// Where a module's files come from.
#[derive(Debug)]
pub(super) enum Source {
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
    /// Whether the reference is a commit, which does not move.
    pub(super) fn is_commit(&self) -> bool {
        self.reference.len() == 40 && self.reference.bytes().all(|digit| digit.is_ascii_hexdigit())
    }
}

/// A module as the file declares it.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) enabled: bool,
    pub(super) tags: Vec<String>,
    pub(super) targets: Vec<Target>,
    pub(super) source: Source,
}
