//! Names of a workspace that a shell completes.

use super::root::{self, Workspace};
use crate::op::{Name, Names, Typed};

/// The repositories.
pub const REPOS: Names = Names::Stored(|typed| {
    let names = of(typed, |workspace| workspace.manifest.repos.iter().map(|repo| repo.name.clone()).collect());
    Ok(names)
});

/// The sets of worktrees, by the folders that there are.
pub const SETS: Names = Names::Stored(|typed| {
    Ok(of(typed, |workspace| {
        let base = workspace.root.join(&workspace.manifest.worktree.base_dir);
        let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }))
});

fn of(typed: &Typed<'_>, names: impl Fn(&Workspace) -> Vec<String>) -> Vec<Name> {
    let root = root::find(&root::start(typed.selection));
    let workspace = root.and_then(|root| Workspace::read(&root).ok());
    typed.matching(workspace.iter().flat_map(names))
}
