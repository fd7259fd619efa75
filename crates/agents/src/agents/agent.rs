//! What is different about each agent.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::homes::Homes;
use super::imports::Imports;
use super::places::{AgentsMd, MovedBy, OriginalPlace, ProjectPlaces, Reading, Subagents, UserPlaces};
use crate::servers::dialect::Dialect;
use crate::servers::document::Document;
use mcpkg_base::error::Result;

/// A coding agent. Its facts are in its own file in this folder; everything else reads them from here.
pub struct Agent {
    /// Its name on a command line, such as `claude-code`.
    pub name: &'static str,
    /// Its name in contracts, rows and exports, such as `claude_code`.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Whether contract 000 knows it: its tools and config repos take no other.
    pub in_contract: bool,
    /// Other ids of agents that read the same files.
    pub also_called: &'static [&'static str],
    /// How it behaves as a client of mcpkg.
    pub client: Client,
    /// How it reads MCP servers.
    pub servers: Dialect,
    /// Its own folder, relative to the home folder. A deploy root is never inside it.
    pub own_folder: &'static str,
    /// How users move its own folder elsewhere.
    pub moved_by: Option<MovedBy>,
    /// Whether it reads MCP servers and nothing else that is deployed.
    pub servers_only: bool,
    /// Where it reads what is deployed below the deploy root.
    pub project: ProjectPlaces,
    /// Where it reads what is deployed for the user.
    pub user: UserPlaces,
    /// How it reads subagents.
    pub subagents: Option<Subagents>,
    /// How it reads the files that it loads.
    pub reading: Reading,
    /// Whether it runs the lines of a command that begin with `!`.
    pub runs_shell_lines: bool,
    /// Where contract 000's original writes below the agent's own folder (`scope: user`), in its order.
    pub original_user: &'static [OriginalPlace],
    /// Where contract 000's original writes below the deploy root (`scope: project`), in its order.
    pub original_project: &'static [OriginalPlace],
    /// The ends of the original's folders that the agent gave up since (November 2026).
    pub no_longer_read: &'static [&'static str],
    /// What import knows of it beyond these places.
    pub imports: Imports,
}

/// How an agent behaves as a client of MCP servers, and of mcpkg.
pub struct Client {
    /// The program whose presence shows that the agent is installed.
    pub program: &'static str,
    /// Where it keeps its own things, if that is not its own folder in the home folder.
    pub folder: Option<fn(&Homes) -> PathBuf>,
    /// The file of MCP servers that it reads in every folder.
    pub user_file: fn(&Homes) -> PathBuf,
    /// The name of its file of MCP servers that it also reads, if it has two.
    pub other_file: Option<&'static str>,
    /// The entry that starts a program with arguments.
    pub start: fn(&str, &[String]) -> Value,
    /// The entry that connects to a URL.
    pub url: Url,
    /// Further fields that it reads, which would contradict those that mcpkg writes.
    pub other_fields: &'static [&'static str],
    /// What users have to do before the agent reads the entry.
    pub next: &'static str,
    /// What users also have to do for a project's entry.
    pub trust: Option<&'static str>,
    /// How it begins to talk to a server.
    pub greeting: Greeting,
    /// The variables that it passes on to a server; `None` for all.
    pub passes: Option<&'static [&'static str]>,
    /// The folder that it starts a server of the user's in.
    pub starts_in: fn(&Homes, &Path) -> PathBuf,
    /// Whether it gives a server up at an event without data.
    pub rejects_empty_events: bool,
}

impl Agent {
    /// Returns how its file of MCP servers is read and edited.
    pub const fn document(&self) -> Document {
        self.servers.document
    }

    /// Returns the folder that it keeps its own things in.
    pub fn folder(&self, homes: &Homes) -> PathBuf {
        match (self.client.folder, &self.moved_by) {
            (Some(folder), _) => folder(homes),
            (None, Some(moved)) => homes.moved(moved.variable, self.own_folder),
            (None, None) => homes.home.join(self.own_folder),
        }
    }

    /// Returns the file in which it reads the MCP servers of the user.
    pub fn user_file(&self, homes: &Homes) -> PathBuf {
        self.of_both((self.client.user_file)(homes))
    }

    /// Returns the file in which it reads the MCP servers of the user whose environment this is.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED` where HOME is not set.
    pub fn file_of_user(&self) -> Result<PathBuf> {
        Ok(self.user_file(&Homes::find()?))
    }

    /// Returns its file of MCP servers below the folder of a project; `None` if it reads none.
    pub fn project_file(&self, root: &Path) -> Option<PathBuf> {
        self.servers
            .project
            .map(|file| self.of_both(file.split('/').fold(root.to_owned(), |path, part| path.join(part))))
    }

    /// Returns the file next to `usual` that the agent also reads, if that is the one that is there.
    fn of_both(&self, usual: PathBuf) -> PathBuf {
        let other = self.client.other_file.map(|name| usual.with_file_name(name));
        other.filter(|other| other.exists() && !usual.exists()).unwrap_or(usual)
    }

    /// Whether its facts give every instruction a place, so that none is lost without a word.
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

/// How an agent's file names a URL.
#[derive(Clone, Copy, Debug)]
pub enum Url {
    Entry {
        /// The field that holds the URL.
        field: &'static str,
        /// The entry without a key.
        fields: fn(&str) -> Value,
        /// How it names the variable that the bearer key is in.
        key: Key,
    },
    /// It takes none.
    Refused {
        why: &'static str,
        /// What to do instead.
        hints: &'static [&'static str],
    },
}

/// How an agent's file names the variable that the bearer key is in.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// In a header's value, in which NAME is replaced by the variable's name: `${env:NAME}`.
    Header(&'static str),
    /// In a field of this name.
    Field(&'static str),
    /// It fills in no variables.
    Unsupported,
}

/// How an agent begins to talk to a server (November 2026).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// With server/discover, then with a handshake if the server does not know that.
    Discover,
    /// With a handshake of a revision.
    Initialize(&'static str),
}

/// Returns the home folder, in which desktop applications start the servers that the user configured.
pub fn in_home(homes: &Homes, _: &Path) -> PathBuf {
    homes.home.clone()
}

/// Returns the folder that the agent itself was started in.
pub fn in_working_folder(homes: &Homes, here: &Path) -> PathBuf {
    if here.is_dir() { here.to_owned() } else { homes.home.clone() }
}
