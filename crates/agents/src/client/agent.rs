//! What is different about each agent.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::homes::Homes;
use crate::servers::document::Document;

pub use crate::servers::document::Format;

/// An agent whose configuration supports MCP servers. Its facts are in its own file in `agents/`; everything else reads them
/// from here.
#[derive(Debug)]
pub struct Agent {
    /// Its name on a command line.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The program whose presence shows that the agent is installed.
    pub program: &'static str,
    /// How its file is written.
    pub format: Format,
    /// The key that holds the servers.
    pub key: &'static str,
    /// The folder that it keeps its own things in.
    pub folder: fn(&Homes) -> PathBuf,
    /// The file that it reads in every folder.
    pub user_file: fn(&Homes) -> PathBuf,
    /// The file that it reads in a project's folder and below, if any.
    pub project_file: Option<fn(&Path) -> PathBuf>,
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
    /// Returns how its file is read and edited.
    pub const fn document(&self) -> Document {
        Document::new(self.format, self.key)
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
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
