//! What a flow answers: a row for each repository, and the steps that were, or would be, done.

use serde_json::{Value, json};

use crate::journal::Plan;
use crate::keep;
use crate::step::{Step, short};
use mcpkg_core::op::{Body, Reply, Table};

/// What became of a repository.
pub struct Row {
    pub repo: String,
    /// One word for it, such as `merged`.
    pub state: &'static str,
    /// One sentence for people.
    pub message: String,
    /// Where a linked work tree was made.
    pub worktree: Option<String>,
}

/// What a flow answers besides its rows.
#[derive(Default)]
pub struct More {
    /// The tag that was made.
    pub tag: Option<String>,
    /// What changed, as Markdown, by repository.
    pub changelog: Option<Value>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// Returns the answer of a flow.
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

/// The refs of a repository that move, for programs; those that only keep old commits are left out.
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

/// Returns the step that keeps the commit of a branch or tag, by its full name, for a run.
pub fn keep(repo: &str, folder: &str, run: uuid::Uuid, name: &str, commit: &str) -> Step {
    Step::Ref {
        repo: repo.to_owned(),
        folder: folder.to_owned(),
        name: keep::tip(run, name),
        old: None,
        new: Some(commit.to_owned()),
    }
}

/// A commit for people.
pub fn at(commit: &str) -> String {
    short(commit)
}
