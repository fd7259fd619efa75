//! What `smctl://flow/branches` answers: the flow's branches of every repository, with what is merged.

use std::collections::HashSet;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::manifest::{Flow, Repo};
use super::parallel;
use super::root::Workspace;
use crate::error::{Code, Error, Result};
use crate::git::refs::{self, Ref};
use crate::git::{self, Git};
use crate::op::Context;

/// Where branches are, among the refs.
const HEADS: &str = "refs/heads/";

/// A branch as the contract's original writes it.
#[derive(Debug, Serialize)]
struct Branch {
    repo_name: String,
    branch: String,
    branch_type: Kind,
    /// The commit that it leads to.
    head: String,
    /// Whether the branch that it ends in has all of it; null where that branch is missing, and for the base itself.
    merged: Option<bool>,
    /// Where it is checked out: below the root, else whole.
    worktree: Option<String>,
}

/// What a branch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Kind {
    Main,
    Develop,
    Feature,
    Release,
    Hotfix,
}

impl Kind {
    /// Returns what a branch of a repository is for; `None` where it is none of the flow's.
    fn of(branch: &str, flow: &Flow, repo: &Repo) -> Option<Self> {
        let prefixes = [
            (&flow.feature_prefix, Kind::Feature),
            (&flow.release_prefix, Kind::Release),
            (&flow.hotfix_prefix, Kind::Hotfix),
        ];
        if branch == repo.default_branch {
            return Some(Kind::Main);
        }
        if branch == flow.develop_branch {
            return Some(Kind::Develop);
        }
        prefixes.into_iter().find(|(prefix, _)| branch.starts_with(prefix.as_str())).map(|(_, kind)| kind)
    }
}

/// Returns the branches of every repository, and why one could not be looked at.
///
/// # Errors
/// `E_WORKSPACE_NOT_FOUND`, `E_WORKSPACE_INVALID`; `E_GIT_NOT_FOUND`, `E_CANCELLED`.
pub(super) fn read(context: &Context) -> Result<Value> {
    let workspace = Workspace::open(context)?;
    let (mut branches, mut warnings) = (Vec::new(), Vec::new());
    let found = parallel::each(&workspace.manifest.repos, |_, repo| of_repo(context, &workspace, repo));
    for (repo, found) in workspace.manifest.repos.iter().zip(found) {
        match found {
            Ok(found) => branches.extend(found),
            // It is about none of them alone.
            Err(error) if matches!(error.code(), Code::GitNotFound | Code::Cancelled) => return Err(error),
            Err(error) => warnings.push(format!("{}: {}", repo.name, error.message())),
        }
    }
    let of = |kinds: &[Kind]| -> Vec<&Branch> {
        branches.iter().filter(|branch| kinds.contains(&branch.branch_type)).collect()
    };
    let mut answer = json!({
        "features": of(&[Kind::Feature]),
        "releases": of(&[Kind::Release]),
        "hotfixes": of(&[Kind::Hotfix]),
        "base": of(&[Kind::Main, Kind::Develop]),
    });
    if !warnings.is_empty() {
        answer["warnings"] = json!(warnings);
    }
    Ok(answer)
}

fn of_repo(context: &Context, workspace: &Workspace, repo: &Repo) -> Result<Vec<Branch>> {
    let folder = workspace.folder(repo)?;
    if git::folder(&folder).is_none() {
        return Err(Error::new(Code::GitRepoRequired, "it is not there; `mcpkg workspace sync` clones it"));
    }
    let git = Git::of(&folder, &context.cancelled);
    let flow = &workspace.manifest.flow;
    let all = refs::list(&git, &[HEADS])?;
    let kinds: Vec<(&Ref, &str, Kind)> = all
        .iter()
        .filter_map(|found| {
            let branch = found.short(HEADS);
            Kind::of(branch, flow, repo).map(|kind| (found, branch, kind))
        })
        .collect();
    let is_there = |branch: &str| all.iter().any(|found| found.short(HEADS) == branch);
    let into = |branch: &str, ends_here: fn(Kind) -> bool| -> Result<Option<HashSet<String>>> {
        match is_there(branch) && kinds.iter().any(|(_, _, kind)| ends_here(*kind)) {
            true => merged(&git, branch).map(Some),
            false => Ok(None),
        }
    };
    let in_develop = into(&flow.develop_branch, |kind| kind == Kind::Feature)?;
    let in_main = into(&repo.default_branch, |kind| matches!(kind, Kind::Release | Kind::Hotfix))?;
    let branches = kinds.into_iter().map(|(found, branch, kind)| {
        let merged = match kind {
            Kind::Main | Kind::Develop => None,
            Kind::Feature => in_develop.as_ref().map(|merged| merged.contains(&found.name)),
            Kind::Release | Kind::Hotfix => in_main.as_ref().map(|merged| merged.contains(&found.name)),
        };
        Branch {
            repo_name: repo.name.clone(),
            branch: branch.to_owned(),
            branch_type: kind,
            head: found.commit().to_owned(),
            merged,
            worktree: found.worktree.as_deref().map(|place| below(&workspace.root, place)),
        }
    });
    Ok(branches.collect())
}

/// Returns the branches all of whose commits `branch` has, by their full names.
fn merged(git: &Git<'_>, branch: &str) -> Result<HashSet<String>> {
    let into = format!("--merged={HEADS}{branch}");
    let printed = git.text(&["for-each-ref", "--format=%(refname)", &into, "--", HEADS])?;
    Ok(printed.lines().map(str::to_owned).collect())
}

/// Returns a path as seen from the root, where it lies below it.
fn below(root: &Path, place: &Path) -> String {
    let shown = place.strip_prefix(root).unwrap_or(place);
    match shown.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => shown.display().to_string(),
    }
}
