//! Finds the folder to deploy into.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::choice::{Choice, expand, real};
use super::which::Source;
use crate::targets::{Target, bases};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::projects::{self, Selection};

/// Folders in the home folder that several programs share. mcpkg never picks a deploy root inside one of them by
/// itself.
const SHARED_FOLDERS: [&str; 3] = [".agents", ".config", ".agentpack"];

/// Returns the deploy root: the folder that the user names, else the folder bound to the project, else the git
/// repository that contains the start folder of the command or server, else the start folder itself. The home folder
/// and agents' own folders are used only if the user names or binds them. Returns `None` if no folder is left.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if the named root is not a folder; the error of the file system if it cannot be opened.
pub(super) fn deploy_root(
    context: &Context,
    choice: &Choice,
    source: &Source,
    home: &Path,
    moved: &BTreeMap<Target, PathBuf>,
) -> Result<Option<PathBuf>> {
    if let Some(root) = &choice.root {
        let root = expand(root, home);
        return match mcpkg_base::platform::real(&root) {
            Ok(real) if real.is_dir() => Ok(Some(real)),
            Err(_) if choice.may_be_gone => Ok(Some(root)),
            Ok(_) => Err(Error::new(Code::InvalidArgument, format!("The root `{}` is not a folder", root.display()))),
            Err(error) => Err(disk::failed("use", &root, error)),
        };
    }
    let started = PathBuf::from(&context.selection.directory);
    if let Source::Project(project) = source {
        let bound = context.store.read(|db| projects::bindings(db, project.id))?;
        if let Some(folder) = bound_root(&bound, &started) {
            return Ok(Some(folder));
        }
    }
    if context.selection.directory.is_empty() {
        return Ok(None);
    }
    let folder = git::toplevel(&started).unwrap_or(started);
    Ok((!is_an_agents_own(&folder, home, moved)).then_some(folder))
}

/// Picks the deploy root from the folders bound to a project: the nearest one that contains the start folder, else the
/// only bound folder.
fn bound_root(bound: &[String], started: &Path) -> Option<PathBuf> {
    let around = bound.iter().filter(|folder| started.starts_with(folder)).max_by_key(|folder| folder.len());
    let only = (bound.len() == 1).then(|| bound.first()).flatten();
    around.or(only).map(PathBuf::from).filter(|folder| folder.is_dir())
}

/// Whether a server that was started in the folder of `selection` finds a deploy root by itself: a folder bound to the
/// project, or the git repository that contains the start folder. The home folder and agents' own folders do not count
/// as repositories here.
pub fn has_root(db: &Db<'_>, selection: &Selection) -> Result<bool> {
    Ok(known_root(db, selection)?.is_some())
}

/// Returns the deploy root that a server started in the folder of `selection` finds by itself.
pub fn known_root(db: &Db<'_>, selection: &Selection) -> Result<Option<PathBuf>> {
    let started = Path::new(&selection.directory);
    if let Some(project) = projects::served(db, selection)?
        && let Some(folder) = bound_root(&projects::bindings(db, project.id)?, started)
    {
        return Ok(Some(folder));
    }
    if selection.directory.is_empty() {
        return Ok(None);
    }
    let Some(top) = git::toplevel(started) else { return Ok(None) };
    Ok(disk::home().is_ok_and(|home| !is_an_agents_own(&top, &home, &bases::moved())).then_some(top))
}

/// Whether a folder is the home folder, one of its parents, or inside a folder that belongs to an agent.
pub fn is_an_agents_own(folder: &Path, home: &Path, moved: &BTreeMap<Target, PathBuf>) -> bool {
    let home = real(home);
    let mut own = Target::all().iter().map(|target| target.facts().own_folder).chain(SHARED_FOLDERS);
    home.starts_with(folder)
        || moved.values().any(|own| folder.starts_with(real(own)))
        || own.any(|name| folder.starts_with(home.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_own_folders_are_not_deploy_roots() {
        let home = Path::new("/home/ada");
        let moved = BTreeMap::from([(Target::all()[0], PathBuf::from("/codex"))]);
        for own in ["/home/ada", "/home", "/", "/home/ada/.codex", "/home/ada/.claude/x", "/home/ada/.config/x"] {
            assert!(is_an_agents_own(Path::new(own), home, &BTreeMap::new()), "{own}");
        }
        assert!(is_an_agents_own(Path::new("/codex/a"), home, &moved));
        assert!(!is_an_agents_own(Path::new("/home/ada/code"), home, &BTreeMap::new()));
    }
}
