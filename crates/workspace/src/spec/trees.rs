//! Finds specs in a workspace: in the tree of the root, and in one tree per repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;

use crate::root::Workspace;
use mcpkg_base::disk::folder::{Folder, Kind};
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::error::{Code, Error, Result};

/// The name of the root's tree, used instead of a repository's name. No repository can have this name.
pub(super) const ROOT: &str = "_workspace";

/// The folder of archived specs, next to the open ones.
pub(super) const ARCHIVE: &str = "archive";

/// The folder of a tree that contains the specs.
const CHANGES: &str = "changes";

/// The maximum number of specs that are read in one folder.
const MAX_SPECS: usize = 10_000;

#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// The repository's name, or [`ROOT`].
    pub(super) repo: String,
    /// The folder of the tree's specs, which may not exist.
    pub(super) changes: PathBuf,
}

/// The location of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpecPlace {
    /// The repository's name, or [`ROOT`].
    pub(super) repo: String,
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) is_archived: bool,
}

impl SpecPlace {
    /// Returns the name with its repository: `api:login`.
    pub(super) fn qualified(&self) -> String {
        format!("{}:{}", self.repo, self.name)
    }

    /// Returns the spec's original name, without the date that archiving adds.
    pub(super) fn plain_name(&self) -> &str {
        if self.is_archived { undated(&self.name).unwrap_or(&self.name) } else { &self.name }
    }
}

/// The trees of a workspace. Folders stay open between reads and writes, so that they cannot be swapped for links.
pub(super) struct Trees {
    pub(super) root: PathBuf,
    folders: Folders,
    trees: Vec<Tree>,
    /// Trees that cannot be read, each with its error.
    refused: Vec<(String, Error)>,
}

impl Trees {
    /// Returns the trees of a workspace. Specs are only read when they are needed.
    pub(super) fn of(workspace: &Workspace) -> Self {
        let mut trees = Self {
            root: workspace.root.clone(),
            folders: Folders::below(vec![workspace.root.clone()]),
            trees: Vec::new(),
            refused: Vec::new(),
        };
        let openspec = &workspace.manifest.spec.openspec_dir;
        if !workspace.manifest.repos.iter().any(|repo| repo.path == ".") {
            trees.trees.push(Tree { repo: ROOT.to_owned(), changes: workspace.root.join(openspec).join(CHANGES) });
        }
        for repo in &workspace.manifest.repos {
            match workspace.folder(repo) {
                Ok(folder) => {
                    trees.trees.push(Tree { repo: repo.name.clone(), changes: folder.join(openspec).join(CHANGES) });
                }
                Err(error) => trees.refused.push((repo.name.clone(), error)),
            }
        }
        trees
    }

    /// Returns the tree of a repository, or of [`ROOT`].
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if the workspace has no such repository, with the closest name; `E_IO_INVALID_PATH` if the
    /// repository's path leads outside the workspace.
    pub(super) fn tree(&mut self, repo: &str) -> Result<Tree> {
        if let Some(tree) = self.trees.iter().find(|tree| tree.repo == repo) {
            return Ok(tree.clone());
        }
        if let Some(at) = self.refused.iter().position(|(refused, _)| refused == repo) {
            return Err(self.refused.swap_remove(at).1);
        }
        let known = self.trees.iter().map(|tree| tree.repo.as_str());
        let all = format!("it has {}", known.clone().collect::<Vec<_>>().join(", "));
        Err(Error::new(Code::InvalidArgument, format!("The workspace has no repository '{}'", repo.escape_debug()))
            .with_details(json!({ "repo": repo }))
            .suggest(repo, known, all))
    }

    /// Returns all specs, tree by tree: first the open ones by name, then the archived ones. Trees that cannot be read
    /// are skipped, and [`Trees::refused`] lists them.
    pub(super) fn all(&mut self) -> Vec<SpecPlace> {
        let mut all = Vec::new();
        for tree in self.trees.clone() {
            match self.specs(&tree) {
                Ok(found) => all.extend(found),
                Err(error) => {
                    self.trees.retain(|other| other.repo != tree.repo);
                    self.refused.push((tree.repo, error));
                }
            }
        }
        all
    }

    /// Returns one warning per tree that was skipped.
    pub(super) fn refused(&self) -> Vec<String> {
        self.refused.iter().map(|(repo, error)| format!("cannot read the specs of '{repo}': {error}")).collect()
    }

    /// Finds a spec by `NAME` or `REPO:NAME`. An archived spec is found by the name of its folder, or by its original
    /// name if there is no open spec with that name.
    ///
    /// # Errors
    /// `E_NOT_FOUND` with the closest name; `E_INVALID_ARGUMENT` if several specs have the name, or if there is no such
    /// repository; `E_IO_INVALID_PATH` if the tree is outside the workspace.
    pub(super) fn find(&mut self, wanted: &str) -> Result<SpecPlace> {
        let (repo, name) = match wanted.split_once(':') {
            Some((repo, name)) => (Some(self.tree(repo)?), name),
            None => (None, wanted),
        };
        let all = match &repo {
            Some(tree) => self.specs(tree)?,
            None => self.all(),
        };
        let mut exact: Vec<&SpecPlace> = all.iter().filter(|found| found.name == name).collect();
        if exact.is_empty() {
            exact = latest(all.iter().filter(|found| found.is_archived && found.plain_name() == name));
        }
        match exact.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(self.missing(wanted, name, &all)),
            several => Err(ambiguous(name, several)),
        }
    }

    fn missing(&mut self, wanted: &str, name: &str, all: &[SpecPlace]) -> Error {
        if !wanted.contains(':') && !self.refused.is_empty() {
            return self.refused.swap_remove(0).1;
        }
        let known = all.iter().map(|found| found.name.as_str());
        Error::new(Code::NotFound, format!("Spec '{}' does not exist", wanted.escape_debug()))
            .with_details(json!({ "spec": wanted }))
            .suggest(name, known, "`mcpkg spec list` lists the specs")
    }

    fn specs(&mut self, tree: &Tree) -> Result<Vec<SpecPlace>> {
        let mut found = self.in_folder(&tree.repo, &tree.changes, false)?;
        found.extend(self.in_folder(&tree.repo, &tree.changes.join(ARCHIVE), true)?);
        Ok(found)
    }

    fn in_folder(&mut self, repo: &str, path: &Path, is_archived: bool) -> Result<Vec<SpecPlace>> {
        let Some(folder) = self.open(path)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for name in folder.names()?.into_iter().take(MAX_SPECS) {
            let Some(text) = name.to_str() else { continue };
            let is_own = !is_archived && text == ARCHIVE;
            // Links and files are not specs.
            if !is_own && !text.starts_with('.') && is_folder(&folder, &name)? {
                let (repo, name) = (repo.to_owned(), text.to_owned());
                found.push(SpecPlace { repo, path: path.join(&name), name, is_archived });
            }
        }
        Ok(found)
    }

    /// Opens a folder below the root; `None` if it does not exist.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` if a link leads out of the root.
    pub(super) fn open(&mut self, path: &Path) -> Result<Option<Rc<Folder>>> {
        self.folders.open(path)
    }

    /// Creates a folder below the root, with its parents, and opens it.
    pub(super) fn make(&mut self, path: &Path) -> Result<Rc<Folder>> {
        self.folders.make_all(path)?;
        self.open(path)?.ok_or_else(|| Error::internal("a folder that was just created is missing"))
    }

    /// Removes the folders that are empty. `paths` must list the deepest first.
    pub(super) fn remove_empty<P: AsRef<Path>>(&mut self, paths: &[P]) {
        self.folders.remove_empty(paths);
    }

    /// Returns a path relative to the root, with `/` as the separator.
    pub(super) fn relative(&self, path: &Path) -> String {
        mcpkg_base::disk::posix(path.strip_prefix(&self.root).unwrap_or(path))
    }
}

/// Returns whether this is the name of a temporary folder of mcpkg: `.NAME.UUID`.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let uuid = name.strip_prefix('.').and_then(|name| name.rsplit_once('.')).map(|(_, uuid)| uuid);
    uuid.is_some_and(|uuid| uuid::Uuid::parse_str(uuid).is_ok())
}

fn is_folder(folder: &Folder, name: &OsStr) -> Result<bool> {
    Ok(folder.entry(name)?.is_some_and(|entry| entry.kind == Kind::Folder))
}

/// Returns the archived spec with the latest date in each repository. All specs in `found` have the same original name.
fn latest<'f>(found: impl Iterator<Item = &'f SpecPlace>) -> Vec<&'f SpecPlace> {
    let mut latest: Vec<&SpecPlace> = Vec::new();
    // The specs of a repository are sorted by name, and the names start with the date.
    for spec in found {
        match latest.last_mut() {
            Some(last) if last.repo == spec.repo => *last = spec,
            _ => latest.push(spec),
        }
    }
    latest
}

fn ambiguous(name: &str, several: &[&SpecPlace]) -> Error {
    let names: Vec<String> = several.iter().map(|found| found.qualified()).collect();
    Error::new(Code::InvalidArgument, format!("Several repositories have a spec '{name}': {}", names.join(", ")))
        .with_details(json!({ "spec": name, "choices": names }))
        .hint(format!("choose one of them, such as {}", names[0]))
}

/// Removes the date from an archived name: `2026-02-11-login` -> `login`.
fn undated(name: &str) -> Option<&str> {
    let (day, rest) = name.split_at_checked(11)?;
    let day = day.strip_suffix('-')?;
    (!rest.is_empty() && day.parse::<jiff::civil::Date>().is_ok()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_prefix_is_removed_from_a_name() {
        assert_eq!(undated("2026-02-11-login"), Some("login"));
        assert_eq!(undated("2026-02-11-2026-02-11-a"), Some("2026-02-11-a"));
        for other in
            ["login", "2026-02-11", "2026-02-11-", "2026-13-11-a", "2026-2-11-ab", "é026-02-11-a", "2026-02-11xa"]
        {
            assert_eq!(undated(other), None, "{other}");
        }
    }

    #[test]
    fn the_latest_spec_of_each_repository_is_chosen() {
        let found = |repo: &str, name: &str| SpecPlace {
            repo: repo.to_owned(),
            name: name.to_owned(),
            path: PathBuf::new(),
            is_archived: true,
        };
        let all = [found("a", "2026-01-01-x"), found("a", "2026-02-01-x"), found("b", "2025-01-01-x")];
        assert_eq!(latest(all.iter()), [&all[1], &all[2]]);
    }
}
