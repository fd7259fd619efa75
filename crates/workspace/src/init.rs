//! `mcpkg workspace init`: clones the repositories and writes the manifest, all or nothing.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::clone::{self, Origin};
use super::journal::{self, Plan};
use super::lock::Lock;
use super::manifest::{self, NewRepo};
use super::root::{MANIFEST, find, start};
use super::step::{Step, relative};
use super::{carry, names};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::consent::request;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, Operation, Reach, Reply, Shape, Table};

/// A repository to add to a workspace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepoArg {
    /// URL to clone from
    #[serde(default)]
    url: String,
    /// Folder to clone into, relative to the workspace [default: the last part of the URL]
    #[serde(default)]
    path: Option<String>,
}

impl std::str::FromStr for RepoArg {
    type Err = std::convert::Infallible;

    /// Parses `URL` or `URL=PATH`.
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        // A URL may contain `=`, but a path may not, so split at the last one.
        Ok(match text.rsplit_once('=') {
            Some((url, path)) if !url.is_empty() && !path.contains(['?', '&', ':']) => {
                Self { url: url.to_owned(), path: Some(path.to_owned()) }
            }
            _ => Self { url: text.to_owned(), path: None },
        })
    }
}

/// Create a workspace in the current folder
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Init {
    /// Workspace name [default: the folder's name]
    #[serde(default)]
    name: Option<String>,
    /// Repository to clone: an https, ssh, git or file URL, host:path or a folder; append =PATH to clone into the folder PATH
    #[arg(long = "repo", value_name = "URL[=PATH]")]
    #[serde(default)]
    repos: Vec<RepoArg>,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

/// A repository to clone.
pub(super) struct New {
    pub name: String,
    /// The target folder, relative to the root.
    pub path: String,
    pub origin: Origin,
    /// Whether the folder already holds a clone of the repository.
    pub is_there: bool,
}

impl Operation for Init {
    const TOOL: &'static str = "smctl_workspace_init";
    const CLI: &'static [&'static str] = &["workspace", "init"];
    const TITLE: &'static str = "Initialize workspace";
    const ABOUT: &'static str = "Initialize a SmallAIOS multi-repo workspace";
    const HELP: &'static str = "Clones the repositories and gives each repository a main and a develop branch. If \
        any repository fails, mcpkg removes everything that it has created. If the target folder of a repository \
        already holds a clone of that repository, mcpkg reuses the clone. mcpkg refuses any other target folder \
        that is not empty.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workspace init",
        "mcpkg workspace init shop --repo https://example.org/lib.git --repo git@example.org:api.git=services/api",
    ];
    const EFFECT: Effect = Effect::Create;
    /// If the new workspace is in a server's folder, the server lists the workspace tools from then on.
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const MAY_NEED_CONSENT: bool = true;
    const SHAPE: Shape = super::SHAPE;
    const GROUP: &'static str = super::GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Workspace name"},"repos":{"type":"array","items":{"type":"object","properties":{"url":{"type":"string"},"path":{"type":"string"}}}}},"required":["name"]}"#,
    );
    type Output = mcpkg_core::op::NoOutput;

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let root = place(context)?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        };
        if name.trim().is_empty() || name.len() > 100 || name.contains(char::is_control) {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`{}` is not a valid workspace name", name.escape_debug()),
            )
            .hint("a name has 1 to 100 characters"));
        }
        let new = wanted(context, &root, &self.repos)?;
        consent(context, &root, &new)?;
        if self.dry_run {
            return Ok(shown(&root, &name, &new, true));
        }
        // First clean up after a run that was killed.
        journal::put_right(context, &root, None)?;
        let lock = Lock::take(context, &root, "workspace init")?;
        if find(&root).is_some() {
            return Err(exists(&root));
        }
        let made = make(context, &root, &name, &new, &lock);
        if made.is_err() {
            lock.remove_own(&root);
        }
        Ok(shown(&root, &name, &new, false).warn(made?))
    }
}

/// Clones the repositories and writes the manifest, or does neither; returns warnings about the cleanup.
fn make(context: &Context, root: &Path, name: &str, new: &[New], lock: &Lock) -> Result<Vec<String>> {
    let temporary = |index: usize, run| journal::temporary(root, run).join(index.to_string());
    let uuid = context.clock.uuid();
    let mark = uuid.to_string();
    let cloned = clone_all(context, root, new, &mark, "develop", |index| temporary(index, uuid));
    let result = cloned.and_then(|mains| {
        let manifest = manifest_text(name, new, &mains);
        manifest::read(&manifest, MANIFEST)?;
        let fresh = || new.iter().enumerate().filter(|(_, new)| !new.is_there);
        let land = fresh().map(|(index, new)| Step::Place {
            repo: new.name.clone(),
            temporary: relative(root, &temporary(index, uuid)),
            path: new.path.clone(),
            mark: mark.clone(),
        });
        let write = Step::Write { path: MANIFEST.to_owned(), old: None, new: Some(manifest) };
        let unmark = |new: &New| Step::Unmark { repo: new.name.clone(), path: new.path.clone(), mark: mark.clone() };
        let plan = Plan {
            workspace: name.to_owned(),
            operation: "workspace init",
            subject: name.to_owned(),
            uuid,
            land: land.chain([write]).collect(),
            tidy: fresh().map(|(_, new)| unmark(new)).collect(),
            becomes: Vec::new(),
        };
        journal::carry_out(context, root, lock, &plan)
    });
    let left = carry::clear(&journal::temporary(root, uuid));
    let mut warnings = result?;
    warnings.extend(left);
    Ok(warnings)
}

fn place(context: &Context) -> Result<PathBuf> {
    let start = start(&context.selection);
    let root = mcpkg_base::platform::real(&start).map_err(|error| disk::failed("use", &start, error))?;
    if let Some(there) = find(&root) {
        return Err(exists(&there));
    }
    if is_reserved(&root) {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("`{}` cannot be a workspace: it is the home folder, `/`, or an agent's own folder", root.display()),
        )
        .hint("create a folder for the workspace, and run the command there"));
    }
    Ok(root)
}

/// Returns whether the folder is the home folder, a folder above it, or a hidden folder such as `~/.config` with
/// everything below it. Agents keep their own files in hidden folders.
fn is_reserved(folder: &Path) -> bool {
    let Some(home) = disk::home().ok().and_then(|home| mcpkg_base::platform::real(&home).ok()) else {
        return folder.parent().is_none();
    };
    let below = folder.strip_prefix(&home).ok().and_then(|below| below.iter().next());
    home.starts_with(folder) || below.is_some_and(|first| first.as_encoded_bytes().starts_with(b"."))
}

fn exists(root: &Path) -> Error {
    Error::new(Code::WorkspaceExists, format!("`{}` is already a workspace", root.display()))
        .with_details(json!({ "path": root.display().to_string() }))
        .hint("`mcpkg workspace add URL` adds a repository to this workspace")
}

/// Parses the repositories to clone and checks their target folders.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if a URL or a path is invalid, or if two repositories would share a name or a folder;
/// `E_IO_INVALID_PATH` if a link leads out of the workspace; `E_WORKSPACE_EXISTS` if something else is in a target folder.
pub(super) fn wanted(context: &Context, root: &Path, repos: &[RepoArg]) -> Result<Vec<New>> {
    // As in git, a relative path starts at the folder where you ran the command.
    let start = Some(Path::new(&context.selection.directory)).filter(|folder| folder.is_absolute()).unwrap_or(root);
    let mut all: Vec<New> = Vec::new();
    for repo in repos {
        let origin = Origin::read(&repo.url, start)?;
        let name = match &repo.path {
            Some(path) => path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned(),
            None => origin.name()?,
        };
        let path = repo.path.as_deref().unwrap_or(&name).trim_end_matches('/').to_owned();
        if !names::is_repo_path(&path) || !names::is_name(&name) {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`{}` is not a valid path for a repository", path.escape_debug()),
            )
            .hint("use a path below the workspace, without `..`, `.git` and `.smctl`"));
        }
        let folder = super::root::below(root, &path)?;
        if let Some(other) = all.iter().find(|other| other.name == name || other.path == path) {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("Two repositories would share the name '{name}' or the folder `{}`", other.path),
            )
            .hint("choose another folder for one of them: --repo URL=PATH"));
        }
        let is_there = is_there(context, &folder, &origin)?;
        all.push(New { name, path, origin, is_there });
    }
    Ok(all)
}

/// Returns whether the folder already holds a clone of this repository.
fn is_there(context: &Context, folder: &Path, origin: &Origin) -> Result<bool> {
    let mut entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        entries => entries.map_err(|error| disk::failed("read", folder, error))?,
    };
    if entries.next().is_none() {
        return Ok(false);
    }
    let git = mcpkg_base::git::Git::of(folder, &context.cancelled);
    let url = folder.join(".git").exists().then(|| git.ask(&["config", "--get", "remote.origin.url"])).transpose()?;
    let url = url.flatten().map(|url| String::from_utf8_lossy(url.trim_ascii()).into_owned());
    if url.is_some_and(|url| url == origin.address || url == origin.shown()) {
        return Ok(true);
    }
    Err(Error::new(
        Code::WorkspaceExists,
        format!("`{}` already exists, and is not a clone of `{}`", folder.display(), origin.shown()),
    )
    .with_details(json!({ "path": folder.display().to_string() }))
    .hint("move the existing file or folder away, or choose another folder: --repo URL=PATH"))
}

/// Asks a person for permission if an agent wants to clone from a folder outside the workspace.
fn consent(context: &Context, root: &Path, new: &[New]) -> Result<()> {
    let outside = |new: &&New| new.origin.local.as_ref().is_some_and(|local| !local.starts_with(root));
    let effects: Vec<String> = new
        .iter()
        .filter(outside)
        .map(|new| format!("clone {} into {}", new.origin.shown(), root.join(&new.path).display()))
        .collect();
    if context.is_shell() || effects.is_empty() {
        return Ok(());
    }
    let inputs = json!({ "root": root, "clones": effects });
    let plan_hash = sha256::hex(inputs.to_string().as_bytes());
    let need = request::Need {
        operation: Init::TOOL,
        project: "",
        inputs: &inputs,
        plan_hash: &plan_hash,
        summary: format!("Clone from folders outside of `{}`", root.display()),
        effects,
        effect: Init::EFFECT,
    };
    let consent = request::ask(context, &need)?;
    context.store.write(|db| consent.consume(context, db))
}

/// Clones the missing repositories into temporary folders, as many in parallel as there are processors, and creates the
/// missing branches in the others. Returns the main branch of every repository.
pub(super) fn clone_all(
    context: &Context,
    root: &Path,
    new: &[New],
    mark: &str,
    develop: &str,
    temporary: impl Fn(usize) -> PathBuf + Sync,
) -> Result<Vec<String>> {
    let total = new.len() as u64;
    super::parallel::each(new, |index, new| {
        (context.progress)(&format!("cloning {}", new.name), index as u64, total);
        if new.is_there {
            let folder = root.join(&new.path);
            return clone::prepare(&new.name, &mcpkg_base::git::Git::of(&folder, &context.cancelled), develop, None);
        }
        clone::make(&new.name, &new.origin, &temporary(index), mark, develop, None, &context.cancelled)
    })
    .into_iter()
    .collect()
}

fn manifest_text(name: &str, new: &[New], mains: &[String]) -> String {
    let urls: Vec<String> = new.iter().map(|new| new.origin.shown()).collect();
    let repos: Vec<NewRepo<'_>> = new
        .iter()
        .zip(&urls)
        .zip(mains)
        .map(|((new, url), main)| NewRepo { name: &new.name, url, path: &new.path, default_branch: main })
        .collect();
    manifest::new(name, &repos)
}

fn shown(root: &Path, name: &str, new: &[New], dry_run: bool) -> Reply {
    let repos: Vec<Value> =
        new.iter().map(|new| json!({ "name": new.name, "path": new.path, "cloned": !new.is_there })).collect();
    let mut data = json!({
        "name": name,
        "root": root.display().to_string(),
        "manifest_path": root.join(MANIFEST).display().to_string(),
        "repos": repos,
    });
    if dry_run {
        data["dry_run"] = true.into();
    }
    let verb = if dry_run { "Would create" } else { "Created" };
    let sentence = Body::Sentence(format!("{verb} the workspace '{name}' in {}", root.display()));
    let rows: Vec<Vec<String>> = new
        .iter()
        .map(|new| {
            let how = match (new.is_there, dry_run) {
                (true, _) => "existing clone",
                (false, true) => "to clone",
                (false, false) => "cloned",
            };
            vec![new.name.clone(), new.path.clone(), how.to_owned(), new.origin.shown()]
        })
        .collect();
    let body = if rows.is_empty() {
        sentence
    } else {
        let table = Table { columns: &["REPO", "PATH", "HOW", "FROM"], rows, empty: String::new() };
        Body::Several(vec![sentence, Body::Table(table)])
    };
    let reply = Reply::new(body, data);
    if dry_run {
        reply
    } else if new.is_empty() {
        reply.hint("`mcpkg workspace add URL` adds a repository")
    } else {
        reply.hint("start a change in all repositories: `mcpkg flow feature start NAME`")
    }
}
