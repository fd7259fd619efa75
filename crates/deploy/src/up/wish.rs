//! Decides what `mcpkg up` is about: the folder, the project, the source and the agents.

use std::path::{Path, PathBuf};

use crate::source::{Choice, is_an_agents_own};
use crate::targets::{Target, bases};
use mcpkg_agents::agents::{self, Agent};
use mcpkg_agents::client::connections;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::{disk, git};
use mcpkg_core::names::{self, is_name_byte};
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::projects::{self, Selection};
use mcpkg_store::targets::{self, Of};

pub(super) struct Wish {
    /// The folder to set up, with links resolved.
    pub(super) folder: PathBuf,
    /// The repository to add as a source.
    pub(super) source: Option<String>,
    /// The name of the project.
    pub(super) project: String,
    /// Whether the project still has to be created.
    pub(super) is_new: bool,
    /// Whether the folder is already bound to the project.
    is_bound: bool,
    pub(super) agents: Vec<&'static Agent>,
    pub(super) only: Vec<String>,
    /// The plugins of the source to take. Empty means all.
    pub(super) plugins: Vec<String>,
    pub(super) connects: bool,
}

impl Wish {
    pub(super) fn new(
        context: &Context,
        what: Option<&str>,
        agents: &[String],
        only: &[String],
        plugins: &[String],
        connects: bool,
    ) -> Result<Self> {
        let (folder, source) = folder(context, what)?;
        if source.is_none() && !plugins.is_empty() {
            return Err(Error::new(Code::InvalidArgument, "--plugin chooses from a repository, and none is given")
                .hint("name it, as in `mcpkg up anthropics/claude-code --plugin code-review`"));
        }
        let agents = chosen(agents)?;
        let bound = stored(&folder)?;
        let (project, is_new, is_bound) = context.store.read(|db| {
            let owner = projects::bound_to(db, &bound)?.map(|project| project.name);
            let (name, is_new) = match (&context.selection.named, &owner) {
                (Some(named), _) => (named.clone(), !exists(db, named)?),
                (None, Some(owner)) => (owner.clone(), false),
                (None, None) => free_name(db, &folder)?,
            };
            let is_bound = owner.as_ref() == Some(&name);
            Ok((name, is_new, is_bound))
        })?;
        names::check("Project", &project)?;
        let (only, plugins) = (only.to_vec(), plugins.to_vec());
        Ok(Self { folder, source, project, is_new, is_bound, agents, only, plugins, connects })
    }

    /// Returns the same context with the project selected.
    pub(super) fn context(&self, context: &Context) -> Context {
        let mut context = context.clone();
        context.selection.named = Some(self.project.clone());
        context.selection.named_by = "mcpkg up";
        context
    }

    /// Returns what to deploy, and where.
    pub(super) fn choice(&self) -> Choice {
        let targets = self.deployed().map(|agent| agent.id.to_owned()).collect();
        Choice { targets, root: Some(self.folder.clone()), ..Choice::default() }
    }

    /// Returns the agents to deploy to: those that read more than MCP servers.
    pub(super) fn deployed(&self) -> impl Iterator<Item = &'static Agent> + '_ {
        self.agents.iter().copied().filter(|agent| !agent.servers_only)
    }

    /// Creates the project if it is new, binds the folder to it, and makes the agents its targets.
    pub(super) fn make_project(&self, context: &Context) -> Result<()> {
        let name = &self.project;
        if self.is_new {
            let (uuid, now) = (context.clock.uuid(), context.clock.now());
            context.write_project("project.create", name, |db| projects::insert(db, uuid, name, now))?;
        }
        if !self.is_bound {
            let folder = stored(&self.folder)?;
            context.write_project("project.select", name, |db| projects::bind(db, name, &folder))?;
        }
        self.add_targets(context)
    }

    /// Adds the agents to the project's targets. If the project has no targets yet, these agents become its only ones.
    /// `mcpkg plan`, `status` and `deploy` then use the same agents.
    fn add_targets(&self, context: &Context) -> Result<()> {
        let wanted: Vec<&str> = self.deployed().map(|agent| agent.id).collect();
        let (of, now) = context.store.read(|db| {
            let project = projects::get(db, &self.project)?;
            let of = Of::Project(project.uuid);
            Ok((of, targets::chosen(db, of)?.unwrap_or_default()))
        })?;
        let has = |name: &str| now.iter().any(|known| known == name);
        if wanted.iter().all(|name| has(name)) {
            return Ok(());
        }
        let names = Target::all().iter().map(|target| target.name());
        let names: Vec<&str> = names.filter(|name| has(name) || wanted.contains(name)).collect();
        context.write_project("target.enable", &self.project, |db| targets::choose(db, of, &names))
    }
}

/// Returns the folder to set up, and the repository to add, if any. `what` names one of them. If it does not name a
/// folder, the folder [`around`] the working directory is used.
pub(super) fn folder(context: &Context, what: Option<&str>) -> Result<(PathBuf, Option<String>)> {
    let home = disk::home()?;
    let home = mcpkg_base::platform::real(&home).unwrap_or(home);
    let (folder, source) = match what {
        Some(path) if Path::new(path).is_dir() => {
            let real = mcpkg_base::platform::real(Path::new(path))
                .map_err(|error| Error::file("read", Path::new(path), error))?;
            (real, None)
        }
        Some(path) if path.starts_with(['/', '.', '~']) => {
            return Err(Error::new(Code::NotFound, format!("There is no folder `{path}`")));
        }
        source => {
            source.map_or(Ok(()), mcpkg_content::source::check_address)?;
            (around(context, &home)?, source.map(str::to_owned))
        }
    };
    if home.starts_with(&folder) {
        let what = if folder == home { "your home folder" } else { "a folder above your home folder" };
        return Err(Error::new(
            Code::InvalidArgument,
            format!("`{}` is {what}, and `mcpkg up` sets up the folder of one project", folder.display()),
        )
        .hint("go to the project's folder, or name it, as in `mcpkg up ~/code/shop`")
        .hint("to write to your agents' folders in your home folder, use `mcpkg deploy --scope user`"));
    }
    if is_an_agents_own(&folder, &home, &bases::moved()) {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("`{}` belongs to an agent, and `mcpkg up` sets up the folder of a project", folder.display()),
        )
        .hint("go to the project's folder, or name it, as in `mcpkg up ~/code/shop`"));
    }
    Ok((folder, source))
}

/// Returns the folder around the working directory: the nearest one that is bound to a project, otherwise the top of the
/// git repository, otherwise the working directory. Ignores bindings and repositories of the home folder or a folder above it.
fn around(context: &Context, home: &Path) -> Result<PathBuf> {
    let started = PathBuf::from(&context.selection.directory);
    if context.selection.directory.is_empty() {
        return Err(Error::new(Code::InvalidArgument, "The working directory is unknown")
            .hint("name the folder, as in `mcpkg up ~/code/shop`"));
    }
    let bound = context.store.read(|db| {
        for folder in started.ancestors().take_while(|folder| !home.starts_with(folder)) {
            if let Some(path) = Selection::folder(folder)
                && projects::bound_to(db, &path)?.is_some()
            {
                return Ok(Some(folder.to_owned()));
            }
        }
        Ok(None)
    })?;
    let top = || git::toplevel(&started).filter(|top| !home.starts_with(top));
    Ok(bound.or_else(top).unwrap_or(started))
}

/// Returns a folder's path in the form that bindings store.
pub(super) fn stored(folder: &Path) -> Result<String> {
    Selection::folder(folder)
        .ok_or_else(|| Error::new(Code::InvalidArgument, format!("The path `{}` is not valid UTF-8", folder.display())))
}

fn chosen(names: &[String]) -> Result<Vec<&'static Agent>> {
    let agents = match names {
        [] => connections::installed()?,
        names => {
            let named = |agent: &&&Agent| names.iter().any(|name| name == agent.name);
            agents::ALL.iter().filter(named).copied().collect()
        }
    };
    if agents.iter().any(|agent| !agent.servers_only) {
        return Ok(agents);
    }
    Err(Error::new(Code::NotFound, "Found no coding agent on this machine that reads a project's files")
        .hint("name the agents that you use, as in `mcpkg up --agents claude-code,codex`")
        .hint("`mcpkg client list` lists the agents that mcpkg knows"))
}

fn exists(db: &Db<'_>, name: &str) -> Result<bool> {
    match projects::get(db, name) {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Code::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the project for a folder that is not bound to one, and whether the project has to be created. An existing project
/// with the folder's name is used if no folder is bound to it. Otherwise the name gets a number: `shop-2`.
fn free_name(db: &Db<'_>, folder: &Path) -> Result<(String, bool)> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let letter = |c: char| if u8::try_from(c).is_ok_and(is_name_byte) { c } else { '-' };
    let name: String = name.chars().map(letter).take(100).collect();
    let name = match name.trim_matches(['.', '-']) {
        "" => "main",
        name => name,
    };
    let mut number = 1;
    loop {
        let candidate = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        if !exists(db, &candidate)? {
            return Ok((candidate, true));
        }
        if projects::bindings(db, projects::get(db, &candidate)?.id)?.is_empty() {
            return Ok((candidate, false));
        }
        number += 1;
    }
}
