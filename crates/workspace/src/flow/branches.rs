//! Lists the branches of all repositories, for `flow KIND list` and `smctl://flow/branches`.

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::kind::Kind;
use crate::manifest::{Flow, Repo};
use crate::parallel;
use crate::root::Workspace;
use mcpkg_base::error::Result;
use mcpkg_base::git::{Git, refs};

pub struct Branch {
    pub repo: String,
    /// The branch name without `refs/heads/`.
    pub name: String,
    /// The branch's role: Main, Develop, Feature, Release, Hotfix or Other. Contract 003 (smctl) requires these words.
    pub kind: &'static str,
    pub head: String,
    /// Whether develop (main for a hotfix) contains all commits of the branch; `None` for develop and main themselves.
    pub merged: Option<bool>,
    /// The linked work tree that has the branch checked out, if any.
    pub worktree: Option<String>,
}

/// Returns all local branches of all repositories, in the manifest's order. Skips repositories that cannot be read.
pub fn all(workspace: &Workspace, cancelled: &CancellationToken) -> Vec<Branch> {
    let repos: Vec<&Repo> = workspace.manifest.repos.iter().collect();
    let found = parallel::each(&repos, |_, repo| of(workspace, repo, cancelled));
    found.into_iter().filter_map(Result::ok).flatten().collect()
}

/// Returns the branches in the format of the resource in contract 003 (smctl): `{features, releases, hotfixes, base}`.
pub fn value(branches: &[Branch]) -> Value {
    let rows = |kinds: &[&str]| -> Vec<Value> {
        let of = branches.iter().filter(|branch| kinds.contains(&branch.kind));
        of.map(Branch::value).collect()
    };
    json!({
        "features": rows(&["Feature"]),
        "releases": rows(&["Release"]),
        "hotfixes": rows(&["Hotfix"]),
        "base": rows(&["Main", "Develop"]),
    })
}

impl Branch {
    /// Returns the branch as JSON.
    pub fn value(&self) -> Value {
        let mut value = Map::new();
        value.insert("repo_name".to_owned(), self.repo.as_str().into());
        value.insert("branch".to_owned(), self.name.as_str().into());
        value.insert("branch_type".to_owned(), self.kind.into());
        value.insert("head".to_owned(), self.head.as_str().into());
        value.insert("merged".to_owned(), self.merged.into());
        value.insert("worktree".to_owned(), self.worktree.as_deref().map_or(Value::Null, Value::from));
        Value::Object(value)
    }
}

fn of(workspace: &Workspace, repo: &Repo, cancelled: &CancellationToken) -> Result<Vec<Branch>> {
    let folder = workspace.folder(repo)?;
    let git = Git::of(&folder, cancelled);
    let flow = &workspace.manifest.flow;
    let heads = refs::list(&git, &["refs/heads/"])?;
    let merged_into = |target: &str| -> Result<Vec<String>> {
        let full = format!("refs/heads/{target}");
        if !heads.iter().any(|head| head.name == full) {
            return Ok(Vec::new());
        }
        let printed = git.run(&["for-each-ref", "--format=%(refname)", &format!("--merged={full}"), "refs/heads/"])?;
        Ok(String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect())
    };
    let (in_develop, in_main) = (merged_into(&flow.develop_branch)?, merged_into(&repo.default_branch)?);
    let real = |path: &std::path::Path| mcpkg_base::platform::real(path).unwrap_or_else(|_| path.to_owned());
    let own = real(&folder);
    Ok(heads
        .iter()
        .map(|head| {
            let name = head.short("refs/heads/");
            let kind = kind(flow, repo, name);
            let merged = if kind == "Hotfix" { &in_main } else { &in_develop };
            let worktree = head.worktree.as_deref().map(real).filter(|place| *place != own);
            Branch {
                repo: repo.name.clone(),
                name: name.to_owned(),
                kind,
                head: head.id.clone(),
                merged: (!matches!(kind, "Main" | "Develop")).then(|| merged.contains(&head.name)),
                worktree: worktree.map(|place| place.display().to_string()),
            }
        })
        .collect())
}

/// Returns the branch's role in the flow.
fn kind(flow: &Flow, repo: &Repo, name: &str) -> &'static str {
    if name == repo.default_branch {
        return "Main";
    }
    if name == flow.develop_branch {
        return "Develop";
    }
    let found = Kind::ALL.into_iter().find(|kind| {
        let prefix = kind.prefix(flow);
        !prefix.is_empty() && name.starts_with(prefix)
    });
    found.map_or("Other", Kind::title)
}
