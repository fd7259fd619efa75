//! Builds the reply of a flow: one row per repository with its ref moves and, for a dry run, the steps that would be
//! done.

use serde_json::{Value, json};

use crate::journal::Plan;
use crate::keep;
use crate::step::{Step, short};
use mcpkg_core::op::{Body, Reply, Table};

/// The result in one repository.
pub struct Row {
    pub repo: String,
    /// One word for people and programs, such as `merged`.
    pub state: &'static str,
    /// One sentence for people.
    pub message: String,
    /// The path of a linked work tree that was created.
    pub worktree: Option<String>,
}

/// Parts of the reply that do not belong to one repository.
#[derive(Default)]
pub struct More {
    /// The new tag.
    pub tag: Option<String>,
    /// The changelog section by repository, as Markdown.
    pub changelog: Option<Value>,
    pub warnings: Vec<String>,
}

pub fn reply(branch: &str, rows: &[Row], plan: &Plan, dry_run: bool, more: More) -> Reply {
    let repos: Vec<Value> = rows
        .iter()
        .map(|row| {
            let mut value = json!({
                "repo_name": row.repo,
                "success": true,
                "message": row.message,
                "state": row.state,
                "moves": moves(plan, &row.repo),
            });
            if let Some(worktree) = &row.worktree {
                value["worktree"] = worktree.as_str().into();
            }
            value
        })
        .collect();
    let mut data = json!({ "operation": plan.operation, "branch_name": branch, "repos": repos });
    if dry_run {
        data["dry_run"] = true.into();
        let steps: Vec<String> = plan.land.iter().chain(&plan.tidy).map(Step::shown).collect();
        data["steps"] = json!(steps);
    } else if !plan.land.is_empty() || !plan.tidy.is_empty() {
        data["run"] = plan.uuid.to_string().into();
    }
    if let Some(tag) = &more.tag {
        data["tag"] = tag.as_str().into();
    }
    if let Some(changelog) = &more.changelog {
        data["changelog"] = changelog.clone();
    }
    if !more.warnings.is_empty() {
        data["warnings"] = json!(more.warnings);
    }
    let table = Table {
        columns: &["REPO", "STATE", "MESSAGE"],
        rows: rows.iter().map(|row| vec![row.repo.clone(), row.state.to_owned(), row.message.clone()]).collect(),
        empty: "nothing to do in any repository".to_owned(),
    };
    let mut bodies = vec![Body::Table(table)];
    if dry_run {
        let steps: String = plan.land.iter().chain(&plan.tidy).map(|step| format!("{}\n", step.shown())).collect();
        bodies.push(Body::Text(steps));
    }
    let reply = Reply::new(Body::Several(bodies), data).warn(more.warnings);
    if dry_run { reply.hint("nothing was changed; run the same command without --dry-run to do it") } else { reply }
}

/// Returns the ref moves of a repository as JSON, without the refs that only keep old commits.
fn moves(plan: &Plan, repo: &str) -> Vec<Value> {
    let of = |step: &Step| match step {
        Step::Ref { repo: of, name, old, new, .. } if of == repo && !keep::keeps(name) => {
            Some(json!({ "ref": name, "from": old, "to": new }))
        }
        Step::Forward { repo: of, branch, old, new, .. } | Step::Back { repo: of, branch, old, new, .. }
            if of == repo =>
        {
            Some(json!({ "ref": format!("refs/heads/{branch}"), "from": old, "to": new }))
        }
        _ => None,
    };
    plan.land.iter().chain(&plan.tidy).filter_map(of).collect()
}

/// Returns a step that creates a ref to `commit`, so that git keeps the commit when the run moves or deletes a branch
/// or tag. `name` is the full name of that branch or tag.
pub fn keep(repo: &str, folder: &str, run: uuid::Uuid, name: &str, commit: &str) -> Step {
    Step::Ref {
        repo: repo.to_owned(),
        folder: folder.to_owned(),
        name: keep::tip(run, name),
        old: None,
        new: Some(commit.to_owned()),
    }
}

/// Shortens a commit id for people.
pub fn at(commit: &str) -> String {
    short(commit)
}
