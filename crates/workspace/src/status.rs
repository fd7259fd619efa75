//! `mcpkg workspace status`: shows the state of each repository. A repository that cannot be read still gets a row.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::build;
use super::lock;
use super::manifest::Repo;
use super::parallel;
use super::root::Workspace;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::status::{self, Extra, State, Status};
use mcpkg_base::git::{self, Git, Operation as InProgress};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// Show the state of each repository of the workspace
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowStatus {}

impl Operation for ShowStatus {
    const TOOL: &'static str = "smctl_workspace_status";
    const CLI: &'static [&'static str] = &["workspace", "status"];
    const TITLE: &'static str = "Workspace status";
    const ABOUT: &'static str = "Show status of all repos in the workspace";
    const HELP: &'static str = "The ahead and behind counts date from the last `mcpkg workspace sync` or `git fetch`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workspace status", "mcpkg -w ~/shop workspace status --json"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = super::SHAPE;
    const GROUP: &'static str = super::GROUP;
    const FACES: Faces = Faces::Both;
    const LISTS: Option<&'static str> = Some("repos");
    const SCHEMA: Option<&'static str> = Some(r#"{"type":"object","properties":{}}"#);
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let rows = look(context, &workspace)?;
        let busy = lock::holder(&workspace.root);
        let reply = Reply::new(Body::Table(table(&rows)), data(&workspace, &rows, busy.as_deref()));
        let missing = rows.iter().any(|row| matches!(row.found, RepoState::Missing));
        let reply = if missing { reply.hint("`mcpkg workspace sync` clones missing repositories") } else { reply };
        let busy = busy.map(|holder| format!("another mcpkg process is working in the workspace: {holder}"));
        Ok(reply.warn(workspace.manifest.warnings.iter().cloned().chain(busy)))
    }
}

/// Returns the reply of `smctl_workspace_status` and of the resource `smctl://workspace/status`.
pub fn read(context: &Context) -> Result<Value> {
    let workspace = Workspace::open(context)?;
    let rows = look(context, &workspace)?;
    Ok(data(&workspace, &rows, lock::holder(&workspace.root).as_deref()))
}

/// The state of a repository, and its last build.
struct Row {
    name: String,
    found: RepoState,
    /// The result of the last build; null if there was none.
    last_build: Value,
}

/// The state of the folder at a repository's path.
enum RepoState {
    Work(Status, Option<InProgress>),
    Missing,
    /// The reason why the repository cannot be read.
    Broken(String),
}

fn look(context: &Context, workspace: &Workspace) -> Result<Vec<Row>> {
    let built = build::last(context, workspace)?;
    let found = parallel::each(&workspace.manifest.repos, |_, repo| {
        let found = match state_of(context, workspace, repo) {
            // These errors concern all repositories, so stop here.
            Err(error) if matches!(error.code(), Code::GitNotFound | Code::Cancelled) => return Err(error),
            Err(error) => RepoState::Broken(error.message().to_owned()),
            Ok(found) => found,
        };
        Ok(Row { name: repo.name.clone(), found, last_build: built.get(&repo.name).cloned().unwrap_or_default() })
    });
    found.into_iter().collect()
}

fn state_of(context: &Context, workspace: &Workspace, repo: &Repo) -> Result<RepoState> {
    let folder = workspace.folder(repo)?;
    let Some(own) = git::own_folder(&folder) else { return without_git(&folder, repo) };
    let status = status::read(&Git::of(&folder, &context.cancelled), Extra::Untracked)?;
    Ok(RepoState::Work(status, git::operation(&own)))
}

/// Describes what is at the repository's path if there is no `.git`.
fn without_git(folder: &Path, repo: &Repo) -> Result<RepoState> {
    let mut entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(RepoState::Missing),
        Err(error) => return Err(Error::file("read", Path::new(&repo.path), error)),
        Ok(entries) => entries,
    };
    if entries.next().is_none() {
        return Ok(RepoState::Missing);
    }
    let is_bare = folder.join("HEAD").is_file() && folder.join("objects").is_dir();
    let why = if is_bare { "is a bare repository: it has no work tree" } else { "is not a git repository" };
    Ok(RepoState::Broken(format!("`{}` {why}", repo.path)))
}

fn data(workspace: &Workspace, rows: &[Row], busy: Option<&str>) -> Value {
    json!({
        "name": workspace.manifest.name,
        "root": workspace.root.display().to_string(),
        "repos": rows.iter().map(Row::data).collect::<Vec<_>>(),
        "busy": busy,
        "warnings": workspace.manifest.warnings,
    })
}

impl Row {
    fn data(&self) -> Value {
        let (state, error) = match &self.found {
            RepoState::Work(..) => ("ok", None),
            RepoState::Missing => ("missing", None),
            RepoState::Broken(why) => ("error", Some(why)),
        };
        let work = match &self.found {
            RepoState::Work(status, operation) => Some((status, operation)),
            RepoState::Missing | RepoState::Broken(_) => None,
        };
        let of = |value: &dyn Fn(&Status) -> Value| work.map_or(Value::Null, |(status, _)| value(status));
        json!({
            "name": self.name,
            "branch": of(&|status| branch(status).into()),
            "clean": of(&|status| status.is_clean().into()),
            "ahead": of(&|status| status.ahead.into()),
            "behind": of(&|status| status.behind.into()),
            "modified_files": of(&|status| status.count(State::Changed).into()),
            "untracked_files": of(&|status| status.count(State::Untracked).into()),
            "conflicted_files": of(&|status| status.count(State::Conflicted).into()),
            "head": of(&|status| status.head.clone().into()),
            "upstream": of(&|status| status.upstream.clone().into()),
            "operation": work.and_then(|(_, operation)| operation.map(InProgress::name)),
            "state": state,
            "error": error,
            "last_build": self.last_build,
        })
    }

    fn cells(&self) -> Vec<String> {
        let (branch, changes, upstream) = match &self.found {
            RepoState::Work(status, operation) => {
                (branch(status).to_owned(), changes(status, *operation), upstream(status))
            }
            RepoState::Missing => (String::new(), "missing".to_owned(), String::new()),
            RepoState::Broken(why) => (String::new(), format!("error: {why}"), String::new()),
        };
        vec![self.name.clone(), branch, changes, upstream]
    }
}

fn branch(status: &Status) -> &str {
    status.branch.as_deref().unwrap_or("detached")
}

/// Summarizes the uncommitted changes of a work tree: `2 changed, 1 untracked; merge in progress`.
pub fn changes(status: &Status, operation: Option<InProgress>) -> String {
    let counts = [(State::Conflicted, "conflicted"), (State::Changed, "changed"), (State::Untracked, "untracked")]
        .map(|(state, word)| (status.count(state), word));
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let counts = if counts.is_empty() { "clean".to_owned() } else { counts.join(", ") };
    match operation {
        Some(operation) => format!("{counts}; {} in progress", operation.name()),
        None => counts,
    }
}

fn upstream(status: &Status) -> String {
    match (&status.upstream, status.ahead, status.behind) {
        (None, ..) => String::new(),
        (Some(upstream), Some(0), Some(0)) => format!("= {upstream}"),
        (Some(upstream), Some(ahead), Some(behind)) => format!("+{ahead} -{behind} {upstream}"),
        (Some(upstream), ..) => format!("{upstream} is gone"),
    }
}

fn table(rows: &[Row]) -> Table {
    Table {
        columns: &["REPO", "BRANCH", "CHANGES", "UPSTREAM"],
        rows: rows.iter().map(Row::cells).collect(),
        empty: "The workspace has no repositories; add one with `mcpkg workspace add URL`".to_owned(),
    }
}
