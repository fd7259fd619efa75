//! Which source applies, where it lands, and the modules it gives.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::deploy::module::{Module, Target};
use crate::deploy::project;
use crate::deploy::repo::{self, Checkouts, Repo, identity};
use crate::deploy::targets::{Aim, Ground, Layout};
use crate::disk::{self, Sha};
use crate::error::{Code, Error, Result};
use crate::op::{Context, Identity};
use crate::store::Db;
use crate::store::deploys::{self, PlaceKey};
use crate::store::projects::{self, Project, Selection};

/// Where a project lands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Below the deploy root
    #[default]
    Project,
    /// In the agents' folders of the user
    User,
}

/// What is deployed, and where: the arguments that the operations of this domain share.
#[derive(Clone, Debug, Default, clap::Args, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Choice {
    /// Config repo to deploy [default: the project that applies]
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// Profile of the config repo [default: default]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Target: all, claude_code, codex, cursor or vscode [default: all]
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
    /// Machine, for the overlays of a config repo [default: this one]
    #[arg(long, value_name = "ID")]
    pub machine: Option<String>,
    /// Folder to deploy into [default: the folder bound to the project, else the git repository around this one]
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub root: Option<PathBuf>,
    /// Whether a project lands below the deploy root or in the user's own folders
    #[arg(long, value_name = "SCOPE", value_enum, default_value_t)]
    #[serde(skip)]
    pub scope: Scope,
    /// Write prompts as VS Code's prompt files too, which its agent sessions no longer load
    #[arg(long)]
    #[serde(skip)]
    pub prompt_files: bool,
    /// Another folder that the config repo may read files from; give it once for each
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub allow_outside: Vec<PathBuf>,
    /// Whether the root may be gone, since what lies below it is only taken back.
    #[arg(skip)]
    #[serde(skip)]
    pub may_be_gone: bool,
}

/// The name of the profile and the target that mean everything.
const DEFAULT_PROFILE: &str = "default";
const ALL: &str = "all";

/// Where modules come from.
#[derive(Debug)]
pub enum Source {
    /// A config repo.
    Repo(Box<Repo>),
    /// A project of the database.
    Project(Project),
}

/// A source with the places it lands in.
#[derive(Debug)]
pub struct Site {
    /// Where the modules come from.
    pub source: Source,
    /// What snapshots, deployed files and tokens hang on.
    pub place: PlaceKey,
    /// The folders that places are counted from.
    pub ground: Ground,
    /// The profile.
    pub profile: String,
    /// The choice of targets, as it was made: `all` or a name.
    pub filter: String,
    /// The targets that were chosen.
    pub selected: Vec<Target>,
    /// The targets that are configured.
    pub aims: Vec<Aim>,
    /// Whether it lands below the deploy root or in the user's own folders.
    pub scope: Scope,
    /// The project, the root and the machine as a command line names them, where they were named.
    pub named: String,
}

/// The modules of a source.
#[derive(Debug)]
pub struct Composed {
    /// The modules by id.
    pub modules: Vec<Module>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What changes with the source, where it can be asked again in the transaction of an apply.
    pub fingerprint: Option<Sha>,
}

impl Site {
    /// Finds the source and the places that a choice means.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` where a repo and a project are both named, `E_NO_PROJECT`, `E_NOT_FOUND`,
    /// `E_TARGET_UNSUPPORTED`, and what opening a config repo answers.
    pub fn find(context: &Context, choice: &Choice) -> Result<Self> {
        let home = disk::home()?;
        let source = Source::find(context, choice, &home)?;
        let codex_home = std::env::var_os("CODEX_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let root = deploy_root(context, choice, &source, &home, codex_home.as_deref())?;
        let ground = Ground { root, home: real(&home), codex_home };
        let machine = identity::machine(choice.machine.as_deref());
        let scope = choice.scope;
        let root_text = |path: &Path| path.to_string_lossy().into_owned();
        let (place, aims) = match &source {
            Source::Repo(repo) => {
                let root = ground.root.clone().unwrap_or_else(|| ground.home.clone());
                let source = format!("repo:{}", identity::project(&root)?);
                let origin = root_text(repo.folder());
                let aims = repo_aims(repo);
                if !choice.may_be_gone {
                    ground.check(&aims, |folder| repo.allows(folder))?;
                }
                (PlaceKey { source, origin, machine, root: root_text(&root) }, aims)
            }
            Source::Project(project) => {
                let root = match scope {
                    Scope::User => ground.home.clone(),
                    Scope::Project => ground.root()?.clone(),
                };
                let source = deploys::project_source(project.uuid);
                let place = PlaceKey { source, origin: String::new(), machine, root: root_text(&root) };
                (place, project_aims(scope, choice.prompt_files))
            }
        };
        let filter = choice.target.clone().unwrap_or_else(|| ALL.to_owned());
        let selected = select(&filter, &aims, &source)?;
        let profile = choice.profile.clone().unwrap_or_else(|| DEFAULT_PROFILE.to_owned());
        if profile != DEFAULT_PROFILE && matches!(source, Source::Project(_)) {
            return Err(Error::new(Code::ConfigInvalid, format!("A project has no profile '{profile}'"))
                .with_details(json!({ "profile": profile }))
                .hint("profiles are a config repo's; a project's modules are chosen with `mcpkg module set`"));
        }
        let named = named(context, choice, &source);
        Ok(Self { source, place, ground, profile, filter, selected, aims, scope, named })
    }

    /// Whether it is a config repo.
    pub fn is_repo(&self) -> bool {
        matches!(self.source, Source::Repo(_))
    }

    /// Whether every target is meant, and none by its name.
    pub fn is_for_all(&self) -> bool {
        self.filter == ALL
    }

    /// The project, for the trail and for what only projects can.
    pub fn project(&self) -> Option<&Project> {
        match &self.source {
            Source::Repo(_) => None,
            Source::Project(project) => Some(project),
        }
    }

    /// What a token is bound to besides the plan: what was asked for, with what was left out filled in.
    pub fn inputs(&self) -> Value {
        json!({
            "source": self.place.source,
            "origin": self.place.origin,
            "machine": self.place.machine,
            "root": self.place.root,
            "profile": self.profile,
            "target": self.filter,
            "scope": self.scope,
            "options": self.aims.iter().map(|aim| &aim.options).collect::<Vec<_>>(),
        })
    }

    /// The folders that are written below, for a person.
    pub fn lands_in(&self) -> String {
        let home = self.ground.home.display().to_string();
        let user = self.aims.iter().any(|aim| aim.user && self.selected.contains(&aim.target));
        match (user, self.place.root == home) {
            (true, false) => format!("{} and {home}", self.place.root),
            _ => self.place.root.clone(),
        }
    }

    /// The arguments that name this choice on a command line, where they are not the default.
    pub fn arguments(&self) -> String {
        let mut words = String::new();
        if let Source::Repo(repo) = &self.source {
            words.push_str(&format!(" --repo {}", shell_word(&repo.folder().to_string_lossy())));
        }
        if self.profile != DEFAULT_PROFILE {
            words.push_str(&format!(" --profile {}", shell_word(&self.profile)));
        }
        if self.filter != ALL {
            words.push_str(&format!(" --target {}", self.filter));
        }
        if self.scope == Scope::User {
            words.push_str(" --scope user");
        }
        words.push_str(&self.named);
        words
    }

    /// Fetches the git sources of a config repo. It may take minutes: nothing is held that others wait for.
    ///
    /// # Errors
    /// As [`Repo::fetch`].
    pub fn fetch(&self, context: &Context) -> Result<Checkouts> {
        match &self.source {
            Source::Repo(repo) => repo.fetch(&self.profile, &context.cancelled, &*context.step_aside),
            Source::Project(_) => Ok(Checkouts::default()),
        }
    }

    /// Composes the modules of a config repo, each once, without the database; `None` for a project.
    ///
    /// # Errors
    /// As [`Repo::compose`].
    pub fn compose_repo(&self, checkouts: &Checkouts) -> Result<Option<Composed>> {
        let Source::Repo(repo) = &self.source else { return Ok(None) };
        let repo::Composed { modules, warnings } = repo.compose(&self.repo_choice(), checkouts)?;
        Ok(Some(Composed { modules, warnings, fingerprint: None }))
    }

    /// Composes the modules of a project, each once; those of a config repo are `composed` already.
    ///
    /// # Errors
    /// What the project answers.
    pub fn compose(&self, db: &Db<'_>, composed: Option<Composed>) -> Result<Composed> {
        match (&self.source, composed) {
            (Source::Project(project), _) => {
                let (modules, warnings) = project::compose(db, project)?;
                Ok(Composed { modules, warnings, fingerprint: self.fingerprint(db)? })
            }
            (Source::Repo(_), Some(composed)) => Ok(composed),
            (Source::Repo(_), None) => Err(Error::internal("a config repo was not composed")),
        }
    }

    /// What is wanted of a config repo.
    pub fn repo_choice(&self) -> repo::Choice<'_> {
        let project = self.place.source.trim_start_matches("repo:");
        repo::Choice { profile: &self.profile, machine: &self.place.machine, project }
    }

    /// What changes with the source, asked inside a transaction; a config repo's files can change at any time.
    ///
    /// # Errors
    /// How the disk failed.
    pub fn fingerprint(&self, db: &Db<'_>) -> Result<Option<Sha>> {
        match &self.source {
            Source::Repo(_) => Ok(None),
            Source::Project(project) => project::fingerprint(db, project.id).map(Some),
        }
    }
}

impl Source {
    fn find(context: &Context, choice: &Choice, home: &Path) -> Result<Self> {
        let named = context.selection.named.as_deref();
        let allowed = choice.allow_outside.iter().chain(&context.allow_outside);
        let allowed: Vec<PathBuf> = allowed.map(|folder| expand(folder, home)).collect();
        let open = |folder: &Path| Ok(Source::Repo(Box::new(Repo::open(folder, &allowed)?)));
        if let Some(repo) = &choice.repo {
            if named.is_some() && context.selection.named_by == "--project" && context.is_shell() {
                return Err(Error::new(
                    Code::InvalidArgument,
                    "--repo and --project name two sources; give one of them",
                ));
            }
            return open(&expand(repo, home));
        }
        let agentpack = context.caller.identity() == Identity::Agentpack;
        let usual = repo_of_the_original(home);
        if named.is_none() && agentpack && usual.is_dir() {
            return open(&usual);
        }
        match context.store.read(|db| projects::resolve(db, &context.selection))? {
            Some(project) => Ok(Source::Project(project)),
            None if usual.is_dir() || agentpack => open(&usual),
            None => Err(Error::new(Code::NoProject, "No project is selected, and no config repo is named")
                .hint("select one with `mcpkg project select NAME`, or name a repo with --repo DIR")),
        }
    }
}

fn named(context: &Context, choice: &Choice, source: &Source) -> String {
    let project = context.selection.named.as_deref().filter(|_| matches!(source, Source::Project(_)));
    let root = choice.root.as_ref().map(|root| root.to_string_lossy());
    let named = [("project", project), ("root", root.as_deref()), ("machine", choice.machine.as_deref())];
    let prompt_files = if choice.prompt_files { " --prompt-files" } else { "" };
    let words = named.iter().filter_map(|(flag, value)| Some(format!(" --{flag} {}", shell_word((*value)?))));
    let outside = choice.allow_outside.iter().map(|folder| folder.to_string_lossy());
    let outside = outside.map(|folder| format!(" --allow-outside {}", shell_word(&folder)));
    words.chain([prompt_files.to_owned()]).chain(outside).collect()
}

fn repo_of_the_original(home: &Path) -> PathBuf {
    match std::env::var("AGENTPACK_HOME").ok().filter(|path| !path.is_empty()) {
        Some(folder) => expand(Path::new(&folder), home).join("repo"),
        None => home.join(".agentpack/repo"),
    }
}

fn repo_aims(repo: &Repo) -> Vec<Aim> {
    let aim = |(target, config): (&Target, &repo::TargetConfig)| Aim {
        target: *target,
        user: matches!(config.scope, repo::Scope::User | repo::Scope::Both),
        project: matches!(config.scope, repo::Scope::Project | repo::Scope::Both),
        layout: match config.options.get("layout").and_then(Value::as_str) {
            Some("current") => Layout::Current,
            _ => Layout::Original,
        },
        options: config.options.clone(),
    };
    repo.targets().iter().map(aim).collect()
}

fn project_aims(scope: Scope, prompt_files: bool) -> Vec<Aim> {
    let options = serde_json::Map::from_iter([("prompt_files".to_owned(), json!(prompt_files))]);
    let aim = |target| Aim {
        target,
        user: scope == Scope::User,
        project: scope == Scope::Project,
        layout: Layout::Current,
        options: options.clone(),
    };
    Target::ALL.into_iter().map(aim).collect()
}

fn select(filter: &str, aims: &[Aim], source: &Source) -> Result<Vec<Target>> {
    if filter == ALL {
        return Ok(aims.iter().map(|aim| aim.target).collect());
    }
    let Some(target) = Target::named(filter) else {
        let allowed: Vec<&str> = std::iter::once(ALL).chain(Target::ALL.into_iter().map(Target::name)).collect();
        let error = Error::new(Code::TargetUnsupported, format!("There is no target '{filter}'"))
            .with_details(json!({ "target": filter, "allowed": allowed }));
        return Err(match crate::error::nearest(filter, allowed.iter().copied()) {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error.hint(format!("the targets are {}", allowed.join(", "))),
        });
    };
    if aims.iter().any(|aim| aim.target == target) {
        return Ok(vec![target]);
    }
    let configured = aims.iter().map(|aim| aim.target.name()).collect::<Vec<_>>().join(", ");
    let hint = format!("add it to `targets` in agentpack.yaml, or choose one of: {configured}");
    let named = match source {
        Source::Repo(repo) => repo.folder().display().to_string(),
        Source::Project(project) => project.name.clone(),
    };
    Err(Error::new(Code::ConfigInvalid, format!("The target '{filter}' is not configured in `{named}`"))
        .with_details(json!({ "target": filter, "hint": hint }))
        .hint(hint))
}

/// Returns the deploy root: what the user names, else the folder bound to the project, else the git repository around
/// the folder where the command or server was started. The home folder and agents' own folders are taken only where
/// they are named.
fn deploy_root(
    context: &Context,
    choice: &Choice,
    source: &Source,
    home: &Path,
    codex_home: Option<&Path>,
) -> Result<Option<PathBuf>> {
    if let Some(root) = &choice.root {
        let root = expand(root, home);
        return match root.canonicalize() {
            Ok(real) if real.is_dir() => Ok(Some(real)),
            Err(_) if choice.may_be_gone => Ok(Some(root)),
            Ok(_) => Err(Error::new(Code::InvalidArgument, format!("The root `{}` is no folder", root.display()))),
            Err(error) => Err(disk::failed("use", &root, error)),
        };
    }
    let started = PathBuf::from(&context.selection.directory);
    if let Source::Project(project) = source {
        let bound = context.store.read(|db| projects::bindings(db, project.id))?;
        if let Some(folder) = bound_root(&bound, &started) {
            return Ok(Some(folder));
        }
    }
    if context.selection.directory.is_empty() {
        return Ok(None);
    }
    let folder = crate::git::toplevel(&started).unwrap_or(started);
    Ok((!is_an_agents_own(&folder, home, codex_home)).then_some(folder))
}

/// Returns which of the folders bound to a project is its deploy root: the nearest one around the folder where the command
/// or server was started, else the only one.
fn bound_root(bound: &[String], started: &Path) -> Option<PathBuf> {
    let around = bound.iter().filter(|folder| started.starts_with(folder)).max_by_key(|folder| folder.len());
    let only = (bound.len() == 1).then(|| bound.first()).flatten();
    around.or(only).map(PathBuf::from).filter(|folder| folder.is_dir())
}

/// Whether a server that was started in the folder of `selection` knows a deploy root without being told: a folder bound
/// to the project, or a git repository around that folder which is neither the home folder nor an agent's own.
///
/// # Errors
/// `E_DB_BUSY`, `E_STORAGE`.
pub fn has_root(db: &Db<'_>, selection: &Selection) -> Result<bool> {
    if let Some(project) = projects::served(db, selection)?
        && bound_root(&projects::bindings(db, project.id)?, Path::new(&selection.directory)).is_some()
    {
        return Ok(true);
    }
    if selection.directory.is_empty() {
        return Ok(false);
    }
    let Some(top) = crate::git::toplevel(Path::new(&selection.directory)) else { return Ok(false) };
    let codex_home = std::env::var_os("CODEX_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    Ok(disk::home().is_ok_and(|home| !is_an_agents_own(&top, &home, codex_home.as_deref())))
}

/// Whether a folder is the home folder, above it, or an agent's own.
fn is_an_agents_own(folder: &Path, home: &Path, codex_home: Option<&Path>) -> bool {
    let home = real(home);
    let own = [".codex", ".claude", ".cursor", ".copilot", ".agents", ".gemini", ".config", ".agentpack"];
    home.starts_with(folder)
        || codex_home.is_some_and(|codex| folder.starts_with(real(codex)))
        || own.iter().any(|name| folder.starts_with(home.join(name)))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn expand(path: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => path.to_owned(),
    }
}

/// A word as a POSIX shell reads it back.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:=@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(shell_word("/a/b-c"), "/a/b-c");
        assert_eq!(shell_word("a b'c"), r"'a b'\''c'");
    }

    #[test]
    fn an_agents_own_folders_are_no_deploy_roots() {
        let home = Path::new("/home/ada");
        for own in ["/home/ada", "/home", "/", "/home/ada/.codex", "/home/ada/.claude/x"] {
            assert!(is_an_agents_own(Path::new(own), home, None), "{own}");
        }
        assert!(is_an_agents_own(Path::new("/codex/a"), home, Some(Path::new("/codex"))));
        assert!(!is_an_agents_own(Path::new("/home/ada/code"), home, None));
    }
}
