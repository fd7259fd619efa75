//! Finds the workspace that a call applies to, and reads its manifest.

use std::path::{Path, PathBuf};

use super::manifest::{self, Manifest, Repo};
use super::names;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_core::op::Context;
use mcpkg_store::projects::Selection;

/// The path of the manifest, relative to the root.
pub const MANIFEST: &str = ".smctl/workspace.toml";

#[derive(Clone, Debug)]
pub struct Workspace {
    /// The root folder, with symlinks resolved.
    pub root: PathBuf,
    pub manifest: Manifest,
    /// The manifest's original text.
    pub text: String,
}

impl Workspace {
    /// Opens the workspace named by the call, or else the one around the folder where the command or server was
    /// started.
    pub fn open(context: &Context) -> Result<Self> {
        Self::read(&root_of(context)?)
    }

    /// Opens the workspace with this root.
    pub fn read(root: &Path) -> Result<Self> {
        let text = manifest_text(root)?;
        let manifest = manifest::read(&text, MANIFEST)?;
        Ok(Self { root: root.to_owned(), manifest, text })
    }

    /// Finds a repository by its name.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` with the closest name.
    pub fn repo(&self, name: &str) -> Result<&Repo> {
        self.manifest.repos.iter().find(|repo| repo.name == name).ok_or_else(|| {
            let known = self.manifest.repos.iter().map(|repo| repo.name.as_str());
            let all = format!("it has {}", known.clone().collect::<Vec<_>>().join(", "));
            Error::new(
                Code::InvalidArgument,
                format!("The workspace '{}' has no repository '{}'", self.manifest.name, name.escape_debug()),
            )
            .with_details(serde_json::json!({ "repo": name }))
            .suggest(name, known, all)
        })
    }

    /// Returns the named repositories in the manifest's order; all repositories if `names` is empty.
    pub fn chosen(&self, names: &[String]) -> Result<Vec<&Repo>> {
        for name in names {
            self.repo(name)?;
        }
        let is_chosen = |repo: &&Repo| names.is_empty() || names.contains(&repo.name);
        Ok(self.manifest.repos.iter().filter(is_chosen).collect())
    }

    /// Like [`Workspace::chosen`], but fails if the workspace has no repositories.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if there are none, or if a name is unknown.
    pub fn at_least_one(&self, names: &[String]) -> Result<Vec<&Repo>> {
        let repos = self.chosen(names)?;
        if repos.is_empty() {
            let message = format!("The workspace '{}' has no repositories", self.manifest.name);
            return Err(Error::new(Code::InvalidArgument, message).hint("add one with `mcpkg workspace add URL`"));
        }
        Ok(repos)
    }

    /// Returns the folder of a repository, whether or not it exists.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` if a link leads out of the root.
    pub fn folder(&self, repo: &Repo) -> Result<PathBuf> {
        self.below(&repo.path)
    }

    /// Returns the folder of a repository's worktree in a set, relative to the root.
    pub fn worktree(&self, set: &str, repo: &Repo) -> String {
        let path = if repo.path == "." { &repo.name } else { &repo.path };
        format!("{}/{set}/{path}", self.manifest.worktree.base_dir.trim_end_matches('/'))
    }

    /// Resolves a path relative to the root, whether or not it exists.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` if the path leaves the root, even through a link.
    pub fn below(&self, path: &str) -> Result<PathBuf> {
        below(&self.root, path)
    }
}

/// Resolves a path relative to `root`, whether or not it exists.
///
/// # Errors
/// `E_IO_INVALID_PATH` if the path leaves the root, even through a link.
pub fn below(root: &Path, path: &str) -> Result<PathBuf> {
    if path == "." {
        return Ok(root.to_owned());
    }
    let whole = root.join(path);
    let there = whole.ancestors().find_map(|folder| mcpkg_base::platform::real(folder).ok());
    if names::is_path(path) && there.is_some_and(|there| there.starts_with(root)) {
        return Ok(whole);
    }
    Err(Error::new(Code::InvalidPath, format!("`{path}` leads out of the workspace `{}`", root.display()))
        .with_details(serde_json::json!({ "path": path }))
        .hint("use a path below the workspace, without links that lead out of the workspace"))
}

/// Returns the folder where the search for a workspace starts.
pub fn start(selection: &Selection) -> PathBuf {
    let folder = selection.workspace.as_ref().unwrap_or(&selection.directory);
    // Selections store folders without a trailing `/`, so the root folder is stored as an empty string.
    PathBuf::from(if folder.is_empty() { "/" } else { folder })
}

/// Returns the root of the workspace that a call applies to.
pub fn root_of(context: &Context) -> Result<PathBuf> {
    let start = start(&context.selection);
    find(&start).ok_or_else(|| not_found(&start))
}

/// Returns the text of the manifest below `root`, even if it is invalid.
pub fn manifest_text(root: &Path) -> Result<String> {
    let path = root.join(MANIFEST);
    file::read_text(&path, file::TEXT).map_err(|error| disk::failed("read", &path, error))
}

/// Returns the root of the workspace that contains `folder`.
pub fn find(folder: &Path) -> Option<PathBuf> {
    around(folder, |root| root.join(MANIFEST).is_file())
}

/// Returns `folder` or its nearest parent for which `is_it` is true. Symlinks are resolved first.
pub fn around(folder: &Path, is_it: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let folder = mcpkg_base::platform::real(folder).ok()?;
    folder.ancestors().find(|root| is_it(root)).map(Path::to_owned)
}

/// Returns the error for a folder outside any workspace.
pub fn not_found(start: &Path) -> Error {
    Error::new(Code::WorkspaceNotFound, format!("`{}` is not in a workspace", start.display()))
        .with_details(serde_json::json!({
            "path": start.display().to_string(),
            "suggestion": "Run smctl_workspace_init first",
        }))
        .hint("create one here with `mcpkg workspace init --repo URL`, or choose another with `-w FOLDER`")
}
