//! `mcpkg worktree restore`: restores a removed set with its uncommitted changes.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::set;
use crate::completions::REMOVED;
use crate::journal::{self, Plan};
use crate::keep::{self, KeptRef};
use crate::lock::Lock;
use crate::manifest::Repo;
use crate::parallel;
use crate::root::Workspace;
use crate::step::{Step, relative};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{self, Git, refs, trees};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// Restore a removed set of worktrees
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// Name of the worktree set
    #[arg(add = REMOVED)]
    name: String,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Restore {
    const TOOL: &'static str = "restore_worktree";
    const CLI: &'static [&'static str] = &["worktree", "restore"];
    const TITLE: &'static str = "Restore worktree set";
    const ABOUT: &'static str = "Bring back a removed worktree set, with its uncommitted changes";
    const HELP: &'static str = "If several removed sets had the given name, mcpkg restores the set that was \
        removed last. `mcpkg workspace kept` lists all removed sets. If a branch was deleted together with the \
        set, mcpkg creates that branch again.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg worktree restore login", "mcpkg worktree restore login --dry-run"];
    const EFFECT: Effect = Effect::Create;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = crate::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        journal::put_right(context, &workspace.root, None)?;
        let lock = match self.dry_run {
            true => None,
            false => Some(Lock::take(context, &workspace.root, "worktree restore")?),
        };
        let kept = newest(context, &workspace, &self.name)?;
        let made = parallel::each(&kept, |_, (repo, kept)| remake(context, &workspace, repo, &self.name, kept));
        let made: Vec<Remade> = made.into_iter().collect::<Result<_>>()?;
        let plan = Plan {
            workspace: workspace.manifest.name.clone(),
            operation: "worktree restore",
            subject: self.name.clone(),
            uuid: context.clock.uuid(),
            land: made
                .iter()
                .flat_map(|made| made.refs.clone())
                .chain(made.iter().map(|made| made.step.clone()))
                .collect(),
            tidy: Vec::new(),
            becomes: Vec::new(),
        };
        let worktrees: Vec<Value> = made.iter().map(|made| made.data.clone()).collect();
        let data = json!({ "name": self.name, "worktrees": worktrees, "run": plan.uuid.to_string() });
        let Some(lock) = lock else {
            return Ok(set::dry_run(&format!("Would restore the worktree set '{}'", self.name), &plan.land, data));
        };
        let carried = journal::carry_out(context, &workspace.root, &lock, &plan);
        // Removing the folder fails if another command still has files there, which is fine.
        let _ = std::fs::remove_dir(workspace.root.join(crate::carry::TEMPORARY));
        let warnings = carried?;
        let rows = made.iter().map(|made| {
            let text = |key: &str| made.data[key].as_str().unwrap_or_default().to_owned();
            vec![text("repo_name"), text("branch"), text("path")]
        });
        let table = Table { columns: &["REPO", "BRANCH", "FOLDER"], rows: rows.collect(), empty: String::new() };
        let sentence = Body::Sentence(format!("Restored the worktree set '{}'", self.name));
        Ok(Reply::new(Body::Several(vec![sentence, Body::Table(table)]), data).warn(warnings))
    }
}

struct Remade {
    refs: Vec<Step>,
    step: Step,
    data: Value,
}

/// Returns what the last removal of a set kept in each repository.
fn newest<'w>(context: &Context, workspace: &'w Workspace, set: &str) -> Result<Vec<(&'w Repo, KeptRef)>> {
    let of_repos = parallel::each(&workspace.manifest.repos, |_, repo| {
        let folder = workspace.folder(repo)?;
        if git::folder(&folder).is_none() {
            return Ok(Vec::new());
        }
        keep::list(&Git::of(&folder, &context.cancelled))
    });
    let mut kept = Vec::new();
    for (repo, of_repo) in workspace.manifest.repos.iter().zip(of_repos) {
        kept.extend(of_repo?.into_iter().filter(|kept| kept.is_worktree_of(set)).map(|kept| (repo, kept)));
    }
    let Some(newest) = kept.iter().map(|(_, kept)| kept.run).max() else {
        return Err(Error::new(
            Code::NotFound,
            format!("There is no removed worktree set '{}' to restore", set.escape_debug()),
        )
        .with_details(json!({ "name": set }))
        .hint("list the kept worktrees: `mcpkg workspace kept`"));
    };
    kept.retain(|(_, kept)| kept.run == newest);
    Ok(kept)
}

fn remake(context: &Context, workspace: &Workspace, repo: &Repo, set: &str, kept: &KeptRef) -> Result<Remade> {
    let top = workspace.folder(repo)?;
    let git = Git::of(&top, &context.cancelled);
    let place = set::place(workspace, set, repo)?;
    if place.symlink_metadata().is_ok() {
        let message = format!("{}: `{}` already exists", repo.name, place.display());
        return Err(Error::new(Code::AlreadyExists, message)
            .with_details(json!({ "repo": repo.name, "path": place.display().to_string() }))
            .hint("move the existing file or folder away, or remove the existing set"));
    }
    let head = keep::checked_out(&git, &kept.id)?;
    let name = keep::branch(&git, &kept.id)?;
    let folder = relative(&workspace.root, &top);
    let mut made = Vec::new();
    if let (Some(name), Some(head)) = (&name, &head) {
        match refs::find(&git, name)? {
            None => {
                let (repo, folder, new) = (repo.name.clone(), folder.clone(), Some(head.clone()));
                made.push(Step::Ref { repo, folder, name: name.clone(), old: None, new });
            }
            Some(found) if found.id != *head && has_changes(&git, head, &kept.id)? => {
                return Err(moved(repo, name, kept));
            }
            Some(_) => {}
        }
    }
    let short = name.as_deref().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned());
    let step = Step::RestoreWorktree {
        repo: repo.name.clone(),
        folder,
        path: relative(&workspace.root, &place),
        branch: short.clone().unwrap_or_default(),
        kept: kept.id.clone(),
    };
    let data = json!({
        "repo_name": repo.name,
        "branch": short.as_deref().unwrap_or("detached"),
        "path": place.display().to_string(),
        "ref": kept.name,
    });
    Ok(Remade { refs: made, step, data })
}

/// Returns whether a removed worktree had uncommitted changes.
fn has_changes(git: &Git<'_>, head: &str, kept: &str) -> Result<bool> {
    if !trees::changed(git, head, kept)?.is_empty() {
        return Ok(true);
    }
    match refs::commit(git, &format!("{kept}^2"))? {
        Some(staged) => Ok(!trees::changed(git, head, &staged)?.is_empty()),
        None => Ok(true),
    }
}

/// Returns the error for a branch that has been moved: restoring the old files would revert the commits made since.
fn moved(repo: &Repo, name: &str, kept: &KeptRef) -> Error {
    let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
    Error::new(Code::FlowMoved, format!("{}: {branch} has been moved since the set was removed", repo.name))
        .with_details(json!({ "repo": repo.name, "branch": branch, "ref": kept.name }))
        .hint(format!(
            "bring the files back with `git switch -c NEW {}^1` and `git restore --source={} .`",
            kept.name, kept.name
        ))
}
