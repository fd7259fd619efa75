//! Plans the finish of a branch in one repository: creates the merges as git objects, and lists the steps.

use std::path::{Path, PathBuf};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::look::{Seen, refuse_changes, refuse_overlap};
use super::rows::{self, Row, keep};
use super::{changelog, version};
use crate::root::Workspace;
use crate::step::{Head, Step, relative};
use crate::{carry, journal, keep};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::refs::{self, Ref};
use mcpkg_base::git::status::{self, Extra};
use mcpkg_base::git::{Git, hooks, snapshot, tags, trees};

/// The options of a finish. They are the same for all repositories.
pub struct Options<'a> {
    pub workspace: &'a Workspace,
    pub branch: &'a str,
    /// The branch without its prefix.
    pub name: &'a str,
    /// The tag and the heading of the changelog section, if the branch becomes a version.
    pub release: Option<(&'a str, &'a str)>,
    pub squash: bool,
    pub no_delete: bool,
    pub hooks: bool,
    pub dry_run: bool,
    pub run: Uuid,
    pub cancelled: &'a CancellationToken,
}

/// The steps for one repository, grouped by when they run across all repositories.
#[derive(Default)]
pub struct Part {
    /// Moves of refs that no work tree has checked out, and new refs: the version's tag, and refs that keep old
    /// commits.
    pub refs: Vec<Step>,
    /// Moves of branches, each together with the work tree that has the branch checked out.
    pub forwards: Vec<Step>,
    /// Work trees that switch away from the branch or are removed.
    pub leaves: Vec<Step>,
    pub deletes: Vec<Step>,
    /// Removals of the branch's git settings.
    pub forgets: Vec<Step>,
    /// The target branch and the conflicting paths of each failed merge.
    pub conflicts: Vec<(String, Vec<PathBuf>)>,
    pub changelog: Option<String>,
    pub row: Option<Row>,
    pub warnings: Vec<String>,
}

/// A plan in the making.
struct Planner<'a> {
    options: &'a Options<'a>,
    seen: &'a Seen<'a>,
    git: Git<'a>,
    /// The repository's folder, relative to the workspace's root.
    folder: String,
    part: Part,
}

impl Options<'_> {
    /// Plans the finish in one repository. Without the branch, there is nothing to do.
    pub fn plan(&self, seen: &Seen<'_>) -> Result<Part> {
        let Some(tip) = seen.branch(self.branch) else { return Ok(Part::default()) };
        let folder = relative(&self.workspace.root, &seen.folder);
        let git = seen.git(self.cancelled);
        let mut planner = Planner { options: self, seen, git, folder, part: Part::default() };
        planner.plan(tip)?;
        Ok(planner.part)
    }
}

impl Planner<'_> {
    fn plan(&mut self, tip: &Ref) -> Result<()> {
        let Options { workspace, branch, release, run, cancelled, .. } = *self.options;
        let (flow, seen) = (&workspace.manifest.flow, self.seen);
        let repo = &seen.repo.name;
        let develop = seen.base(&flow.develop_branch)?;
        seen.refuse_in_progress(tip)?;
        if let Some(place) = &tip.worktree {
            refuse_changes(seen.repo, place, !self.options.no_delete && !seen.is_own(place), cancelled)?;
        }
        self.part.refs.push(keep(repo, &self.folder, run, &tip.name, &tip.id));
        let message = match release {
            None => {
                let target = &flow.develop_branch;
                let text = format!("Merge branch '{branch}' into {target}");
                let new = self.merge((target, develop), &tip.id, &text, None)?;
                self.move_target(develop, new.as_deref())?;
                new.map(|new| format!("merged into {target} ({})", rows::at(&new)))
                    .unwrap_or_else(|| format!("nothing to merge: {target} already has every commit"))
            }
            Some((tag, heading)) => {
                let main = seen.base(&seen.repo.default_branch)?;
                let since = version::tagged(&seen.refs, &flow.tag_prefix).pop().map(|(_, tag)| tag.commit().to_owned());
                let section = changelog::section(&self.git, heading, since.as_deref(), &tip.id)?;
                let name = main.short("refs/heads/");
                let text = format!("Merge branch '{branch}' into {name}");
                let file = flow.changelog.as_deref().map(|file| (file, section.as_str()));
                let on_main = self.merge((name, main), &tip.id, &text, file)?;
                if !self.part.conflicts.is_empty() {
                    return Ok(());
                }
                let tagged = on_main.clone().unwrap_or_else(|| main.id.clone());
                let object = tags::object(&self.git, tag, &tagged, &format!("{tag}\n\n{section}"))?;
                let target = &flow.develop_branch;
                let text = format!("Merge tag '{tag}' into {target}");
                let on_develop = self.merge((target, develop), &tagged, &text, None)?;
                self.part.refs.push(Step::Ref {
                    repo: repo.clone(),
                    folder: self.folder.clone(),
                    name: format!("refs/tags/{tag}"),
                    old: None,
                    new: Some(object),
                });
                self.move_target(main, on_main.as_deref())?;
                if main.name != develop.name {
                    self.move_target(develop, on_develop.as_deref())?;
                }
                if let (None, Some(file)) = (&on_main, &flow.changelog) {
                    let why = format!(
                        "{repo}: {name} already has every commit of {branch}, so {file} gets no section for {tag}"
                    );
                    self.part.warnings.push(why);
                }
                self.part.changelog = Some(section);
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
            self.part.warnings.extend(behind(seen, &self.git, target)?);
        }
        self.part.warnings.dedup();
        if !self.options.hooks {
            let skipped = hooks::of_merge(&self.git)?;
            self.part.warnings.extend((!skipped.is_empty()).then(|| {
                format!(
                    "{repo}: skipped these hooks: {}; to run them, finish in a shell with `--hooks`",
                    skipped.join(", ")
                )
            }));
        }
        if !self.options.no_delete {
            self.leave(tip, develop)?;
        }
        self.part.row = Some(Row { repo: repo.clone(), state: "merged", message, worktree: None });
        Ok(())
    }

    /// Creates the merge commit of `tip` into a target without moving a ref. `name` is the target's name for people,
    /// and `file` is the changelog with its new section. Returns `None` if there is nothing to merge, or if there are
    /// conflicts, which are added to `part`.
    fn merge(
        &mut self,
        (name, target): (&str, &Ref),
        tip: &str,
        message: &str,
        file: Option<(&str, &str)>,
    ) -> Result<Option<String>> {
        let (git, repo) = (&self.git, &self.seen.repo.name);
        let Options { squash, hooks, dry_run, .. } = *self.options;
        let Some(base) = refs::merge_base(git, &target.id, tip)? else {
            return Err(Error::new(
                Code::FlowConflict,
                format!("{repo}: {name} and the branch to merge into it have no common commits"),
            )
            .with_details(json!({ "repo": repo }))
            .hint("merge by hand with `git merge --allow-unrelated-histories`"));
        };
        if base == tip {
            return Ok(None);
        }
        let merged = trees::merge(git, &target.id, tip)?;
        if !merged.conflicts.is_empty() {
            self.part.conflicts.push((name.to_owned(), merged.conflicts));
            return Ok(None);
        }
        // A squashed merge does not record the merged branch as a parent, so an equal tree means that the branch was merged
        // before.
        if squash && file.is_none() && refs::tree(git, &target.id)?.as_deref() == Some(merged.tree.as_str()) {
            return Ok(None);
        }
        let tree = match file {
            Some((file, section)) => changelog::write(git, &merged.tree, file, section)?,
            None => merged.tree,
        };
        let parents: &[&str] = if squash { &[&target.id] } else { &[&target.id, tip] };
        let message = match hooks && !dry_run {
            true => hooks::before(git, &tree, message).map_err(|error| refused_by_hook(repo, error))?,
            false => message.to_owned(),
        };
        let made = trees::commit(git, &tree, parents, &message);
        made.map(Some).map_err(|error| unknown_committer(git, repo).unwrap_or(error))
    }

    /// Plans the move of a target branch to its new commit, together with the work tree that has it checked out, if
    /// any.
    fn move_target(&mut self, target: &Ref, new: Option<&str>) -> Result<()> {
        let Some(new) = new else { return Ok(()) };
        let Options { workspace, run, cancelled, .. } = *self.options;
        let (seen, part) = (self.seen, &mut self.part);
        seen.refuse_in_progress(target)?;
        let (repo, folder) = (seen.repo.name.clone(), self.folder.clone());
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

    /// Plans the deletion of the branch. If the main work tree has it checked out, that work tree switches to develop
    /// first. A linked work tree that has it checked out is removed.
    fn leave(&mut self, tip: &Ref, develop: &Ref) -> Result<()> {
        let Options { workspace, branch, name, run, .. } = *self.options;
        let seen = self.seen;
        let (repo, folder) = (seen.repo.name.clone(), self.folder.clone());
        match &tip.worktree {
            Some(place) if seen.is_own(place) => {
                // git does not let two work trees check out the same branch.
                let to = match &develop.worktree {
                    Some(_) => Head::Detached(develop.id.clone()),
                    None => Head::Branch(develop.short("refs/heads/").to_owned()),
                };
                let from = Head::Branch(branch.to_owned());
                self.part.leaves.push(Step::Switch { repo: repo.clone(), folder: folder.clone(), from, to });
            }
            Some(place) => {
                let kept = self.keep_files(place)?;
                if let Some(kept) = &kept {
                    let (repo, folder, name) = (repo.clone(), folder.clone(), keep::worktree(run, name));
                    self.part.refs.push(Step::Ref { repo, folder, name, old: None, new: Some(kept.clone()) });
                }
                let (path, branch) = (relative(&workspace.root, place), branch.to_owned());
                let (repo, folder) = (repo.clone(), folder.clone());
                self.part.leaves.push(Step::RemoveWorktree { repo, folder, path, branch, kept });
            }
            None => {}
        }
        let values = carry::config(&self.git, branch)?;
        self.part.deletes.push(Step::Ref {
            repo: repo.clone(),
            folder: folder.clone(),
            name: tip.name.clone(),
            old: Some(tip.id.clone()),
            new: None,
        });
        if !values.is_empty() {
            self.part.forgets.push(Step::UnsetConfig { repo, folder, branch: branch.to_owned(), values });
        }
        Ok(())
    }

    /// Commits the files of a worktree that will be removed, including ignored files, so that `worktree restore` can
    /// bring them back.
    fn keep_files(&self, place: &Path) -> Result<Option<String>> {
        let Options { workspace, branch, name, run, cancelled, .. } = *self.options;
        let repo = &self.seen.repo.name;
        let git = Git::of(place, cancelled);
        let look = keep::look(place, &status::read(&git, Extra::AllAndIgnored)?)?;
        if !look.refused.is_empty() {
            let why = look.refused.join(", ");
            return Err(Error::new(Code::FlowDirty, format!("{repo}: cannot remove `{}`: {why}", place.display()))
                .with_details(json!({ "repo": repo, "worktree": place.display().to_string() }))
                .hint("fix the listed problems, or finish with --no-delete to keep the worktree"));
        }
        if self.options.dry_run {
            return Ok(None);
        }
        let scratch = journal::temporary(&workspace.root, run).join(repo);
        std::fs::create_dir_all(&scratch).map_err(|error| disk::failed("make", &scratch, error))?;
        snapshot::take(&git, &scratch, &look.ignored, &keep::message(name, Some(&format!("refs/heads/{branch}"))))
            .map(Some)
    }
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
