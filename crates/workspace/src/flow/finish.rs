//! Finishes a feature, release or hotfix in all repositories, or in none.
//!
//! Planning changes nothing: it creates merges only as git objects, and finds every conflict in every repository. Then
//! mcpkg locks, compares and moves all refs. Finally, it removes the branch and its work trees, except with
//! `--no-delete`.

use std::path::PathBuf;

use semver::Version;
use serde_json::{Value, json};

use super::finish_repo::{Options, Part};
use super::kind::Kind;
use super::look::Seen;
use super::rows::{self, More, Row};
use super::{push, version};
use crate::carry;
use crate::journal::{self, Plan};
use crate::lock::Lock;
use crate::manifest::Repo;
use crate::parallel;
use crate::root::Workspace;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{Git, hooks, refs};
use mcpkg_core::op::{Context, Reply};
use mcpkg_store::flow_runs;

pub struct Finish<'a> {
    pub kind: Kind,
    /// The name without the branch prefix.
    pub name: &'a str,
    /// Whether the branch's commits become a single commit.
    pub squash: bool,
    /// Whether the branch and its worktrees are kept.
    pub no_delete: bool,
    /// Whether git's merge hooks run.
    pub hooks: bool,
    /// Whether the moved branches and tags are pushed.
    pub push: bool,
    /// Whether to show the plan without carrying it out.
    pub dry_run: bool,
}

impl Finish<'_> {
    /// Finishes the branch in all repositories that have it, or in none. If merges conflict, a single `E_FLOW_CONFLICT`
    /// lists every conflict in every repository.
    pub fn run(&self, context: &Context) -> Result<Reply> {
        mcpkg_base::git::required(&mcpkg_base::process::Limits::new(mcpkg_base::git::LOCAL, &context.cancelled))?;
        let workspace = Workspace::open(context)?;
        let branch = self.kind.branch(&workspace.manifest.flow, self.name)?;
        if self.dry_run {
            let (plan, rows, more) = self.plan(context, &workspace, &branch)?;
            return Ok(rows::reply(&branch, &rows, &plan, true, more));
        }
        let what = format!("{} finish {}", self.kind.word(), self.name);
        if self.push {
            push::confirm_before(context, &workspace, &what)?;
        }
        let lock = Lock::take(context, &workspace.root, &what)?;
        let before = if self.hooks { heads(&workspace, context) } else { Vec::new() };
        let done = self.plan(context, &workspace, &branch).and_then(|(plan, rows, mut more)| {
            more.warnings.extend(journal::carry_out(context, &workspace.root, &lock, &plan)?);
            Ok((plan, rows, more))
        });
        // Clear the folder where the ignored files of removed worktrees were collected.
        let left = carry::clear(&workspace.root.join(carry::TEMPORARY));
        let (plan, rows, mut more) = done?;
        more.warnings.extend(left);
        let merged = |repo: &str| rows.iter().any(|row| row.repo == repo && row.state == "merged");
        for (repo, folder, head) in before.iter().filter(|(repo, ..)| merged(repo)) {
            let git = Git::of(folder, &context.cancelled);
            let now = refs::commit(&git, "HEAD")?;
            let ran = hooks::after(&git, head.as_deref(), now.as_deref());
            more.warnings.extend(ran.err().map(|error| format!("{repo}: a hook failed: {}", error.message())));
        }
        let reply = rows::reply(&branch, &rows, &plan, false, more);
        match self.push {
            true => push::after(context, &workspace, plan.uuid, reply),
            false => Ok(reply.hint("`mcpkg flow undo` undoes it")),
        }
    }

    fn plan(&self, context: &Context, workspace: &Workspace, branch: &str) -> Result<(Plan, Vec<Row>, More)> {
        let flow = &workspace.manifest.flow;
        let all = workspace.at_least_one(&[])?;
        let seen = parallel::all(&all, |repo| Seen::look(workspace, repo, &context.cancelled))?;
        let having: Vec<&Seen<'_>> = seen.iter().filter(|seen| seen.branch(branch).is_some()).collect();
        if having.is_empty() {
            return Err(self.nowhere(context, workspace, branch));
        }
        let released = self.kind.is_released().then(|| self.version(&having, &flow.tag_prefix)).transpose()?;
        let tag = released.as_ref().map(|version| format!("{}{version}", flow.tag_prefix));
        if let Some(tag) = &tag {
            version::refuse_taken(&having, tag)?;
        }
        let uuid = context.clock.uuid();
        let heading = released.as_ref().map(|version| heading(version, context.clock.now()));
        let release = tag.as_deref().zip(heading.as_deref());
        let options = Options {
            workspace,
            branch,
            name: self.name,
            release,
            squash: self.squash,
            no_delete: self.no_delete,
            hooks: self.hooks,
            dry_run: self.dry_run,
            run: uuid,
            cancelled: &context.cancelled,
        };
        let parts = parallel::all(&having, |seen| options.plan(seen))?;
        refuse_conflicts(branch, &having, &parts)?;
        let skipped = seen.iter().filter(|seen| seen.branch(branch).is_none()).map(|seen| Row {
            repo: seen.repo.name.clone(),
            state: "skipped",
            message: format!("it has no branch {branch}"),
            worktree: None,
        });
        let mut plan = Plan {
            workspace: workspace.manifest.name.clone(),
            operation: match self.kind {
                Kind::Feature => "feature finish",
                Kind::Release => "release finish",
                Kind::Hotfix => "hotfix finish",
            },
            subject: branch.to_owned(),
            uuid,
            land: Vec::new(),
            tidy: Vec::new(),
            becomes: Vec::new(),
        };
        let mut more = More { tag, ..More::default() };
        let (mut rows, mut sections) = (Vec::new(), serde_json::Map::new());
        let (mut forwards, mut deletes, mut forgets) = (Vec::new(), Vec::new(), Vec::new());
        for (seen, part) in having.iter().zip(parts) {
            plan.land.extend(part.refs);
            forwards.extend(part.forwards);
            plan.tidy.extend(part.leaves);
            deletes.extend(part.deletes);
            forgets.extend(part.forgets);
            rows.extend(part.row);
            more.warnings.extend(part.warnings);
            if let Some(section) = part.changelog {
                sections.insert(seen.repo.name.clone(), section.into());
            }
        }
        plan.land.extend(forwards);
        plan.tidy.extend(deletes.into_iter().chain(forgets));
        if self.kind == Kind::Hotfix {
            more.warnings.extend(seen.iter().flat_map(|seen| open_releases(seen, &flow.release_prefix)));
        }
        more.changelog = (!sections.is_empty()).then_some(Value::Object(sections));
        Ok((plan, rows.into_iter().chain(skipped).collect(), more))
    }

    /// Returns the error for a branch that no repository has. If an earlier run finished the branch, the error names
    /// that run.
    fn nowhere(&self, context: &Context, workspace: &Workspace, branch: &str) -> Error {
        let operation = format!("{} finish", self.kind.word());
        let run = context.store.read(|db| match journal::known(db, &workspace.root)? {
            Some(key) => flow_runs::newest_of(db, key, &operation, branch),
            None => Ok(None),
        });
        let first = workspace.manifest.repos.first().map_or("", |repo| repo.name.as_str());
        let word = self.kind.title();
        let error = match run {
            Ok(Some(run)) => Error::new(
                Code::BranchNotFound,
                format!("{word} branch '{}' was already finished by run {}", self.name, run.uuid),
            ),
            _ => Error::new(
                Code::BranchNotFound,
                format!("{word} branch '{}' does not exist in repo {first}", self.name),
            ),
        };
        let kind = self.kind.word();
        error
            .with_details(json!({
                "repo": first,
                "branch": branch,
                "suggestion": format!("Run smctl_flow_{kind}_start first"),
            }))
            .hint(format!("`mcpkg flow {kind} list` lists the open branches"))
    }

    fn version(&self, having: &[&Seen<'_>], prefix: &str) -> Result<Version> {
        if self.kind == Kind::Release {
            return version::read(self.name);
        }
        let highest =
            having.iter().filter_map(|seen| version::tagged(&seen.refs, prefix).pop().map(|(last, _)| last)).max();
        Ok(version::of_hotfix(self.name, highest.as_ref()))
    }
}

/// Returns each repository with its folder and its current commit.
fn heads(workspace: &Workspace, context: &Context) -> Vec<(String, PathBuf, Option<String>)> {
    let of = |repo: &Repo| {
        let folder = workspace.folder(repo).ok()?;
        let head = refs::commit(&Git::of(&folder, &context.cancelled), "HEAD").ok()?;
        Some((repo.name.clone(), folder, head))
    };
    workspace.manifest.repos.iter().filter_map(of).collect()
}

/// Fails if there are conflicts. The error lists the conflicts of all repositories.
fn refuse_conflicts(branch: &str, having: &[&Seen<'_>], parts: &[Part]) -> Result<()> {
    let (mut conflicts, mut lines) = (Vec::new(), Vec::new());
    for (seen, part) in having.iter().zip(parts) {
        for (target, paths) in &part.conflicts {
            let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            lines.push(format!(
                "{} (into {target}): {}",
                seen.repo.name,
                paths.iter().take(10).cloned().collect::<Vec<_>>().join(", ")
            ));
            conflicts.push(json!({ "repo": seen.repo.name, "target": target, "paths": paths }));
        }
    }
    let Some(first) = conflicts.first() else { return Ok(()) };
    let (repo, target) = (first["repo"].clone(), first["target"].as_str().unwrap_or_default());
    let hint = format!(
        "in that repository, on {branch}, run `git merge {target}`, resolve the conflicts, commit, and finish again"
    );
    Err(Error::new(
        Code::FlowConflict,
        format!("{branch} has merge conflicts; nothing was changed: {}", lines.join("; ")),
    )
    .with_details(json!({ "repo": repo, "branch": branch, "conflicts": conflicts }))
    .hint(hint))
}

/// Warns about each open release, because the hotfix is not merged into it.
fn open_releases(seen: &Seen<'_>, prefix: &str) -> Vec<String> {
    let start = format!("refs/heads/{prefix}");
    let open = seen.refs.iter().filter(|found| found.name.starts_with(&start));
    open.map(|found| format!("{}: {} is open and lacks the hotfix", seen.repo.name, found.short("refs/heads/")))
        .collect()
}

/// Returns the heading of a changelog section: `1.2.0 - 2026-05-01`.
fn heading(version: &Version, now: mcpkg_base::clock::Millis) -> String {
    let day = mcpkg_base::clock::rfc3339(now);
    format!("{version} - {}", day.get(..10).unwrap_or(&day))
}
