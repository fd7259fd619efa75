//! Resolves the files that a user names: those to deploy alone, and those to adopt.

use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::choice::{Choice, real};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::shell::quote;
use mcpkg_core::op::Context;

/// Limits a deploy to some files.
#[derive(Clone, Debug, Default, clap::Args, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Only {
    /// Leave all other files as they are; PATH is a file of the plan, or a folder for all its files
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub only: Vec<PathBuf>,
}

impl Only {
    /// Returns `choice`, limited to these files.
    pub fn of(&self, choice: &Choice) -> Choice {
        Choice { only: self.only.clone(), ..choice.clone() }
    }
}

/// Files and folders that a user named. Each name is stored with the absolute paths that it may mean.
#[derive(Clone, Debug, Default)]
pub struct Named(Vec<(PathBuf, Vec<PathBuf>)>);

impl Named {
    /// Resolves names below the deploy root, as a plan shows them. In a shell, a name may also be relative to the
    /// current folder.
    pub fn of(context: &Context, root: &str, given: &[PathBuf]) -> Self {
        let here = std::env::current_dir().ok().filter(|_| context.is_shell()).map(|here| real(&here));
        let folders: Vec<PathBuf> = std::iter::once(PathBuf::from(root)).chain(here).collect();
        let absolute = |path: &PathBuf| {
            let found = folders.iter().map(|folder| plain(&folder.join(path))).collect();
            (path.clone(), found)
        };
        Self(given.iter().map(absolute).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|(_, paths)| paths.iter().any(|named| path.starts_with(named)))
    }

    /// Refuses a name that matches no file.
    ///
    /// # Errors
    /// `E_NOT_FOUND`, with a suggestion: the file that was probably meant.
    pub fn check<'p>(&self, root: &str, files: impl Iterator<Item = &'p Path> + Clone) -> Result<()> {
        let is_known = |paths: &[PathBuf]| files.clone().any(|file| paths.iter().any(|named| file.starts_with(named)));
        let Some((given, _)) = self.0.iter().find(|(_, paths)| !is_known(paths)) else { return Ok(()) };
        let given = given.to_string_lossy();
        let error = Error::new(Code::NotFound, format!("This deploy has no file '{}'", given.escape_debug()))
            .with_details(json!({ "path": given }));
        let below = |file: &'p Path| file.strip_prefix(root).unwrap_or(file).to_str();
        Err(error.suggest(&given, files.filter_map(below), "`mcpkg plan` lists the files"))
    }

    /// Returns the names as JSON, for the hash of a plan.
    pub fn json(&self) -> Value {
        let mut files: Vec<_> = self.0.iter().flat_map(|(_, paths)| paths).map(|path| path.to_string_lossy()).collect();
        files.sort_unstable();
        json!(files)
    }

    /// Returns the names as command line arguments: ` --only a.md --only b.md`.
    pub fn arguments(&self, flag: &str) -> String {
        self.0.iter().map(|(given, _)| format!(" {flag} {}", quote(&given.to_string_lossy()))).collect()
    }
}

/// Resolves `.` and `..` in an absolute path.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The files that the user allows mcpkg to overwrite although mcpkg did not write them or they have changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Adopt {
    #[default]
    Nothing,
    All,
    Files(Vec<PathBuf>),
}

impl Adopt {
    /// Reads the arguments of `--adopt`. Without a path, `--adopt` means all files.
    pub fn of_shell(given: Option<Vec<PathBuf>>) -> Self {
        match given {
            None => Self::Nothing,
            Some(files) if files.is_empty() => Self::All,
            Some(files) => Self::Files(files),
        }
    }

    /// Reads the arguments of an agent's tool: a flag for all files, and a list of paths.
    pub fn of_tool(all: bool, files: Vec<PathBuf>) -> Self {
        if all { Self::All } else { Self::of_shell(Some(files).filter(|files| !files.is_empty())) }
    }

    /// Resolves the names below the deploy root.
    pub fn find(&self, context: &Context, root: &str) -> Adopted {
        match self {
            Self::Nothing => Adopted::Nothing,
            Self::All => Adopted::All,
            Self::Files(files) => Adopted::Files(Named::of(context, root, files)),
        }
    }
}

/// Like [`Adopt`], but with resolved paths.
#[derive(Clone, Debug)]
pub enum Adopted {
    Nothing,
    All,
    Files(Named),
}

impl From<bool> for Adopted {
    fn from(all: bool) -> Self {
        if all { Self::All } else { Self::Nothing }
    }
}

impl Adopted {
    pub fn has(&self, path: &Path) -> bool {
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::Files(named) => named.has(path),
        }
    }

    /// Returns JSON for the inputs that a confirm token is bound to.
    pub fn json(&self) -> Value {
        match self {
            Self::Nothing => json!(false),
            Self::All => json!(true),
            Self::Files(named) => named.json(),
        }
    }
}

/// Deserializes `adopt`: true for all files, or a list of paths.
pub fn adopt<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Vec<PathBuf>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        All(bool),
        Files(Vec<PathBuf>),
    }
    Ok(match Option::<Given>::deserialize(value)? {
        None | Some(Given::All(false)) => None,
        Some(Given::All(true)) => Some(Vec::new()),
        Some(Given::Files(files)) => Some(files).filter(|files| !files.is_empty()),
    })
}
