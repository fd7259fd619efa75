//! `mcpkg worktree add`: creates a worktree on one branch in every chosen repository, or in none.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::set;
use crate::completions::REPOS;
use crate::journal::{self, Plan};
use crate::lock::Lock;
use crate::manifest::Repo;
use crate::root::Workspace;
use crate::step::{Step, relative};
use crate::{names, parallel};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{self, Git, refs, worktrees};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// Create a set of worktrees
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Name of the worktree set
    name: String,
    /// Repository to include [default: all]
    #[arg(long = "repo", alias = "repos", value_name = "REPO", value_delimiter = ',', add = REPOS)]
    #[serde(default)]
    repos: Vec<String>,
    /// Branch to check out [default: the feature branch with the name of the set]
    #[arg(long)]
    #[serde(default)]
    branch: Option<String>,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for Add {
    const TOOL: &'static str = "smctl_worktree_add";
    const CLI: &'static [&'static str] = &["worktree", "add"];
    const TITLE: &'static str = "Add worktree set";
    const ABOUT: &'static str = "Create linked worktrees for parallel feature development";
    const HELP: &'static str = "If the branch exists, mcpkg checks it out. If the branch exists only at `origin`, \
        mcpkg creates a local branch that tracks the branch at `origin`. If the branch does not exist yet, mcpkg \
        creates it from the develop branch. Either every repository gets a worktree, or none does. You can add \
        repositories to a worktree set later.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg worktree add login", "mcpkg worktree add login --repo api,web --branch fix/login"];
    const EFFECT: Effect = Effect::Create;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = crate::GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Worktree set name"},"repos":{"type":"array","items":{"type":"string"},"description":"Repos to include (default: all)"},"branch":{"type":"string","description":"Branch to check out (default: feature/<name>)"}},"required":["name"]}"#,
    );
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::name("worktree set", &self.name)?;
        let workspace = Workspace::open(context)?;
        let repos = workspace.at_least_one(&self.repos)?;
        let branch = match &self.branch {
            Some(branch) => branch.clone(),
            None => format!("{}{}", workspace.manifest.flow.feature_prefix, self.name),
        };
        if !names::is_branch(&branch) {
            let message = format!("`{}` is not a valid branch name", branch.escape_debug());
            return Err(
                Error::new(Code::InvalidArgument, message).hint("for the rules, see `git help check-ref-format`")
            );
        }
        journal::put_right(context, &workspace.root, None)?;
        let lock = match self.dry_run {
            true => None,
            false => Some(Lock::take(context, &workspace.root, "worktree add")?),
        };
        let looked = parallel::each(&repos, |_, repo| look(context, &workspace, repo, &self.name, &branch));
        let looked: Vec<RepoPlan> = looked.into_iter().collect::<Result<_>>()?;
        if looked.iter().all(|looked| looked.is_there) {
            let message = format!("The worktree set '{}' already has all of these repositories", self.name);
            return Err(Error::new(Code::AlreadyExists, message)
                .with_details(json!({ "name": self.name }))
                .hint(format!("`cd \"$(mcpkg worktree cd {})\"` changes to its folder", self.name)));
        }
        let plan = Plan {
            workspace: workspace.manifest.name.clone(),
            operation: "worktree add",
            subject: self.name.clone(),
            uuid: context.clock.uuid(),
            // Put all refs first, so that all of them are locked before the first one is created.
            land: looked
                .iter()
                .flat_map(|looked| &looked.refs)
                .chain(looked.iter().flat_map(|looked| &looked.steps))
                .cloned()
                .collect(),
            tidy: Vec::new(),
            becomes: Vec::new(),
        };
        let worktrees: Vec<Value> =
            repos.iter().zip(&looked).map(|(repo, looked)| set::made(repo, &branch, &looked.place)).collect();
        let data = json!({ "name": self.name, "worktrees": worktrees, "run": plan.uuid.to_string() });
        let Some(lock) = lock else {
            return Ok(set::dry_run(&format!("Would create the worktree set '{}'", self.name), &plan.land, data));
        };
        let warnings = journal::carry_out(context, &workspace.root, &lock, &plan)?;
        let rows = repos.iter().zip(&looked).map(|(repo, looked)| {
            vec![repo.name.clone(), branch.clone(), looked.how.to_owned(), relative(&workspace.root, &looked.place)]
        });
        let table = Table { columns: &["REPO", "BRANCH", "HOW", "FOLDER"], rows: rows.collect(), empty: String::new() };
        let sentence = Body::Sentence(format!("Created the worktree set '{}'", self.name));
        Ok(Reply::new(Body::Several(vec![sentence, Body::Table(table)]), data)
            .hint(format!("`cd \"$(mcpkg worktree cd {})\"` changes to its folder", self.name))
            .warn(warnings))
    }
}

/// The planned steps for one repository.
struct RepoPlan {
    place: PathBuf,
    is_there: bool,
    /// The origin of the branch, in a word or two.
    how: &'static str,
    refs: Vec<Step>,
    steps: Vec<Step>,
}

fn look(context: &Context, workspace: &Workspace, repo: &Repo, name: &str, branch: &str) -> Result<RepoPlan> {
    let top = workspace.folder(repo)?;
    if git::own_folder(&top).is_none() {
        return Err(Error::new(Code::NotFound, format!("{}: there is no repository in `{}`", repo.name, repo.path))
            .with_details(json!({ "repo": repo.name }))
            .hint("`mcpkg workspace sync` clones missing repositories"));
    }
    let git = Git::of(&top, &context.cancelled);
    let place = set::place(workspace, name, repo)?;
    let full = format!("refs/heads/{branch}");
    let real = place.parent().and_then(|parent| mcpkg_base::platform::real(parent).ok()).zip(place.file_name());
    let real = real.map_or_else(|| place.clone(), |(parent, name)| parent.join(name));
    let known = worktrees::list(&git)?;
    if let Some(there) = known.iter().find(|known| known.path == real && known.prunable.is_none()) {
        if there.branch.as_deref() == Some(&*full) {
            return Ok(RepoPlan { place, is_there: true, how: "already exists", refs: Vec::new(), steps: Vec::new() });
        }
        let is = there.branch.as_deref().unwrap_or("no branch");
        let is = is.strip_prefix("refs/heads/").unwrap_or(is);
        let message = format!("{}: the worktree set '{name}' already exists, on {is}", repo.name);
        return Err(Error::new(Code::AlreadyExists, message)
            .with_details(json!({ "repo": repo.name, "branch": is }))
            .hint(format!("choose another name, or run `mcpkg worktree remove {name}` first")));
    }
    if let Some(other) = known.iter().find(|known| known.branch.as_deref() == Some(&*full)) {
        return Err(in_use(repo, branch, &other.path));
    }
    free(repo, &place)?;
    let folder = relative(&workspace.root, &top);
    let step = |new: &str| Step::Ref {
        repo: repo.name.clone(),
        folder: folder.clone(),
        name: full.clone(),
        old: None,
        new: Some(new.to_owned()),
    };
    let remote = format!("refs/remotes/origin/{branch}");
    let develop = format!("refs/heads/{}", workspace.manifest.flow.develop_branch);
    let found = refs::list(&git, &[&full, &remote, &develop])?;
    let id = |name: &str| found.iter().find(|found| found.name == name).map(|found| found.id.clone());
    let mut steps = Vec::new();
    let (how, made) = match (id(&full), id(&remote), id(&develop)) {
        (Some(_), ..) => ("checked out", Vec::new()),
        (None, Some(remote), _) => {
            refs::refuse_same_but_case(&git, &repo.name, &refs::list(&git, &["refs/heads/"])?, branch)?;
            let values = [("remote", "origin"), ("merge", &full)];
            let values = values.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
            let (repo, folder, branch) = (repo.name.clone(), folder.clone(), branch.to_owned());
            steps.push(Step::SetConfig { repo, folder, branch, values });
            ("of origin", vec![step(&remote)])
        }
        (None, None, Some(develop)) => {
            refs::refuse_same_but_case(&git, &repo.name, &refs::list(&git, &["refs/heads/"])?, branch)?;
            ("new", vec![step(&develop)])
        }
        (None, None, None) => {
            let develop = &workspace.manifest.flow.develop_branch;
            return Err(Error::new(
                Code::BranchNotFound,
                format!("{}: the repository has no branch `{develop}`", repo.name),
            )
            .with_details(json!({ "repo": repo.name, "branch": develop }))
            .hint("create the branch with `mcpkg flow init`"));
        }
    };
    let path = relative(&workspace.root, &place);
    steps.push(Step::AddWorktree { repo: repo.name.clone(), folder, path, branch: branch.to_owned() });
    Ok(RepoPlan { place, is_there: false, how, refs: made, steps })
}

fn in_use(repo: &Repo, branch: &str, place: &Path) -> Error {
    let place = place.display().to_string();
    Error::new(Code::BranchInUse, format!("{}: {branch} is already checked out in `{place}`", repo.name))
        .with_details(json!({ "repo": repo.name, "branch": branch, "path": place }))
        .hint(format!(
            "switch to another branch there (`git -C {} switch`), or choose another branch for the new worktree",
            mcpkg_base::shell::quote(&place)
        ))
}

/// Refuses a path that is already taken.
fn free(repo: &Repo, place: &Path) -> Result<()> {
    let is_free = match std::fs::read_dir(place) {
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(mut entries) => entries.next().is_none(),
    };
    if is_free {
        return Ok(());
    }
    let message =
        format!("{}: `{}` already exists, and is not a worktree of that repository", repo.name, place.display());
    Err(Error::new(Code::AlreadyExists, message)
        .with_details(json!({ "repo": repo.name, "path": place.display().to_string() }))
        .hint("move the existing file or folder away, or choose another name"))
}
