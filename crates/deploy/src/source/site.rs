//! Finds what to deploy (the source) and where to (the place and its folders).

use std::path::Path;

use serde_json::{Value, json};

use super::choice::{ALL, Choice, DEFAULT_PROFILE, Scope, real};
use super::chosen;
use super::deploy_root::deploy_root;
use super::named::Named;
use super::which::Source;
use crate::desired::builder::Collisions;
use crate::module::Module;
use crate::project::{self, Broken, Composition};
use crate::repo::{self, Checkouts, Repo, identity};
use crate::targets::bases::{self, Bases};
use crate::targets::{Layout, Target, TargetConfig};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256::Sha;
use mcpkg_base::shell::quote;
use mcpkg_core::op::{Context, Identity};
use mcpkg_store::Db;
use mcpkg_store::deploys::{self, PlaceKey};
use mcpkg_store::projects::Project;

#[derive(Debug)]
pub struct Site {
    pub source: Source,
    /// The place: source, machine and root. Snapshots, deployed files and tokens refer to it.
    pub place: PlaceKey,
    /// The folders that the paths of deployed files are relative to.
    pub bases: Bases,
    pub profile: String,
    /// The user's choice of targets: `all`, or names separated by commas.
    pub filter: String,
    /// The targets that the choice selects.
    pub selected: Vec<Target>,
    /// The configuration of each configured target.
    pub configs: Vec<TargetConfig>,
    /// Whether files are written below the deploy root or to the user's own folders.
    pub scope: Scope,
    /// The only files to deploy; all if it is empty.
    pub only: Named,
    /// The command line options for the project, root, machine, prompt files, allowed folders and single files, as far
    /// as the user gave them.
    pub named: String,
}

/// The modules of a source.
#[derive(Debug)]
pub struct Composed {
    pub modules: Vec<Module>,
    pub warnings: Vec<String>,
    /// The modules with text that cannot be written to files.
    pub broken: Vec<Broken>,
}

impl Site {
    /// Finds the source and the place for a choice.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if the user passes both `--repo` and `--project`, or if the root is not a folder;
    /// `E_NO_PROJECT`; `E_NOT_FOUND`; `E_ROOT_REQUIRED`; `E_TARGET_UNSUPPORTED`; `E_CONFIG_INVALID` for a target or
    /// profile that the source does not have; the errors of [`Repo::open`](crate::repo::Repo::open).
    pub fn find(context: &Context, choice: &Choice) -> Result<Self> {
        Self::find_with(context, choice, identity::project)
    }

    /// Finds the source and the place again. Uses what was fetched before instead of running git.
    ///
    /// # Errors
    /// `E_PLAN_CHANGED` if the root has changed, and the errors of [`Site::find`].
    pub fn find_again(context: &Context, choice: &Choice, checkouts: &Checkouts) -> Result<Self> {
        Self::find_with(context, choice, |root| checkouts.project(root))
    }

    /// Does the work of `find` and `find_again`. `project` returns the id of the project that a root belongs to; the
    /// id selects overlays.
    fn find_with(context: &Context, choice: &Choice, project: impl FnOnce(&Path) -> Result<String>) -> Result<Self> {
        let home = disk::home()?;
        let source = Source::find(context, choice, &home)?;
        let moved = bases::moved();
        let root = deploy_root(context, choice, &source, &home, &moved)?;
        let bases = Bases { root, home: real(&home), moved };
        let machine = identity::machine(choice.machine.as_deref());
        let scope = choice.scope;
        let root_text = |path: &Path| path.to_string_lossy().into_owned();
        let (place, configs) = match &source {
            Source::Repo(repo) => {
                let root = bases.root.clone().unwrap_or_else(|| bases.home.clone());
                let source = format!("repo:{}", project(&root)?);
                let origin = root_text(repo.folder());
                let configs = repo_configs(repo);
                if !choice.may_be_gone {
                    bases.check(&configs, |folder| repo.allows(folder))?;
                }
                (PlaceKey { source, origin, machine, root: root_text(&root) }, configs)
            }
            Source::Project(project) => {
                let root = match scope {
                    Scope::User => bases.home.clone(),
                    Scope::Project => bases.root()?.clone(),
                };
                let source = deploys::project_source(project.uuid);
                let place = PlaceKey { source, origin: String::new(), machine, root: root_text(&root) };
                let mut targets = context.store.read(|db| chosen::of(db, project))?;
                // In a shell, the user may name a target that `all` does not include.
                let named = choice.targets.iter().filter_map(|name| Target::named(name));
                targets.extend(named.filter(|_| context.is_shell()));
                targets.sort_unstable();
                targets.dedup();
                (place, project_configs(&targets, scope, choice.prompt_files))
            }
        };
        let (filter, selected) = select(&choice.targets, &configs, &source, context.is_shell())?;
        let profile = choice.profile.clone().unwrap_or_else(|| DEFAULT_PROFILE.to_owned());
        if profile != DEFAULT_PROFILE && matches!(source, Source::Project(_)) {
            return Err(Error::new(
                Code::ConfigInvalid,
                format!("Only config repos have profiles; a project has no profile '{profile}'"),
            )
            .with_details(json!({ "profile": profile }))
            .hint("choose a project's modules with `mcpkg module set`"));
        }
        let only = Named::of(context, &place.root, &choice.only);
        let named = named(context, choice, &source) + &only.arguments("--only");
        Ok(Self { source, place, only, bases, profile, filter, selected, configs, scope, named })
    }

    pub fn is_repo(&self) -> bool {
        matches!(self.source, Source::Repo(_))
    }

    /// Returns what happens if two modules want the same path. A config repo and agentpack's clients get the errors of
    /// agentpack.
    pub fn collisions(&self, context: &Context) -> Collisions {
        match self.is_repo() || context.caller.identity() == Identity::Agentpack {
            true => Collisions::Refused,
            false => Collisions::Settled,
        }
    }

    /// Whether the choice is `all`, not individual targets.
    pub fn is_for_all(&self) -> bool {
        self.filter == ALL
    }

    /// Returns the project's name; empty for a config repo.
    pub fn project_name(&self) -> &str {
        self.project().map_or("", |project| project.name.as_str())
    }

    /// Returns the project; `None` for a config repo.
    pub fn project(&self) -> Option<&Project> {
        match &self.source {
            Source::Repo(_) => None,
            Source::Project(project) => Some(project),
        }
    }

    /// Returns the inputs that a token is bound to in addition to the plan: the arguments with defaults filled in.
    pub fn inputs(&self) -> Value {
        let mut inputs = json!({
            "source": self.place.source,
            "origin": self.place.origin,
            "machine": self.place.machine,
            "root": self.place.root,
            "profile": self.profile,
            "target": self.filter,
            "targets": self.configs.iter().map(|config| config.target.name()).collect::<Vec<_>>(),
            "scope": self.scope,
            "options": self.configs.iter().map(|config| &config.options).collect::<Vec<_>>(),
        });
        if !self.only.is_empty() {
            inputs["only"] = self.only.json();
        }
        inputs
    }

    /// Describes for a person which folders files are written to.
    pub fn destination(&self) -> String {
        let home = self.bases.home.display().to_string();
        let user = self.configs.iter().any(|config| config.user && self.selected.contains(&config.target));
        match (user, self.place.root == home) {
            (true, false) => format!("{} and {home}", self.place.root),
            _ => self.place.root.clone(),
        }
    }

    /// Returns the command line arguments that make the same choice. Defaults are omitted.
    pub fn arguments(&self) -> String {
        let mut words = String::new();
        if let Source::Repo(repo) = &self.source {
            words.push_str(&format!(" --repo {}", quote(&repo.folder().to_string_lossy())));
        }
        if self.profile != DEFAULT_PROFILE {
            words.push_str(&format!(" --profile {}", quote(&self.profile)));
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

    /// Fetches the git sources of a config repo. This may take minutes, so call it without holding a lock that others
    /// wait for.
    pub fn fetch(&self, context: &Context) -> Result<Checkouts> {
        match &self.source {
            Source::Repo(repo) => {
                let asked = std::cell::Cell::new(0);
                let ask = || {
                    // The total is unknown: nobody knows in advance how many requests to remotes are needed.
                    (context.progress)("Fetching", asked.get(), asked.get() + 1);
                    asked.set(asked.get() + 1);
                    (context.step_aside)();
                };
                let mut checkouts = repo.fetch(&self.profile, &context.cancelled, &ask)?;
                if asked.get() > 0 {
                    (context.progress)("Fetching", asked.get(), asked.get());
                }
                let root = self.bases.root.clone().unwrap_or_else(|| self.bases.home.clone());
                checkouts.set_project(root, self.repo_choice().project.to_owned());
                Ok(checkouts)
            }
            Source::Project(_) => Ok(Checkouts::default()),
        }
    }

    /// Composes the modules of a config repo without using the database. Returns `None` for a project.
    pub fn compose_repo(&self, checkouts: &Checkouts) -> Result<Option<Composed>> {
        let Source::Repo(repo) = &self.source else { return Ok(None) };
        let repo::Composed { modules, warnings } = repo.compose(&self.repo_choice(), checkouts)?;
        Ok(Some(Composed { modules, warnings, broken: Vec::new() }))
    }

    /// Returns the modules of the source. For a config repo, `composed` already contains them.
    pub fn compose(&self, context: &Context, db: &Db<'_>, composed: Option<Composed>) -> Result<Composed> {
        match (&self.source, composed) {
            (Source::Project(project), _) => {
                let told = |done, total| (context.progress)("Reading", done, total);
                let Composition { modules, mut warnings, broken } = project::compose(db, project, told)?;
                warnings.extend(broken.iter().map(Broken::warning));
                Ok(Composed { modules, warnings, broken })
            }
            (Source::Repo(_), Some(composed)) => Ok(composed),
            (Source::Repo(_), None) => Err(Error::internal("a config repo was not composed")),
        }
    }

    /// Returns what selects the parts of a config repo: profile, machine and project.
    pub fn repo_choice(&self) -> repo::Choice<'_> {
        let project = self.place.source.trim_start_matches("repo:");
        repo::Choice { profile: &self.profile, machine: &self.place.machine, project }
    }

    /// Returns a fingerprint of the source, read inside a transaction. A config repo has no fingerprint: its files can
    /// change at any time.
    pub fn fingerprint(&self, db: &Db<'_>) -> Result<Option<Sha>> {
        match &self.source {
            Source::Repo(_) => Ok(None),
            Source::Project(project) => project::fingerprint(db, project.id).map(Some),
        }
    }
}

fn named(context: &Context, choice: &Choice, source: &Source) -> String {
    let project = context.selection.named.as_deref().filter(|_| matches!(source, Source::Project(_)));
    let root = choice.root.as_ref().map(|root| root.to_string_lossy());
    let named = [("project", project), ("root", root.as_deref()), ("machine", choice.machine.as_deref())];
    let prompt_files = if choice.prompt_files { " --prompt-files" } else { "" };
    let words = named.iter().filter_map(|(flag, value)| Some(format!(" --{flag} {}", quote((*value)?))));
    let outside = choice.allow_outside.iter().map(|folder| folder.to_string_lossy());
    let outside = outside.map(|folder| format!(" --allow-outside {}", quote(&folder)));
    words.chain([prompt_files.to_owned()]).chain(outside).collect()
}

fn repo_configs(repo: &Repo) -> Vec<TargetConfig> {
    let config = |(target, config): (&Target, &repo::DeclaredTarget)| TargetConfig {
        target: *target,
        user: matches!(config.scope, repo::Scope::User | repo::Scope::Both),
        project: matches!(config.scope, repo::Scope::Project | repo::Scope::Both),
        layout: match config.options.get("layout").and_then(Value::as_str) {
            Some("current") => Layout::Current,
            _ => Layout::Original,
        },
        options: config.options.clone(),
    };
    repo.targets().iter().map(config).collect()
}

fn project_configs(targets: &[Target], scope: Scope, prompt_files: bool) -> Vec<TargetConfig> {
    let options = serde_json::Map::from_iter([("prompt_files".to_owned(), json!(prompt_files))]);
    let config = |target| TargetConfig {
        target,
        user: scope == Scope::User,
        project: scope == Scope::Project,
        layout: Layout::Current,
        options: options.clone(),
    };
    targets.iter().copied().map(config).collect()
}

/// Returns the choice as one word, such as `codex,cursor`, and the targets that it selects.
fn select(
    names: &[String],
    configs: &[TargetConfig],
    source: &Source,
    is_shell: bool,
) -> Result<(String, Vec<Target>)> {
    let mut selected = Vec::new();
    for name in names.iter().filter(|name| *name != ALL) {
        selected.push(named_target(name, configs, source, is_shell)?);
    }
    if selected.is_empty() || names.iter().any(|name| name == ALL) {
        return Ok((ALL.to_owned(), configs.iter().map(|config| config.target).collect()));
    }
    selected.sort_unstable();
    selected.dedup();
    let filter = selected.iter().map(|target| target.name()).collect::<Vec<_>>().join(",");
    Ok((filter, selected))
}

fn named_target(filter: &str, configs: &[TargetConfig], source: &Source, is_shell: bool) -> Result<Target> {
    let is_configured = |target: &Target| configs.iter().any(|config| config.target == *target);
    let is_known = |target: &Target| is_shell || target.facts().in_contract || is_configured(target);
    let Some(target) = Target::named(filter).filter(is_known) else {
        let known = Target::all().iter().filter(|target| is_known(target)).map(|target| target.name());
        let allowed: Vec<&str> = std::iter::once(ALL).chain(known).collect();
        let error = Error::new(Code::TargetUnsupported, format!("No target is called '{filter}'"))
            .with_details(json!({ "target": filter, "allowed": allowed }));
        return Err(error.suggest(filter, allowed.iter().copied(), format!("the targets are {}", allowed.join(", "))));
    };
    if is_configured(&target) {
        return Ok(target);
    }
    let configured = configs.iter().map(|config| config.target.name()).collect::<Vec<_>>().join(", ");
    let how = match source {
        Source::Repo(_) => "add the target to `targets` in agentpack.yaml".to_owned(),
        Source::Project(_) => format!("enable the target with `mcpkg target enable {filter}`"),
    };
    let hint = format!("{how}, or choose one of: {configured}");
    let named = match source {
        Source::Repo(repo) => repo.folder().display().to_string(),
        Source::Project(project) => project.name.clone(),
    };
    Err(Error::new(Code::ConfigInvalid, format!("Target '{filter}' is not configured in `{named}`"))
        .with_details(json!({ "target": filter, "hint": hint }))
        .hint(hint))
}
