//! Finds the repositories that have the branch of a spec.

use std::collections::HashMap;

use serde::Serialize;

use crate::manifest::Repo;
use crate::parallel;
use crate::root::Workspace;
use mcpkg_base::error::Result;
use mcpkg_base::git::{self, Git, refs};
use mcpkg_core::op::Context;

/// The ref prefix of local branches.
const LOCAL: &str = "refs/heads/";

/// The ref prefix of the branches of `origin`.
const REMOTE: &str = "refs/remotes/origin/";

/// A branch in one repository.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub(super) struct Branch {
    pub(super) repo_name: String,
    pub(super) branch: String,
    /// Whether the local clone has the branch.
    pub(super) local: bool,
    /// Whether `origin` has the branch, as of the last fetch.
    pub(super) remote: bool,
    /// Whether all commits of the branch are in the develop branch. A branch at the very
    /// commit of the develop branch does not count as merged, because it may just be new.
    pub(super) merged: bool,
}

/// The branches of all repositories.
pub(super) struct Branches {
    repos: Vec<OfRepo>,
    /// One line per repository that could not be read.
    pub(super) warnings: Vec<String>,
}

struct OfRepo {
    name: String,
    refs: HashMap<String, Ref>,
}

struct Ref {
    commit: String,
    merged: bool,
}

impl Branches {
    /// Lists the branches of each repository that exists. A repository that cannot be read is skipped with a warning.
    pub(super) fn of(context: &Context, workspace: &Workspace) -> Self {
        let mut all = Self { repos: Vec::new(), warnings: Vec::new() };
        let repos = &workspace.manifest.repos;
        let asked = parallel::each(repos, |_, repo| of_repo(context, workspace, repo));
        for (repo, asked) in repos.iter().zip(asked) {
            match asked {
                Ok(Some(refs)) => all.repos.push(OfRepo { name: repo.name.clone(), refs }),
                // The repository is not cloned yet. `workspace status` reports that.
                Ok(None) => {}
                Err(error) => all.warnings.push(format!("cannot read the branches of '{}': {error}", repo.name)),
            }
        }
        all
    }

    /// Returns the repositories that have a branch of this name.
    pub(super) fn named(&self, branch: &str) -> Vec<Branch> {
        let in_repo = |repo: &OfRepo| {
            let find = |kind: &str| repo.refs.get(&format!("{kind}{branch}"));
            let (local, remote) = (find(LOCAL), find(REMOTE));
            let merged = local.or(remote)?.merged;
            let (local, remote) = (local.is_some(), remote.is_some());
            Some(Branch { repo_name: repo.name.clone(), branch: branch.to_owned(), local, remote, merged })
        };
        self.repos.iter().filter_map(in_repo).collect()
    }
}

/// Returns the branches of a repository by full name; `None` if the repository does not exist.
fn of_repo(context: &Context, workspace: &Workspace, repo: &Repo) -> Result<Option<HashMap<String, Ref>>> {
    let folder = workspace.folder(repo)?;
    if git::folder(&folder).is_none() {
        return Ok(None);
    }
    let git = Git::of(&folder, &context.cancelled);
    let mut refs: HashMap<String, Ref> = refs::list(&git, &[LOCAL, REMOTE])?
        .into_iter()
        .map(|found| (found.name, Ref { commit: found.id, merged: false }))
        .collect();
    let develop = &workspace.manifest.flow.develop_branch;
    let names = [format!("{LOCAL}{develop}"), format!("{REMOTE}{develop}")];
    let Some(target) = names.into_iter().find(|name| refs.contains_key(name)) else { return Ok(Some(refs)) };
    let tip = refs[&target].commit.clone();
    let merged = format!("--merged={target}");
    let printed = git.text(&["for-each-ref", "--format=%(refname)", &merged, "--", LOCAL, REMOTE])?;
    for name in printed.lines() {
        if let Some(found) = refs.get_mut(name) {
            found.merged = found.commit != tip;
        }
    }
    Ok(Some(refs))
}
