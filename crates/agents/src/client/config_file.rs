//! Finds the configuration file of an agent.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::binary::on_path;
use crate::agents::agent::Agent;
use crate::agents::homes::Homes;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::projects;

/// The users that an entry is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For your user, in every folder
    #[default]
    User,
    /// For everybody who works in this folder
    Project,
}

impl Scope {
    /// Returns the name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// An agent's configuration file for one scope.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// The agent that reads the file.
    pub agent: &'static Agent,
    /// Whether the file is the user's or a project's.
    pub scope: Scope,
    pub path: PathBuf,
    /// The folder of the project; `None` for the user's file.
    pub root: Option<PathBuf>,
}

impl ConfigFile {
    /// Finds an agent's file.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if the agent has no such scope, or if `root` is not a folder or does not fit the scope;
    /// `E_NOT_FOUND` if `root` does not exist, or another code of [`disk::failed`] if it cannot be used;
    /// `E_ROOT_REQUIRED` if HOME is not set, or if no project folder can be found.
    pub fn find(context: &Context, agent: &'static Agent, scope: Scope, root: Option<&Path>) -> Result<Self> {
        let homes = Homes::find()?;
        if scope == Scope::User {
            if root.is_some() {
                return Err(Error::new(Code::InvalidArgument, "--root applies only to entries with --scope project")
                    .hint("add --scope project"));
            }
            return Ok(Self { agent, scope, path: agent.user_file(&homes), root: None });
        }
        let root = project_root(context, &homes, root)?;
        let Some(path) = agent.project_file(&root) else {
            let title = agent.title;
            return Err(Error::new(Code::InvalidArgument, format!("{title} does not read per-project configuration"))
                .with_details(json!({ "agent": agent.name, "scopes": ["user"] }))
                .hint("connect the agent for your user: --scope user"));
        };
        Ok(Self { agent, scope, path, root: Some(root) })
    }

    /// Returns the configuration files that an agent may have: the user's, then that of the project around the working
    /// directory, if the agent reads such a file.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED` if HOME is not set.
    pub fn all(context: &Context, agent: &'static Agent) -> Result<Vec<Self>> {
        let homes = Homes::find()?;
        let user = Self { agent, scope: Scope::User, path: agent.user_file(&homes), root: None };
        let project = project_root(context, &homes, None).ok().and_then(|root| {
            let path = agent.project_file(&root)?;
            Some(Self { agent, scope: Scope::Project, path, root: Some(root) })
        });
        Ok(std::iter::once(user).chain(project).collect())
    }
}

/// Returns the folder for a project's entry, which is the first of these:
/// 1. the folder `named`,
/// 2. the innermost folder around the working directory that is bound to the current project,
/// 3. the git repository around the working directory,
/// 4. the working directory.
///
/// Fails if folder 1 is not a folder, or if folder 2, 3 or 4 is the home folder or contains it.
fn project_root(context: &Context, homes: &Homes, named: Option<&Path>) -> Result<PathBuf> {
    if let Some(root) = named {
        let root = match root.strip_prefix("~") {
            Ok(rest) => homes.home.join(rest),
            Err(_) => root.to_owned(),
        };
        let real = mcpkg_base::platform::real(&root).map_err(|error| disk::failed("use", &root, error))?;
        if !real.is_dir() {
            return Err(Error::new(Code::InvalidArgument, format!("The root `{}` is not a folder", root.display())));
        }
        return Ok(real);
    }
    let started = PathBuf::from(&context.selection.directory);
    let bound = context.store.read(|db| {
        let project = projects::resolve(db, &context.selection).ok().flatten();
        project.map_or(Ok(Vec::new()), |project| projects::bindings(db, project.id))
    })?;
    let around = bound.iter().filter(|folder| started.starts_with(folder)).max_by_key(|folder| folder.len());
    let root = match around {
        Some(folder) => PathBuf::from(folder),
        None => mcpkg_base::git::toplevel(&started).unwrap_or(started),
    };
    let home = mcpkg_base::platform::real(&homes.home).unwrap_or_else(|_| homes.home.clone());
    if !root.is_absolute() || home.starts_with(&root) {
        return Err(Error::new(
            Code::RootRequired,
            "This folder cannot be a project folder: it is or contains your home folder",
        )
        .hint("go to the project's folder, or pass the folder with --root DIR"));
    }
    Ok(root)
}

/// Returns whether an agent seems to be installed: its folder, its file, or its program on PATH exists.
pub fn is_installed(agent: &Agent, homes: &Homes) -> bool {
    agent.folder(homes).is_dir() || agent.user_file(homes).exists() || on_path(agent.client.program).is_some()
}
