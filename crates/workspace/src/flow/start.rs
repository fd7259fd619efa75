//! Starts a feature, release or hotfix: creates its branch in the chosen repositories, and checks it out there or in
//! new worktrees.

use super::kind::Kind;
use super::look::Seen;
use super::rows::{self, More, Row};
use super::version;
use crate::journal::{self, Plan};
use crate::keep;
use crate::lock::Lock;
use crate::parallel;
use crate::root::Workspace;
use crate::step::{Head, Step, relative};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::refs as git_refs;
use mcpkg_core::op::{Context, Reply};

pub struct Start<'a> {
    pub kind: Kind,
    /// The name without the branch prefix.
    pub name: &'a str,
    /// The repositories to use; empty means all.
    pub repos: &'a [String],
    /// Whether to check the branch out in new worktrees.
    pub worktree: bool,
    /// Whether to show the plan without carrying it out.
    pub dry_run: bool,
}

impl Start<'_> {
    /// Creates the branch in all chosen repositories, or in none. Fails with `E_BRANCH_IN_USE` if the branch or its
    /// worktree already exists, or if its name conflicts with another branch.
    pub fn run(&self, context: &Context) -> Result<Reply> {
        mcpkg_base::git::required(&mcpkg_base::process::Limits::new(mcpkg_base::git::LOCAL, &context.cancelled))?;
        let workspace = Workspace::open(context)?;
        let branch = self.kind.branch(&workspace.manifest.flow, self.name)?;
        if self.dry_run {
            let (plan, rows, more) = self.plan(context, &workspace, &branch)?;
            return Ok(rows::reply(&branch, &rows, &plan, true, more));
        }
        let what = format!("{} start {}", self.kind.word(), self.name);
        let lock = Lock::take(context, &workspace.root, &what)?;
        let (plan, rows, more) = self.plan(context, &workspace, &branch)?;
        let mut more = more;
        more.warnings.extend(journal::carry_out(context, &workspace.root, &lock, &plan)?);
        let reply = rows::reply(&branch, &rows, &plan, false, more);
        Ok(reply.hint(format!("`mcpkg flow {} finish {}` merges it", self.kind.word(), self.name)))
    }

    fn plan(&self, context: &Context, workspace: &Workspace, branch: &str) -> Result<(Plan, Vec<Row>, More)> {
        let repos = workspace.at_least_one(self.repos)?;
        let seen = parallel::all(&repos, |repo| Seen::look(workspace, repo, &context.cancelled))?;
        let flow = &workspace.manifest.flow;
        if let (true, Ok(version)) = (self.kind.is_released(), version::read(self.name)) {
            version::refuse_taken(&seen.iter().collect::<Vec<_>>(), &format!("{}{version}", flow.tag_prefix))?;
        }
        let full = format!("refs/heads/{branch}");
        let (mut refs, mut places, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let (uuid, mut warnings) = (context.clock.uuid(), self.warnings(&seen, &flow.tag_prefix));
        for seen in &seen {
            let repo = &seen.repo.name;
            self.refuse_taken(seen, branch)?;
            git_refs::refuse_same_but_case(&seen.git(&context.cancelled), repo, &seen.refs, branch)?;
            let base = self.kind.base(flow, seen.repo);
            let at = seen.base(base)?.id.clone();
            let folder = relative(&workspace.root, &seen.folder);
            refs.push(Step::Ref {
                repo: repo.clone(),
                folder: folder.clone(),
                name: full.clone(),
                old: None,
                new: Some(at.clone()),
            });
            let mut row = Row {
                repo: repo.clone(),
                state: "started",
                message: format!("{branch} starts at {base} ({})", rows::at(&at)),
                worktree: None,
            };
            if self.worktree {
                let path = workspace.worktree(self.name, seen.repo);
                let place = workspace.below(&path)?;
                if place.exists() {
                    return Err(Error::new(Code::BranchInUse, format!("{repo}: `{path}` already exists"))
                        .with_details(serde_json::json!({ "repo": repo, "path": path }))
                        .hint("remove the existing file or folder, or choose another name for the feature"));
                }
                row.worktree = Some(place.display().to_string());
                places.push(Step::AddWorktree { repo: repo.clone(), folder, path, branch: branch.to_owned() });
            } else {
                let Some(from) = seen.head.clone() else { continue };
                if let Head::Detached(commit) = &from
                    && git_refs::is_lost(&seen.git(&context.cancelled), commit)?
                {
                    let name = keep::tip(uuid, &format!("refs/detached/{}", rows::at(commit)));
                    warnings.push(format!(
                        "{repo}: commit {} was not on any branch, so it was kept as {name}",
                        rows::at(commit)
                    ));
                    let (repo, folder, new) = (repo.clone(), folder.clone(), Some(commit.clone()));
                    refs.push(Step::Ref { repo, folder, name, old: None, new });
                }
                places.push(Step::Switch { repo: repo.clone(), folder, from, to: Head::Branch(branch.to_owned()) });
            }
            rows.push(row);
        }
        let more = More { warnings, ..More::default() };
        let plan = Plan {
            workspace: workspace.manifest.name.clone(),
            operation: match self.kind {
                Kind::Feature => "feature start",
                Kind::Release => "release start",
                Kind::Hotfix => "hotfix start",
            },
            subject: branch.to_owned(),
            uuid,
            land: refs.into_iter().chain(places).collect(),
            tidy: Vec::new(),
            becomes: Vec::new(),
        };
        Ok((plan, rows, more))
    }

    fn refuse_taken(&self, seen: &Seen<'_>, branch: &str) -> Result<()> {
        let repo = &seen.repo.name;
        let taken = seen.branch(branch).map(|found| &found.name);
        let remote = format!("refs/remotes/origin/{branch}");
        let Some(taken) = taken.or_else(|| seen.find(&remote).map(|found| &found.name)) else {
            // git stores branches as files, so `a` and `a/b` cannot both exist.
            let below = |name: &str| {
                name.strip_prefix("refs/heads/").is_some_and(|other| {
                    other.starts_with(&format!("{branch}/")) || branch.starts_with(&format!("{other}/"))
                })
            };
            return match seen.refs.iter().find(|found| below(&found.name)) {
                Some(other) => Err(Error::new(
                    Code::BranchInUse,
                    format!(
                        "{repo}: cannot create `{branch}`: its name conflicts with the branch `{}`",
                        other.short("refs/heads/")
                    ),
                )
                .with_details(serde_json::json!({ "repo": repo, "branch": branch }))
                .hint("choose another name")),
                None => Ok(()),
            };
        };
        let kind = self.kind.word();
        Err(Error::new(Code::BranchInUse, format!("{repo}: the branch `{branch}` already exists"))
            .with_details(serde_json::json!({ "repo": repo, "branch": branch, "ref": taken }))
            .hint(if self.kind == Kind::Feature && taken.starts_with("refs/remotes/") {
                format!("`mcpkg worktree add {}` checks out origin's branch", self.name)
            } else {
                format!("finish that {kind} with `mcpkg flow {kind} finish {}`, or choose another name", self.name)
            }))
    }

    /// Warns if a release's version is lower than the last tagged version.
    fn warnings(&self, seen: &[Seen<'_>], prefix: &str) -> Vec<String> {
        let Kind::Release = self.kind else { return Vec::new() };
        let Ok(version) = version::read(self.name) else { return Vec::new() };
        let last = |seen: &Seen<'_>| {
            let (last, _) = version::tagged(&seen.refs, prefix).pop()?;
            let below = version < last;
            below.then(|| format!("{}: {version} is not higher than the last version, {last}", seen.repo.name))
        };
        seen.iter().filter_map(last).collect()
    }
}
