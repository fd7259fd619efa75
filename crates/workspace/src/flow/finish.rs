//! Finishes a feature, release or hotfix in all repositories, or in none.
//!
//! Planning changes nothing: it creates merges only as git objects, and finds every conflict in every repository. Then
//! mcpkg locks, compares and moves all refs, and finally removes the branch and its work trees.

use std::path::{Path, PathBuf};

use semver::Version;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::kind::Kind;
use super::look::{Seen, refuse_changes, refuse_overlap};
use super::rows::{self, More, Row, keep};
use super::{changelog, push, version};
use crate::carry;
use crate::journal::{self, Plan};
use crate::keep;
use crate::lock::Lock;
use crate::manifest::Repo;
use crate::parallel;
use crate::root::Workspace;
use crate::step::{Head, Step, relative};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::refs::{self, Ref};
use mcpkg_base::git::status::{self, Extra};
use mcpkg_base::git::{Git, hooks, snapshot, tags, trees};
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
    /// Whether this only shows the plan.
    pub dry_run: bool,
}

/// The steps for one repository, grouped by when they run across all repositories.
#[derive(Default)]
struct Part {
    /// Moves of refs that no work tree has checked out, and refs that keep old commits.
    refs: Vec<Step>,
    /// Moves of branches together with the work tree that has them checked out.
    forwards: Vec<Step>,
    /// Work trees that switch away from the branch or are removed.
    leaves: Vec<Step>,
    deletes: Vec<Step>,
    /// Removals of the branch's git settings.
    forgets: Vec<Step>,
    /// The target branch and the conflicting paths of each failed merge.
    conflicts: Vec<(String, Vec<PathBuf>)>,
    changelog: Option<String>,
    row: Option<Row>,
    warnings: Vec<String>,
}

impl Finish<'_> {
    /// Finishes the branch in all repositories that have it, or in none.
    ///
    /// # Errors
    /// `E_FLOW_CONFLICT` with every conflict of every repository, `E_FLOW_DIRTY`, `E_BRANCH_NOT_FOUND`, `E_TAG_EXISTS`,
    /// `E_FLOW_MOVED`, `E_WORKSPACE_NOT_FOUND`, `E_WORKSPACE_BUSY`, and the errors of [`journal::carry_out`].
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
        let parts =
            parallel::all(&having, |seen| self.part(workspace, seen, branch, release, uuid, &context.cancelled))?;
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

    fn part(
        &self,
        workspace: &Workspace,
        seen: &Seen<'_>,
        branch: &str,
        release: Option<(&str, &str)>,
        run: Uuid,
        cancelled: &CancellationToken,
    ) -> Result<Part> {
        let flow = &workspace.manifest.flow;
        let git = seen.git(cancelled);
        let folder = relative(&workspace.root, &seen.folder);
        let (repo, mut part) = (&seen.repo.name, Part::default());
        let Some(tip) = seen.branch(branch) else { return Ok(part) };
        let develop = seen.base(&flow.develop_branch)?;
        seen.refuse_in_progress(tip)?;
        if let Some(place) = &tip.worktree {
            refuse_changes(seen.repo, place, !self.no_delete && !seen.is_own(place), cancelled)?;
        }
        part.refs.push(keep(repo, &folder, run, &tip.name, &tip.id));
        let message = match release {
            None => {
                let target = &flow.develop_branch;
                let new = self.merge(
                    &git,
                    seen,
                    target,
                    develop,
                    &tip.id,
                    &format!("Merge branch '{branch}' into {target}"),
                    None,
                    &mut part,
                )?;
                self.move_target(workspace, seen, develop, new.as_deref(), run, &mut part, cancelled)?;
                new.map(|new| format!("merged into {target} ({})", rows::at(&new)))
                    .unwrap_or_else(|| format!("nothing to merge: {target} already has every commit"))
            }
            Some((tag, heading)) => {
                let main = seen.base(&seen.repo.default_branch)?;
                let since = version::tagged(&seen.refs, &flow.tag_prefix).pop().map(|(_, tag)| tag.commit().to_owned());
                let section = changelog::section(&git, heading, since.as_deref(), &tip.id)?;
                let name = main.short("refs/heads/");
                let text = format!("Merge branch '{branch}' into {name}");
                let file = flow.changelog.as_deref().map(|file| (file, section.as_str()));
                let on_main = self.merge(&git, seen, name, main, &tip.id, &text, file, &mut part)?;
                if !part.conflicts.is_empty() {
                    return Ok(part);
                }
                let tagged = on_main.clone().unwrap_or_else(|| main.id.clone());
                let object = tags::object(&git, tag, &tagged, &format!("{tag}\n\n{section}"))?;
                let target = &flow.develop_branch;
                let text = format!("Merge tag '{tag}' into {target}");
                let on_develop = self.merge(&git, seen, target, develop, &tagged, &text, None, &mut part)?;
                part.refs.push(Step::Ref {
                    repo: repo.clone(),
                    folder: folder.clone(),
                    name: format!("refs/tags/{tag}"),
                    old: None,
                    new: Some(object),
                });
                self.move_target(workspace, seen, main, on_main.as_deref(), run, &mut part, cancelled)?;
                if main.name != develop.name {
                    self.move_target(workspace, seen, develop, on_develop.as_deref(), run, &mut part, cancelled)?;
                }
                if let (None, Some(file)) = (&on_main, &flow.changelog) {
                    let why = format!(
                        "{repo}: {name} already has every commit of {branch}, so {file} gets no section for {tag}"
                    );
                    part.warnings.push(why);
                }
                part.changelog = Some(section);
                let did = match (&on_main, &on_develop) {
                    (Some(_), Some(_)) => format!("merged into {name} and {target}"),
                    (Some(_), None) => format!("merged into {name}; {target} already had every commit"),
                    (None, Some(_)) => format!("merged into {target}; {name} already had every commit"),
                    (None, None) => format!("nothing to merge: {name} and {target} already have every commit"),
                };
                format!("{did}; tagged {tag} ({})", rows::at(&tagged))
            }
        };
        for target in [develop.name.as_str(), &format!("refs/heads/{}", seen.repo.default_branch)] {
            part.warnings.extend(behind(seen, &git, target)?);
        }
        part.warnings.dedup();
        if !self.hooks {
            let skipped = hooks::of_merge(&git)?;
            part.warnings.extend((!skipped.is_empty()).then(|| {
                format!(
                    "{repo}: skipped these hooks: {}; to run them, finish in a shell with `--hooks`",
                    skipped.join(", ")
                )
            }));
        }
        if !self.no_delete {
            self.leave(workspace, seen, tip, branch, develop, run, &mut part, cancelled)?;
        }
        part.row = Some(Row { repo: repo.clone(), state: "merged", message, worktree: None });
        Ok(part)
    }

    /// Creates the merge commit of `tip` into `target` without moving a ref. Returns `None` if there is nothing to
    /// merge, or if there are conflicts, which go to `part`.
    #[expect(clippy::too_many_arguments, reason = "each says another thing about one merge")]
    fn merge(
        &self,
        git: &Git<'_>,
        seen: &Seen<'_>,
        name: &str,
        target: &Ref,
        tip: &str,
        message: &str,
        file: Option<(&str, &str)>,
        part: &mut Part,
    ) -> Result<Option<String>> {
        let Some(base) = refs::merge_base(git, &target.id, tip)? else {
            return Err(Error::new(
                Code::FlowConflict,
                format!("{}: {name} and the branch to merge into it have no common commits", seen.repo.name),
            )
            .with_details(json!({ "repo": seen.repo.name }))
            .hint("merge by hand with `git merge --allow-unrelated-histories`"));
        };
        if base == tip {
            return Ok(None);
        }
        let merged = trees::merge(git, &target.id, tip)?;
        if !merged.conflicts.is_empty() {
            part.conflicts.push((name.to_owned(), merged.conflicts));
            return Ok(None);
        }
        // A squashed merge does not record the merged branch as a parent, so an equal tree means that the branch was merged
        // before.
        if self.squash && file.is_none() && refs::tree(git, &target.id)?.as_deref() == Some(merged.tree.as_str()) {
            return Ok(None);
        }
        let tree = match file {
            Some((file, section)) => changelog::write(git, &merged.tree, file, section)?,
            None => merged.tree,
        };
        let parents: &[&str] = if self.squash { &[&target.id] } else { &[&target.id, tip] };
        let message = match self.hooks && !self.dry_run {
            true => hooks::before(git, &tree, message).map_err(|error| refused_by_hook(&seen.repo.name, error))?,
            false => message.to_owned(),
        };
        let made = trees::commit(git, &tree, parents, &message);
        made.map(Some).map_err(|error| unknown_committer(git, &seen.repo.name).unwrap_or(error))
    }

    /// Plans the move of a target branch to its new commit, together with the work tree that has it checked out, if
    /// any.
    #[expect(clippy::too_many_arguments, reason = "each says another thing about one ref")]
    fn move_target(
        &self,
        workspace: &Workspace,
        seen: &Seen<'_>,
        target: &Ref,
        new: Option<&str>,
        run: Uuid,
        part: &mut Part,
        cancelled: &CancellationToken,
    ) -> Result<()> {
        let Some(new) = new else { return Ok(()) };
        seen.refuse_in_progress(target)?;
        let (repo, folder) = (seen.repo.name.clone(), relative(&workspace.root, &seen.folder));
        part.refs.push(keep(&repo, &folder, run, &target.name, &target.id));
        let (old, new) = (target.id.clone(), new.to_owned());
        match &target.worktree {
            Some(place) => {
                refuse_overlap(seen.repo, place, (&old, &new), cancelled)?;
                let (folder, branch) = (relative(&workspace.root, place), target.short("refs/heads/").to_owned());
                part.forwards.push(Step::Forward { repo, folder, branch, old, new });
            }
            None => {
                part.refs.push(Step::Ref { repo, folder, name: target.name.clone(), old: Some(old), new: Some(new) });
            }
        }
        Ok(())
    }

    /// Plans the deletion of the branch, and where the work tree that has it checked out goes.
    #[expect(clippy::too_many_arguments, reason = "each says another thing about one branch")]
    fn leave(
        &self,
        workspace: &Workspace,
        seen: &Seen<'_>,
        tip: &Ref,
        branch: &str,
        develop: &Ref,
        run: Uuid,
        part: &mut Part,
        cancelled: &CancellationToken,
    ) -> Result<()> {
        let (repo, folder) = (seen.repo.name.clone(), relative(&workspace.root, &seen.folder));
        match &tip.worktree {
            Some(place) if seen.is_own(place) => {
                // git does not let two work trees check out the same branch.
                let to = match &develop.worktree {
                    Some(_) => Head::Detached(develop.id.clone()),
                    None => Head::Branch(develop.short("refs/heads/").to_owned()),
                };
                let from = Head::Branch(branch.to_owned());
                part.leaves.push(Step::Switch { repo: repo.clone(), folder: folder.clone(), from, to });
            }
            Some(place) => {
                let kept = self.keep_files(workspace, seen, place, branch, run, cancelled)?;
                if let Some(kept) = &kept {
                    let (repo, folder, name) = (repo.clone(), folder.clone(), keep::worktree(run, self.name));
                    part.refs.push(Step::Ref { repo, folder, name, old: None, new: Some(kept.clone()) });
                }
                let (path, branch) = (relative(&workspace.root, place), branch.to_owned());
                let (repo, folder) = (repo.clone(), folder.clone());
                part.leaves.push(Step::RemoveWorktree { repo, folder, path, branch, kept });
            }
            None => {}
        }
        let values = carry::config(&seen.git(cancelled), branch)?;
        part.deletes.push(Step::Ref {
            repo: repo.clone(),
            folder: folder.clone(),
            name: tip.name.clone(),
            old: Some(tip.id.clone()),
            new: None,
        });
        if !values.is_empty() {
            part.forgets.push(Step::UnsetConfig { repo, folder, branch: branch.to_owned(), values });
        }
        Ok(())
    }
}

impl Finish<'_> {
    /// Commits the ignored files of a worktree that will be removed, so that `worktree restore` can bring them back.
    fn keep_files(
        &self,
        workspace: &Workspace,
        seen: &Seen<'_>,
        place: &Path,
        branch: &str,
        run: Uuid,
        cancelled: &CancellationToken,
    ) -> Result<Option<String>> {
        let git = Git::of(place, cancelled);
        let look = keep::look(place, &status::read(&git, Extra::AllAndIgnored)?)?;
        if !look.refused.is_empty() {
            let why = look.refused.join(", ");
            return Err(Error::new(
                Code::FlowDirty,
                format!("{}: cannot remove `{}`: {why}", seen.repo.name, place.display()),
            )
            .with_details(json!({ "repo": seen.repo.name, "worktree": place.display().to_string() }))
            .hint("fix the listed problems, or finish with --no-delete to keep the worktree"));
        }
        if self.dry_run {
            return Ok(None);
        }
        let scratch = journal::temporary(&workspace.root, run).join(&seen.repo.name);
        std::fs::create_dir_all(&scratch).map_err(|error| disk::failed("make", &scratch, error))?;
        snapshot::take(&git, &scratch, &look.ignored, &keep::message(self.name, Some(&format!("refs/heads/{branch}"))))
            .map(Some)
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

/// Adds the repository's name to the error of a failed hook.
fn refused_by_hook(repo: &str, error: Error) -> Error {
    let message = format!("{repo}: a hook refused the merge: {}", error.message());
    let details = error.details().cloned().unwrap_or_default();
    Error::new(error.code(), message).with_details(details).hint("fix what the hook reports, or finish without --hooks")
}

/// Returns a clearer error if a commit failed because git does not know your name and email address.
fn unknown_committer(git: &Git<'_>, repo: &str) -> Option<Error> {
    let error = git.run(&["var", "GIT_COMMITTER_IDENT"]).err().filter(|error| error.code() == Code::GitFailed)?;
    Some(
        Error::new(Code::GitFailed, format!("{repo}: git has no name and email address for you"))
            .with_details(json!({ "repo": repo, "operation": "finish" }))
            .hint("set the name and email: `git config --global user.name NAME` and `git config --global user.email EMAIL`")
            .with_source(error),
    )
}

/// Returns one error that lists the conflicts of all repositories, if there are any.
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

/// Warns if `origin` has commits of the target that the local branch lacks, as of the last fetch.
fn behind(seen: &Seen<'_>, git: &Git<'_>, target: &str) -> Result<Option<String>> {
    let Some(short) = target.strip_prefix("refs/heads/") else { return Ok(None) };
    let remote = seen.find(&format!("refs/remotes/origin/{short}"));
    let (Some(local), Some(remote)) = (seen.find(target), remote) else { return Ok(None) };
    if local.id == remote.id || refs::contains(git, &local.id, &remote.id)? {
        return Ok(None);
    }
    Ok(Some(format!("{}: as of the last fetch, origin/{short} has commits that {short} lacks", seen.repo.name)))
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
