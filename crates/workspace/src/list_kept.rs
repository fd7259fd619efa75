//! `mcpkg workspace kept`: lists the old branches and removed worktrees that can be restored.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::keep::{self, KeptRef};
use super::manifest::Repo;
use super::parallel;
use super::root::Workspace;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::git::{self, Git};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use mcpkg_store::flow_runs;

/// List old branches and removed worktrees that can be restored
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListKept {}

impl Operation for ListKept {
    const TOOL: &'static str = "list_workspace_kept";
    const CLI: &'static [&'static str] = &["workspace", "kept"];
    const TITLE: &'static str = "List kept branches and worktrees";
    const ABOUT: &'static str = "List the old branches and removed worktrees that mcpkg keeps";
    const HELP: &'static str = "mcpkg stores kept branches and worktrees as refs below refs/mcpkg/kept/ in each \
        repository, so that git never deletes their commits. Use `mcpkg workspace prune` to delete old entries.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workspace kept"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = super::SHAPE;
    const GROUP: &'static str = super::GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("kept");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let kept = all(context, &workspace)?;
        let mut rows = Vec::new();
        let mut cells = Vec::new();
        for (repo, kept) in &kept {
            let operation = context.store.read(|db| flow_runs::get(db, kept.run))?.map(|run| run.operation);
            cells.push(vec![
                rfc3339(kept.at()),
                operation.clone().unwrap_or_default(),
                repo.name.clone(),
                kept.what.clone(),
            ]);
            rows.push(data(repo, kept, operation));
        }
        let table = Table {
            columns: &["WHEN", "OPERATION", "REPO", "WHAT"],
            rows: cells,
            empty: "Nothing is kept in this workspace".to_owned(),
        };
        Ok(Reply::new(Body::Table(table), json!({ "kept": rows })))
    }
}

fn data(repo: &Repo, kept: &KeptRef, operation: Option<String>) -> Value {
    json!({
        "run": kept.run.to_string(),
        "operation": operation,
        "repo_name": repo.name,
        "ref": kept.name,
        "id": kept.id,
        "kept_at": rfc3339(kept.at()),
    })
}

/// Returns the kept refs of all repositories, oldest first. Skips missing repositories.
pub fn all<'w>(context: &Context, workspace: &'w Workspace) -> Result<Vec<(&'w Repo, KeptRef)>> {
    let repos: Vec<&'w Repo> = workspace.manifest.repos.iter().collect();
    let of_repos = parallel::all(&repos, |repo| {
        let folder = workspace.folder(repo)?;
        match git::folder(&folder) {
            Some(_) => keep::list(&Git::of(&folder, &context.cancelled)),
            None => Ok(Vec::new()),
        }
    })?;
    let rows = repos.into_iter().zip(of_repos);
    let mut all: Vec<_> = rows.flat_map(|(repo, kept)| kept.into_iter().map(move |kept| (repo, kept))).collect();
    all.sort_by_key(|(_, kept)| kept.run);
    Ok(all)
}
