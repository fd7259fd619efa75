//! Shell completion for the names in a workspace.

use tokio_util::sync::CancellationToken;

use super::flow::branches;
use super::flow::kind::Kind;
use super::keep;
use super::root::{Workspace, find, start};
use mcpkg_base::error::Result;
use mcpkg_base::git::Git;
use mcpkg_core::op::{Name, Names, Typed};

pub const REPOS: Names = Names::Stored(|typed| {
    let repos = workspace(typed)?.map(|workspace| workspace.manifest.repos).unwrap_or_default();
    Ok(typed.matching(repos.into_iter().map(|repo| repo.name)))
});

/// Shell completion for sets of worktrees: the names of the folders that exist.
pub const SETS: Names = Names::Stored(|typed| {
    let base = workspace(typed)?.map(|workspace| workspace.root.join(&workspace.manifest.worktree.base_dir));
    let entries = base.and_then(|base| std::fs::read_dir(base).ok()).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    Ok(typed.matching(names))
});

/// Shell completion for removed sets of worktrees that can still be restored.
pub const REMOVED: Names = Names::Stored(|typed| {
    let Some(workspace) = workspace(typed)? else { return Ok(Vec::new()) };
    let never = CancellationToken::new();
    let kept = |repo| Some(keep::list(&Git::of(&workspace.folder(repo).ok()?, &never)).unwrap_or_default());
    let kept = workspace.manifest.repos.iter().filter_map(kept).flatten();
    let mut names: Vec<String> =
        kept.filter_map(|kept| kept.what.strip_prefix("worktrees/").map(str::to_owned)).collect();
    names.sort_unstable();
    names.dedup();
    Ok(typed.matching(names))
});

/// Shell completion for open features.
pub const FEATURES: Names = Names::Stored(|typed| open(typed, Kind::Feature));

/// Shell completion for open releases.
pub const RELEASES: Names = Names::Stored(|typed| open(typed, Kind::Release));

/// Shell completion for open hotfixes.
pub const HOTFIXES: Names = Names::Stored(|typed| open(typed, Kind::Hotfix));

fn workspace(typed: &Typed<'_>) -> Result<Option<Workspace>> {
    find(&start(typed.selection)).map(|root| Workspace::read(&root)).transpose()
}

fn open(typed: &Typed<'_>, kind: Kind) -> Result<Vec<Name>> {
    let Some(workspace) = workspace(typed)? else { return Ok(Vec::new()) };
    let prefix = kind.prefix(&workspace.manifest.flow);
    let branches = branches::all(&workspace, &CancellationToken::new());
    let of_kind = branches.into_iter().filter(|branch| branch.kind == kind.title());
    let mut names: Vec<String> =
        of_kind.filter_map(|branch| branch.name.strip_prefix(prefix).map(str::to_owned)).collect();
    names.sort_unstable();
    names.dedup();
    Ok(typed.matching(names))
}
