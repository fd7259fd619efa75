//! Defines [`Agent`]: a coding agent's names, its files, and its rules for reading them.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::headless::Headless;
use super::homes::Homes;
use super::imports::Imports;
use super::places::{AgentsMd, MovedBy, OriginalPlace, ProjectPlaces, Reading, Subagents, UserPlaces};
use crate::servers::dialect::Dialect;
use crate::servers::document::Document;
use mcpkg_base::error::Result;

/// A coding agent. Each agent has a file in this folder with its facts; all other code reads the facts from there.
pub struct Agent {
    /// The name on a command line, such as `claude-code`.
    pub name: &'static str,
    /// The name in contracts, rows and exports, such as `claude_code`.
    pub id: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Whether contract 000 (agentpack's tools) knows the agent. Its tools and config repos accept no other agents.
    pub in_contract: bool,
    /// Other names for the agent, such as an earlier name, and ids of agents that read the same files.
    pub also_called: &'static [&'static str],
    /// How the agent connects to MCP servers.
    pub client: Client,
    /// How to run the agent without a screen; `None` if that is not possible.
    pub headless: Option<Headless>,
    /// The format in which the agent reads MCP servers, and the files that contain them.
    pub servers: Dialect,
    /// The agent's own folder, relative to the home folder. A deploy root is never inside it.
    pub own_folder: &'static str,
    /// How users can move the agent's own folder.
    pub moved_by: Option<MovedBy>,
    /// Whether the agent reads only MCP servers, and no instructions, skills or commands.
    pub servers_only: bool,
    /// The places where the agent reads files that are deployed to a project.
    pub project: ProjectPlaces,
    /// The places where the agent reads files that are deployed for the user.
    pub user: UserPlaces,
    /// The folders and the format of the agent's subagents; `None` if the agent has no subagents.
    pub subagents: Option<Subagents>,
    /// The agent's rules for reading the files that it loads.
    pub reading: Reading,
    /// Whether the agent runs shell code in a command, such as `` !`date` `` or `!{date}`.
    pub runs_shell_lines: bool,
    /// Where agentpack (contract 000) writes with `scope: user`, in agentpack's order. Relative to the agent's own
    /// folder.
    pub original_user: &'static [OriginalPlace],
    /// Where agentpack (contract 000) writes with `scope: project`, in agentpack's order. Relative to the deploy root.
    pub original_project: &'static [OriginalPlace],
    /// The ends of paths that agentpack writes, although the agent no longer reads them (November 2026).
    pub no_longer_read: &'static [&'static str],
    /// What import needs to know about the agent's files.
    pub imports: Imports,
}

/// How to add an MCP server to the agent, and how the agent behaves as a client.
pub struct Client {
    /// The program whose presence shows that the agent is installed.
    pub program: &'static str,
    /// The folder of the agent's own files, if it is not [`Agent::own_folder`] in the home folder.
    pub folder: Option<fn(&Homes) -> PathBuf>,
    /// The user's file of MCP servers. The agent reads this file in every working folder.
    pub user_file: fn(&Homes) -> PathBuf,
    /// The name of a second file of MCP servers, if the agent reads either of two files.
    pub other_file: Option<&'static str>,
    /// Returns the entry that starts a program with arguments.
    pub start: fn(&str, &[String]) -> Value,
    /// The form of an entry that connects to a URL.
    pub url: Url,
    /// Other fields of an entry that the agent reads. mcpkg removes them, because they would contradict the fields that
    /// it writes.
    pub other_fields: &'static [&'static str],
    /// The steps that a user has to take before the agent reads the entry.
    pub next: &'static str,
    /// What a user has to know or do so that the agent uses an entry in a project's file.
    pub trust: Option<&'static str>,
    /// The agent's first message to a server.
    pub greeting: Greeting,
    /// The variables that the agent passes on to a server; `None` means all.
    pub passes: Option<&'static [&'static str]>,
    /// Returns the folder in which the agent starts a server from the user's file.
    pub starts_in: fn(&Homes, &Path) -> PathBuf,
    /// Whether the agent disconnects from a server that sends an event without data.
    pub rejects_empty_events: bool,
}

impl Agent {
    /// Returns how to read and edit the agent's file of MCP servers.
    pub const fn document(&self) -> Document {
        self.servers.document
    }

    /// Returns the folder of the agent's own files.
    pub fn folder(&self, homes: &Homes) -> PathBuf {
        match (self.client.folder, &self.moved_by) {
            (Some(folder), _) => folder(homes),
            (None, Some(moved)) => homes.moved(moved.variable, self.own_folder),
            (None, None) => homes.home.join(self.own_folder),
        }
    }

    /// Returns the user's file of MCP servers for the agent.
    pub fn user_file(&self, homes: &Homes) -> PathBuf {
        self.of_both((self.client.user_file)(homes))
    }

    /// Like [`Agent::user_file`], with the folders from this process's environment.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED` if HOME is not set.
    pub fn file_of_user(&self) -> Result<PathBuf> {
        Ok(self.user_file(&Homes::find()?))
    }

    /// Returns the agent's file of MCP servers in a project; `None` if the agent reads no such file.
    pub fn project_file(&self, root: &Path) -> Option<PathBuf> {
        self.servers
            .project
            .map(|file| self.of_both(file.split('/').fold(root.to_owned(), |path, part| path.join(part))))
    }

    /// Returns `usual`, or the agent's second file in the same folder if only that file exists.
    fn of_both(&self, usual: PathBuf) -> PathBuf {
        let other = self.client.other_file.map(|name| usual.with_file_name(name));
        other.filter(|other| other.exists() && !usual.exists()).unwrap_or(usual)
    }

    /// Returns whether instructions always have a place where the agent reads them. A deploy would silently lose
    /// instructions that have no place. An agent that reads only MCP servers needs none.
    pub(super) const fn has_place_for_instructions(&self) -> bool {
        match self.project.agents_md {
            AgentsMd::Always | AgentsMd::ImportedBy(_) => true,
            AgentsMd::UnlessHiddenBy(_) => self.project.own_instructions.is_some(),
            AgentsMd::Never => self.servers_only,
        }
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// How an entry in the agent's file of MCP servers connects to a URL.
#[derive(Clone, Copy, Debug)]
pub enum Url {
    Entry {
        /// The field that holds the URL.
        field: &'static str,
        /// Returns the fields of an entry for this URL, without the bearer key.
        fields: fn(&str) -> Value,
        /// How the entry names the variable that holds the bearer key.
        key: Key,
    },
    /// The agent does not support URLs.
    Refused {
        why: &'static str,
        /// The alternatives, as hints for the user.
        hints: &'static [&'static str],
    },
}

/// How an entry names the variable that holds the bearer key.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// In a header. Its value is this text, with the variable's name instead of NAME: `${env:NAME}`.
    Header(&'static str),
    /// In a field of this name.
    Field(&'static str),
    /// Not at all: the agent does not replace variables.
    Unsupported,
}

/// An agent's first message to a server (November 2026).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// server/discover, and then a handshake if the server does not know that method.
    Discover,
    /// A handshake with this revision.
    Initialize(&'static str),
}

/// Returns the home folder. Desktop applications start the user's servers there.
pub fn in_home(homes: &Homes, _: &Path) -> PathBuf {
    homes.home.clone()
}

/// Returns the folder that the agent itself was started in, or the home folder if that folder does not exist.
pub fn in_working_folder(homes: &Homes, here: &Path) -> PathBuf {
    if here.is_dir() { here.to_owned() } else { homes.home.clone() }
}
