//! Excludes mcpkg's own files from git if the workspace's root is itself a repository.

use std::io::ErrorKind;
use std::path::Path;

use super::names::OWN;
use super::root::Workspace;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::file;
use mcpkg_base::git;

/// If the root of the workspace is a repository, makes git ignore mcpkg's folder, the worktrees and the other repositories.
/// Appends to `info/exclude`, which is local to this clone, and keeps the existing lines.
pub fn exclude(root: &Path) -> Result<()> {
    let Some(folder) = git::folder(root) else { return Ok(()) };
    let manifest = Workspace::read(root)?.manifest;
    let repos = manifest.repos.iter().map(|repo| repo.path.as_str()).filter(|path| *path != ".");
    let paths = [OWN, &manifest.worktree.base_dir].into_iter().chain(repos);
    let path = folder.join("info/exclude");
    let mut text = match file::read_text(&path, file::TEXT) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        text => text.map_err(|error| disk::failed("read", &path, error))?,
    };
    let missing: Vec<String> = paths
        .map(|path| format!("/{}/", path.trim_matches('/')))
        .filter(|line| !text.lines().any(|known| known == line))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.extend(missing.iter().map(|line| format!("{line}\n")));
    let info = folder.join("info");
    std::fs::create_dir_all(&info).map_err(|error| disk::failed("make", &info, error))?;
    disk::replace(&path, text.as_bytes())
}
