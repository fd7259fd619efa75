//! Finds the existing sets of worktrees, based on what git has registered, and formats the reply to a dry run.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::manifest::Repo;
use crate::parallel;
use crate::root::Workspace;
use crate::step::Step;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::status::{self, Extra, State, Status};
use mcpkg_base::git::worktrees::{self, Worktree};
use mcpkg_base::git::{self, Git, Operation as InProgress};
use mcpkg_core::op::{Body, Context, Reply, Table};

#[derive(Clone, Debug)]
pub struct Member<'w> {
    pub set: String,
    pub repo: &'w Repo,
    pub worktree: Worktree,
    /// The state of the worktree's files; `None` if its folder is missing.
    pub status: Option<Status>,
    /// The git operation in progress, such as a merge.
    pub operation: Option<InProgress>,
}

impl Member<'_> {
    /// Returns the branch without `refs/heads/`, or `detached`.
    pub fn branch(&self) -> &str {
        let branch = self.worktree.branch.as_deref().unwrap_or("detached");
        branch.strip_prefix("refs/heads/").unwrap_or(branch)
    }

    /// Counts the tracked files with changes, including conflicts.
    fn modified(&self) -> usize {
        self.status.as_ref().map_or(0, |status| status.count(State::Changed) + status.count(State::Conflicted))
    }

    /// Returns the worktree as JSON for tools.
    pub fn data(&self) -> Value {
        row(&self.repo.name, self.branch(), &self.worktree.path, self.status.as_ref(), self.modified())
    }
}

/// Returns a new worktree as JSON for tools.
pub fn made(repo: &Repo, branch: &str, path: &Path) -> Value {
    row(&repo.name, branch, path, Some(&Status::default()), 0)
}

fn row(repo: &str, branch: &str, path: &Path, status: Option<&Status>, modified: usize) -> Value {
    json!({
        "repo_name": repo,
        "branch": branch,
        "path": path.display().to_string(),
        "exists": status.is_some(),
        "clean": status.map(Status::is_clean),
        "modified_files": modified,
    })
}

/// Returns the folder of a set.
///
/// # Errors
/// `E_IO_INVALID_PATH` if a link leads out of the workspace.
pub fn folder(workspace: &Workspace, set: &str) -> Result<PathBuf> {
    workspace.below(&format!("{}/{set}", workspace.manifest.worktree.base_dir.trim_end_matches('/')))
}

/// Returns the folder of a repository's worktree in a set.
pub fn place(workspace: &Workspace, set: &str, repo: &Repo) -> Result<PathBuf> {
    workspace.below(&workspace.worktree(set, repo))
}

/// Returns the worktrees of all sets without their status, sorted by set and then in the manifest's order. Skips
/// repositories that git cannot read.
pub fn registered<'w>(context: &Context, workspace: &'w Workspace) -> Result<Vec<Member<'w>>> {
    let base = workspace.below(&workspace.manifest.worktree.base_dir)?;
    // git resolves links before it records a path.
    let base = mcpkg_base::platform::real(&base).unwrap_or(base);
    let repos: Vec<&'w Repo> = workspace.manifest.repos.iter().collect();
    let of_repos = parallel::each(&repos, |_, repo: &&'w Repo| {
        let repo = *repo;
        let Ok(folder) = workspace.folder(repo) else { return Ok(Vec::new()) };
        if git::folder(&folder).is_none() {
            return Ok(Vec::new());
        }
        match worktrees::list(&Git::of(&folder, &context.cancelled)) {
            Err(error) if matches!(error.code(), Code::GitNotFound | Code::Cancelled) => Err(error),
            Err(error) => {
                tracing::warn!(repo = repo.name, %error, "cannot list its worktrees");
                Ok(Vec::new())
            }
            Ok(worktrees) => Ok(worktrees.into_iter().filter_map(|worktree| member(&base, repo, worktree)).collect()),
        }
    });
    let mut members: Vec<Member<'w>> =
        of_repos.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    // A stable sort keeps the order of repositories within a set.
    members.sort_by(|a, b| a.set.cmp(&b.set));
    Ok(members)
}

fn member<'w>(base: &Path, repo: &'w Repo, worktree: Worktree) -> Option<Member<'w>> {
    let below = worktree.path.strip_prefix(base).ok()?;
    let set = below.components().next()?.as_os_str().to_str()?.to_owned();
    Some(Member { set, repo, worktree, status: None, operation: None })
}

/// Reads the status of each worktree.
pub fn look(context: &Context, members: &mut [Member<'_>], extra: Extra) -> Result<()> {
    let looked = parallel::each(members, |_, member| {
        let Some(own) = git::own_folder(&member.worktree.path) else { return Ok((None, None)) };
        let status = status::read(&Git::of(&member.worktree.path, &context.cancelled), extra)?;
        Ok((Some(status), git::operation(&own)))
    });
    for (member, looked) in members.iter_mut().zip(looked) {
        (member.status, member.operation) = looked?;
    }
    Ok(())
}

/// Returns the worktrees of one set, without their status.
///
/// # Errors
/// `E_NOT_FOUND` with the closest name.
pub fn of<'w>(context: &Context, workspace: &'w Workspace, set: &str) -> Result<Vec<Member<'w>>> {
    let all = registered(context, workspace)?;
    let known: Vec<String> = all.iter().map(|member| member.set.clone()).collect();
    let members: Vec<Member<'w>> = all.into_iter().filter(|member| member.set == set).collect();
    if members.is_empty() {
        return Err(Error::new(Code::NotFound, format!("There is no worktree set '{}'", set.escape_debug()))
            .with_details(json!({ "name": set, "suggestion": "Run smctl_worktree_add first" }))
            .suggest(set, known.iter().map(String::as_str), "`mcpkg worktree list` lists the worktree sets"));
    }
    Ok(members)
}

/// Returns the reply to `--dry-run`: the command's `data`, and one line per step.
pub fn dry_run<'s>(sentence: &str, steps: impl IntoIterator<Item = &'s Step>, mut data: Value) -> Reply {
    let steps: Vec<String> = steps.into_iter().map(Step::shown).collect();
    data["dry_run"] = true.into();
    data["steps"] = json!(steps);
    let rows = steps.into_iter().map(|step| vec![step]).collect();
    let table = Table { columns: &["STEP"], rows, empty: "Nothing to do".to_owned() };
    Reply::new(Body::Several(vec![Body::Sentence(sentence.to_owned()), Body::Table(table)]), data)
}
