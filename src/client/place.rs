//! Where each agent keeps its configuration.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::agent::Agent;
use crate::disk;
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::store::projects;

/// For whom an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For the user, in every folder
    #[default]
    User,
    /// For who works in this folder
    Project,
}

impl Scope {
    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// The folders that agents count from.
#[derive(Clone, Debug)]
pub struct Homes {
    /// The user's home.
    pub home: PathBuf,
    /// Where the system keeps an application's configuration.
    pub config: PathBuf,
    /// `XDG_CONFIG_HOME`, which OpenCode follows on every system.
    pub xdg: PathBuf,
    /// `CLAUDE_CONFIG_DIR`.
    pub claude: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub codex: PathBuf,
    /// `COPILOT_HOME`.
    pub copilot: PathBuf,
}

impl Homes {
    /// Finds them in the environment.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED` where HOME is not set.
    pub fn find() -> Result<Self> {
        let home = disk::home()?;
        let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let xdg = named("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let config = if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else if cfg!(windows) {
            named("APPDATA").unwrap_or_else(|| home.join("AppData").join("Roaming"))
        } else {
            xdg.clone()
        };
        Ok(Self {
            config,
            xdg,
            claude: named("CLAUDE_CONFIG_DIR"),
            codex: named("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            copilot: named("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot")),
            home,
        })
    }

    /// The folder that an agent keeps its own things in.
    pub fn folder(&self, agent: Agent) -> PathBuf {
        match agent {
            Agent::ClaudeCode => self.claude.clone().unwrap_or_else(|| self.home.join(".claude")),
            Agent::ClaudeDesktop => self.config.join("Claude"),
            Agent::Codex => self.codex.clone(),
            Agent::Cursor => self.home.join(".cursor"),
            Agent::Vscode => self.config.join("Code"),
            Agent::Windsurf => self.home.join(".codeium").join("windsurf"),
            Agent::Gemini => self.home.join(".gemini"),
            Agent::Copilot => self.copilot.clone(),
            Agent::Opencode => self.xdg.join("opencode"),
        }
    }

    /// The file that an agent reads in every folder.
    pub fn user_file(&self, agent: Agent) -> PathBuf {
        let folder = self.folder(agent);
        match agent {
            Agent::ClaudeCode => self.claude.as_ref().unwrap_or(&self.home).join(".claude.json"),
            Agent::ClaudeDesktop => folder.join("claude_desktop_config.json"),
            Agent::Codex => folder.join("config.toml"),
            Agent::Cursor => folder.join("mcp.json"),
            Agent::Vscode => folder.join("User").join("mcp.json"),
            Agent::Windsurf => folder.join("mcp_config.json"),
            Agent::Gemini => folder.join("settings.json"),
            Agent::Copilot => folder.join("mcp-config.json"),
            Agent::Opencode => opencode(&folder),
        }
    }

    /// Whether an agent seems to be on this machine: its folder, or its program on PATH.
    pub fn is_installed(&self, agent: Agent) -> bool {
        self.folder(agent).is_dir() || self.user_file(agent).exists() || on_path(agent.program()).is_some()
    }
}

/// The file that an agent reads in `root` and below; `None` where it reads none.
pub fn project_file(agent: Agent, root: &Path) -> Option<PathBuf> {
    Some(match agent {
        Agent::ClaudeCode => root.join(".mcp.json"),
        Agent::ClaudeDesktop | Agent::Windsurf => return None,
        Agent::Codex => root.join(".codex").join("config.toml"),
        Agent::Cursor => root.join(".cursor").join("mcp.json"),
        Agent::Vscode => root.join(".vscode").join("mcp.json"),
        Agent::Gemini => root.join(".gemini").join("settings.json"),
        // `.mcp.json`, which it reads too, is Claude Code's.
        Agent::Copilot => root.join(".github").join("mcp.json"),
        Agent::Opencode => opencode(root),
    })
}

/// OpenCode reads either name.
fn opencode(folder: &Path) -> PathBuf {
    let with_comments = folder.join("opencode.jsonc");
    let plain = folder.join("opencode.json");
    if with_comments.exists() && !plain.exists() { with_comments } else { plain }
}

/// Returns a program on PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| endings.iter().map(move |ending| folder.join(format!("{program}{ending}"))))
        .find(|path| path.is_file())
}

/// An agent's file of one scope.
#[derive(Clone, Debug)]
pub struct Place {
    /// Whose file it is.
    pub agent: Agent,
    /// For whom.
    pub scope: Scope,
    /// The file.
    pub file: PathBuf,
    /// The folder that a project's entry is for.
    pub root: Option<PathBuf>,
}

impl Place {
    /// Finds an agent's file.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` where the agent has no such scope, `E_ROOT_REQUIRED`, `E_NOT_FOUND` for `--root`.
    pub fn find(context: &Context, agent: Agent, scope: Scope, root: Option<&Path>) -> Result<Self> {
        let homes = Homes::find()?;
        if scope == Scope::User {
            if root.is_some() {
                return Err(Error::new(Code::InvalidArgument, "--root is the folder of a project's entry")
                    .hint("add --scope project"));
            }
            return Ok(Self { agent, scope, file: homes.user_file(agent), root: None });
        }
        let root = project_root(context, &homes, root)?;
        let Some(file) = project_file(agent, &root) else {
            let title = agent.title();
            return Err(Error::new(Code::InvalidArgument, format!("{title} reads no configuration of a project"))
                .with_details(json!({ "agent": agent.name(), "scopes": ["user"] }))
                .hint("connect it for the user: --scope user"));
        };
        Ok(Self { agent, scope, file, root: Some(root) })
    }

    /// The places of an agent that there can be here, the user's first.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED` where HOME is not set.
    pub fn all(context: &Context, agent: Agent) -> Result<Vec<Self>> {
        let homes = Homes::find()?;
        let user = Self { agent, scope: Scope::User, file: homes.user_file(agent), root: None };
        let project = project_root(context, &homes, None).ok().and_then(|root| {
            let file = project_file(agent, &root)?;
            Some(Self { agent, scope: Scope::Project, file, root: Some(root) })
        });
        Ok(std::iter::once(user).chain(project).collect())
    }
}

/// The folder of a project's entry: the one that is named, else the folder bound to the project that applies, where this
/// is it or one below it, else the git repository around this one, else this one.
fn project_root(context: &Context, homes: &Homes, named: Option<&Path>) -> Result<PathBuf> {
    if let Some(root) = named {
        let root = match root.strip_prefix("~") {
            Ok(rest) => homes.home.join(rest),
            Err(_) => root.to_owned(),
        };
        let real = root.canonicalize().map_err(|error| disk::failed("use", &root, error))?;
        if !real.is_dir() {
            return Err(Error::new(Code::InvalidArgument, format!("The root `{}` is no folder", root.display())));
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
        None => crate::git::toplevel(&started).unwrap_or(started),
    };
    let home = homes.home.canonicalize().unwrap_or_else(|_| homes.home.clone());
    if !root.is_absolute() || home.starts_with(&root) {
        return Err(Error::new(Code::RootRequired, "This folder is no project's: it is the home folder, or above it")
            .hint("go to the project's folder, or name it with --root DIR"));
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opencode_keeps_the_file_that_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(opencode(folder.path()).ends_with("opencode.json"));
        std::fs::write(folder.path().join("opencode.jsonc"), "{}").expect("a file");
        assert!(opencode(folder.path()).ends_with("opencode.jsonc"));
    }

    #[test]
    fn a_project_has_its_own_file_with_seven_agents() {
        let root = Path::new("/code/p");
        let files: Vec<_> = Agent::ALL.into_iter().filter_map(|agent| project_file(agent, root)).collect();
        assert_eq!(files.len(), 7);
        assert!(files.iter().all(|file| file.starts_with(root)));
    }
}
