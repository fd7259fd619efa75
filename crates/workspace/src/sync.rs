//! `mcpkg workspace sync`: fetches, fast-forwards branches, and clones missing repositories. A repository that fails
//! does not stop the others.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::carry::{self, MARK};
use super::clone::{self, Origin};
use super::completions::REPOS;
use super::journal;
use super::lock::Lock;
use super::manifest::Repo;
use super::parallel;
use super::root::Workspace;
use super::submodules;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::refs::{self, Ref};
use mcpkg_base::git::status::{self, Extra, State};
use mcpkg_base::git::transaction::Transaction;
use mcpkg_base::git::worktrees;
use mcpkg_base::git::{self, Git, remote};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// Fetch, fast-forward and clone the repositories of the workspace
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sync {
    /// Repository to sync [default: all]
    #[arg(add = REPOS)]
    #[serde(default)]
    repos: Vec<String>,
    /// Show what would be done, based on the last fetch, without doing it
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Sync {
    const TOOL: &'static str = "sync_workspace";
    const CLI: &'static [&'static str] = &["workspace", "sync"];
    const TITLE: &'static str = "Sync workspace";
    const ABOUT: &'static str = "Fetch every repository, fast-forward its branches, and clone missing repositories";
    const HELP: &'static str = "In each repository, mcpkg fast-forwards the main branch, the develop branch and \
        the checked-out branch to match origin. A branch with commits that origin lacks is reported as `diverged`. \
        A branch with changes in its work tree is reported as `dirty`. mcpkg does not change a diverged or dirty \
        branch. If a repository fails, mcpkg still syncs the other repositories, and the exit status is 1. If a \
        main or develop branch that existed only locally has appeared at origin, the local branch tracks the \
        branch at origin from then on.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workspace sync", "mcpkg workspace sync api --dry-run"];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = super::SHAPE;
    const GROUP: &'static str = super::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let repos = workspace.chosen(&self.repos)?;
        journal::put_right(context, &workspace.root, None)?;
        let lock = if self.dry_run { None } else { Some(Lock::take(context, &workspace.root, "workspace sync")?) };
        (context.step_aside)();
        let total = repos.len() as u64;
        let rows = parallel::each(&repos, |index, repo| {
            (context.progress)(&format!("syncing {}", repo.name), index as u64, total);
            let synced = match &lock {
                Some(lock) => sync(context, &workspace, repo, lock),
                None => foresee(context, &workspace, repo),
            };
            match synced {
                // These errors concern all repositories, so stop here.
                Err(error) if matches!(error.code(), Code::GitNotFound | Code::Cancelled) => Err(error),
                Err(error) => {
                    Ok(Row { name: repo.name.clone(), state: Outcome::Failed, message: error.message().to_owned() })
                }
                Ok((state, message)) => Ok(Row { name: repo.name.clone(), state, message }),
            }
        });
        let rows: Vec<Row> = rows.into_iter().collect::<Result<_>>()?;
        let failed = rows.iter().filter(|row| row.state == Outcome::Failed).count();
        if lock.is_some() {
            let changed = rows.iter().any(|row| matches!(row.state, Outcome::Synced | Outcome::Cloned));
            if changed {
                context.store.write(|db| {
                    context.event(db, context.author(), None, "workspace.sync", &workspace.manifest.name)
                })?;
            }
        }
        let mut data = json!({
            "name": workspace.manifest.name,
            "repos": rows.iter().map(Row::data).collect::<Vec<_>>(),
            "all_synced": failed == 0,
        });
        if self.dry_run {
            data["dry_run"] = true.into();
        }
        let table = Table {
            columns: &["REPO", "STATE", "WHAT"],
            rows: rows
                .iter()
                .map(|row| vec![row.name.clone(), row.state.word().to_owned(), row.message.clone()])
                .collect(),
            empty: "The workspace has no repositories; add one with `mcpkg workspace add URL`".to_owned(),
        };
        let mut reply = Reply::new(Body::Table(table), data);
        reply.failed = failed > 0;
        if failed > 0 {
            let others = if failed < rows.len() { "; the others were" } else { "" };
            reply = reply.hint(format!("{} could not be synced{others}", plural::count(failed, "repository")));
        }
        Ok(reply)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Unchanged,
    Synced,
    Cloned,
    Dirty,
    Diverged,
    Failed,
}

impl Outcome {
    const fn word(self) -> &'static str {
        match self {
            Outcome::Unchanged => "unchanged",
            Outcome::Synced => "synced",
            Outcome::Cloned => "cloned",
            Outcome::Dirty => "dirty",
            Outcome::Diverged => "diverged",
            Outcome::Failed => "failed",
        }
    }
}

struct Row {
    name: String,
    state: Outcome,
    message: String,
}

impl Row {
    fn data(&self) -> Value {
        json!({ "repo_name": self.name, "state": self.state.word(), "message": self.message })
    }
}

fn sync(context: &Context, workspace: &Workspace, repo: &Repo, lock: &Lock) -> Result<(Outcome, String)> {
    let folder = workspace.folder(repo)?;
    if is_missing(&folder)? {
        let main = clone(context, workspace, repo, &folder)?;
        let empty = submodules::warning(&repo.name, &folder, &context.cancelled);
        let empty = empty.map_or_else(String::new, |warning| format!("; {warning}"));
        return Ok((Outcome::Cloned, format!("on {main}{empty}")));
    }
    let git = opened(repo, &folder, context)?.holding(lock.file());
    remote::fetch(&git, Box::new(|_| {})).map_err(|error| unreachable(repo, error))?;
    let mut done = Done::default();
    for followed in branches(workspace, repo, &git)? {
        if followed.is_new {
            let upstream = format!("--set-upstream-to={}", followed.upstream.name);
            git.change(&["branch", "--quiet", &upstream, followed.branch.short("refs/heads/")])?;
            done.follows(&followed);
        }
        forward(&git, &followed.branch, &followed.upstream, &mut done)?;
    }
    Ok(done.outcome())
}

/// Returns what a sync would do, as of the last fetch.
fn foresee(context: &Context, workspace: &Workspace, repo: &Repo) -> Result<(Outcome, String)> {
    let folder = workspace.folder(repo)?;
    if is_missing(&folder)? {
        return Ok((Outcome::Cloned, format!("from {}", repo.url)));
    }
    let git = opened(repo, &folder, context)?;
    let mut done = Done::default();
    for followed in branches(workspace, repo, &git)? {
        if followed.is_new {
            done.follows(&followed);
        }
        judge(&git, &followed.branch, &followed.upstream, &mut done)?;
    }
    Ok(done.outcome())
}

/// Returns whether the repository's folder is missing or empty.
fn is_missing(folder: &Path) -> Result<bool> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::file("read", folder, error)),
        Ok(mut entries) => Ok(entries.next().is_none()),
    }
}

fn opened<'a>(repo: &Repo, folder: &'a Path, context: &'a Context) -> Result<Git<'a>> {
    if git::own_folder(folder).is_none() {
        return Err(Error::new(Code::NotFound, format!("`{}` is not a git repository with a work tree", repo.path)));
    }
    Ok(Git::of(folder, &context.cancelled))
}

fn clone(context: &Context, workspace: &Workspace, repo: &Repo, folder: &Path) -> Result<String> {
    let origin = Origin::read(&repo.url, &workspace.root)?;
    let temporary = journal::temporary(&workspace.root, context.clock.uuid());
    let place: PathBuf = temporary.join("0");
    let flow = &workspace.manifest.flow;
    let main = Some(repo.default_branch.as_str());
    let made = clone::make(&repo.name, &origin, &place, "sync", &flow.develop_branch, main, &context.cancelled);
    let put = made.and_then(|main| {
        disk::remove(&place.join(".git").join(MARK))?;
        let parent = folder.parent().unwrap_or(folder);
        let put = fs::create_dir_all(parent).and_then(|()| fs::rename(&place, folder));
        put.map_err(|error| carry::not_placed(folder, error))?;
        Ok(main)
    });
    if let Some(warning) = carry::clear(&temporary) {
        tracing::warn!("{warning}");
    }
    put
}

fn unreachable(repo: &Repo, error: Error) -> Error {
    if error.code() != Code::GitFailed {
        return error;
    }
    let said = error.message().trim_start_matches("git fetch: ").to_owned();
    let details = json!({ "repo": repo.name, "remote": repo.url });
    Error::new(Code::RemoteFailed, format!("cannot fetch from origin: {said}")).with_details(details).with_source(error)
}

/// A branch to update.
struct Followed {
    branch: Ref,
    /// The remote branch that `branch` tracks or will track.
    upstream: Ref,
    /// Whether tracking still has to be set up.
    is_new: bool,
}

/// Returns the branches to update: main, develop, and the checked-out branch. Each needs an upstream. If main or develop has
/// none, the branch with the same name at `origin` is used, and becomes the upstream when the branch is updated.
fn branches(workspace: &Workspace, repo: &Repo, git: &Git<'_>) -> Result<Vec<Followed>> {
    let all = refs::list(git, &["refs/heads/", "refs/remotes/"])?;
    let named = [&repo.default_branch, &workspace.manifest.flow.develop_branch];
    let mut followed = Vec::new();
    for branch in all.iter().filter(|found| found.name.starts_with("refs/heads/")) {
        let name = branch.short("refs/heads/");
        let is_named = named.iter().any(|named| *named == name);
        let is_here = branch.worktree.as_deref().is_some_and(|place| place == git.folder());
        let upstream = match &branch.upstream {
            Some(upstream) if is_named || is_here => upstream.clone(),
            None if is_named => format!("refs/remotes/origin/{name}"),
            _ => continue,
        };
        let Some(upstream) = all.iter().find(|other| other.name == upstream) else { continue };
        let is_new = branch.upstream.is_none();
        // The configuration may name an upstream that has no ref here yet.
        if is_new && git.ask(&["config", "--get", &format!("branch.{name}.remote")])?.is_some() {
            continue;
        }
        followed.push(Followed { branch: branch.clone(), upstream: upstream.clone(), is_new });
    }
    Ok(followed)
}

/// The outcome in one repository, branch by branch.
#[derive(Default)]
struct Done {
    state: Option<Outcome>,
    lines: Vec<String>,
}

impl Done {
    fn note(&mut self, state: Outcome, line: String) {
        self.state = self.state.max(Some(state));
        self.lines.push(line);
    }

    fn follows(&mut self, followed: &Followed) {
        let (branch, upstream) = (followed.branch.short("refs/heads/"), followed.upstream.short("refs/remotes/"));
        self.note(Outcome::Synced, format!("{branch} now follows {upstream}"));
    }

    fn outcome(self) -> (Outcome, String) {
        (self.state.unwrap_or(Outcome::Unchanged), self.lines.join("; "))
    }
}

/// Decides what to do with a branch, and records the outcome. Returns whether the branch should be moved.
fn judge(git: &Git<'_>, branch: &Ref, upstream: &Ref, done: &mut Done) -> Result<bool> {
    let (name, other) = (branch.short("refs/heads/"), upstream.short("refs/remotes/"));
    if branch.id == upstream.id || refs::contains(git, &branch.id, &upstream.id)? {
        return Ok(false);
    }
    if !refs::contains(git, &upstream.id, &branch.id)? {
        done.note(Outcome::Diverged, format!("{name} and {other} have diverged"));
        return Ok(false);
    }
    if let Some(place) = &branch.worktree {
        let there = Git::of(place, git.limits().cancelled);
        let is_changed =
            status::read(&there, Extra::Untracked)?.entries.iter().any(|entry| entry.state != State::Untracked);
        let operation = git::own_folder(place).and_then(|own| git::operation(&own));
        if let Some(operation) = operation {
            done.note(
                Outcome::Dirty,
                format!("{name} was left unchanged because a {} is in progress", operation.name()),
            );
            return Ok(false);
        }
        if is_changed {
            done.note(Outcome::Dirty, format!("{name} was left unchanged because its work tree has changes"));
            return Ok(false);
        }
    }
    done.note(Outcome::Synced, format!("{name} to {}", upstream.id.get(..9).unwrap_or(&upstream.id)));
    Ok(true)
}

fn forward(git: &Git<'_>, branch: &Ref, upstream: &Ref, done: &mut Done) -> Result<()> {
    let before = done.lines.len();
    if !judge(git, branch, upstream, done)? {
        return Ok(());
    }
    match &branch.worktree {
        Some(place) => {
            if let Err(error) = worktrees::forward(&git.at(place), branch.short("refs/heads/"), &upstream.id) {
                if error.code() != Code::GitFailed {
                    return Err(error);
                }
                done.lines.truncate(before);
                let name = branch.short("refs/heads/");
                done.note(
                    Outcome::Dirty,
                    format!("{name} was left unchanged because a file is in the way: {}", error.message()),
                );
            }
            Ok(())
        }
        None => {
            let mut transaction = Transaction::begin(git, "mcpkg: workspace sync")?;
            transaction.update(&branch.name, &upstream.id, &branch.id)?;
            transaction.prepare()?;
            transaction.commit()
        }
    }
}
