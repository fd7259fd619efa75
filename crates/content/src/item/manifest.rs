//! The manifest `mcpkg.export.json`: facts about an exported folder that its paths and front matter cannot express.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::item::conflict;
use crate::{argument, media};
use mcpkg_agents::{commands, template};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::inside::stays_inside;
use mcpkg_base::shell;
use mcpkg_core::names;
use mcpkg_store::modules::Applies;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::servers::{self, Definition};
use mcpkg_store::{agent_files, prompts, resources};

/// The name of the manifest, at the root of an exported folder.
pub const FILE: &str = "mcpkg.export.json";

const VERSION: u32 = 1;

/// Everything about an item that its file's bytes do not contain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    /// The kind of the item, with the attributes that belong to this kind.
    #[serde(flatten)]
    pub what: What,
    /// The conditions under which the item applies, and the file that the item was imported from.
    #[serde(default, skip_serializing_if = "Origin::is_empty")]
    pub origin: Origin,
}

/// Where an item came from, and when it applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The conditions under which the instructions apply.
    #[serde(default)]
    pub applies: Applies,
    /// The agent that the file's format or folder belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The path of the file. For each file of a skill, this is the path of the skill's `SKILL.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Origin {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum What {
    Prompt(prompts::Attributes),
    Resource(resources::Attributes),
    /// An agent-specific file, identified by its path.
    #[serde(rename = "agent_file")]
    AgentFile {
        /// What its agent uses the file for.
        holds: agent_files::Kind,
        /// Whether the file is executable.
        #[serde(default)]
        executable: bool,
    },
    /// An MCP server, identified by its name. The item's content defines the server (see [`server`](super::server)). A manifest
    /// never lists a file as a server.
    #[serde(rename = "mcp_server")]
    Server,
}

/// An MCP server that no agent's file can express completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    pub name: String,
    /// How to start the server or connect to it.
    #[serde(flatten)]
    pub definition: Definition,
    /// The file that the server came from.
    #[serde(default)]
    pub origin: servers::Origin,
    /// Whether the server is deployed and run.
    pub enabled: bool,
}

impl Server {
    /// Returns the name of its entry in the file that it came from.
    pub fn entry(&self) -> &str {
        self.origin.entry.as_deref().unwrap_or(&self.name)
    }
}

impl From<servers::Server> for Server {
    fn from(server: servers::Server) -> Self {
        let servers::Server { name, definition, origin, enabled, .. } = server;
        Self { name, definition, origin, enabled }
    }
}

impl What {
    pub fn is_prompt(&self) -> bool {
        matches!(self, What::Prompt(_))
    }

    pub fn is_executable(&self) -> bool {
        match self {
            What::Prompt(_) | What::Server => false,
            What::Resource(attributes) => attributes.executable,
            What::AgentFile { executable, .. } => *executable,
        }
    }

    /// Returns the word in JSON: `prompt`, `resource`, `agent_file` or `mcp_server`.
    pub fn word(&self) -> &'static str {
        match self {
            What::Prompt(_) => "prompt",
            What::Resource(_) => "resource",
            What::AgentFile { .. } => "agent_file",
            What::Server => "mcp_server",
        }
    }

    pub fn uri(&self) -> Option<&str> {
        match self {
            What::Prompt(_) | What::AgentFile { .. } | What::Server => None,
            What::Resource(attributes) => Some(&attributes.uri),
        }
    }
}

/// The content of a manifest.
#[derive(Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    /// The listed items by the path of their file, with `/` separators.
    pub files: BTreeMap<String, Entry>,
    /// MCP servers whose settings the exported files cannot express completely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
}

impl Manifest {
    pub fn new(files: BTreeMap<String, Entry>, servers: Vec<Server>) -> Self {
        Self { version: VERSION, files, servers }
    }

    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut json = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::internal("the manifest cannot be written as JSON").with_source(error))?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads the manifest of `folder`; `None` if there is none. `heal` is the hint if the manifest is malformed. Also fails
    /// if it has a newer version, or contains a path that leaves the folder.
    pub fn read(folder: &Path, heal: &str) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        let bytes = match mcpkg_base::file::read(&path, mcpkg_base::file::TEXT) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("read", &path, error)),
        };
        let refuse = |why: String| Error::new(Code::InvalidArgument, format!("`{}` {why}", path.display())).hint(heal);
        if conflict::is_in(&bytes) {
            let file = shell::quote(&path.display().to_string());
            let take = format!(
                "keep one side completely with `git checkout --theirs -- {file}` (or `--ours`), and run the command \
                    again"
            );
            return Err(Error::new(Code::InvalidArgument, format!("`{}` {}", path.display(), conflict::WHY)).hint(take));
        }
        let manifest: Self = serde_json::from_slice(&bytes)
            .map_err(|error| refuse(format!("is not a valid export manifest: {error}")))?;
        if manifest.version != VERSION {
            return Err(refuse(format!("has version {}; this mcpkg supports version {VERSION}", manifest.version)));
        }
        match manifest.files.keys().find(|path| !stays_inside(path)) {
            Some(stray) => {
                Err(refuse(format!("lists `{}`, which is not a path inside the folder", stray.escape_debug())))
            }
            None => Ok(Some(manifest)),
        }
    }
}

/// Returns whether this may be the path of a file below a folder. On Unix, a backslash is an ordinary character. Code that writes
/// files also checks [`crate::export::layout::is_safe`].
fn may_be_path(path: &str) -> bool {
    stays_inside(path) || cfg!(unix) && stays_inside(&path.replace('\\', "_"))
}

/// Checks that an item may be stored: the manifest and the content may come from anybody.
pub fn check(entry: &Entry, content: &NewContent) -> Result<()> {
    check_origin(&entry.origin)?;
    match &entry.what {
        What::Prompt(prompts::Attributes { description, template, dialect, arguments, front_matter, file }) => {
            names::check("Prompt", &entry.name)?;
            names::check_text("The description", description.as_deref().unwrap_or_default())?;
            template::check_arguments(arguments)?;
            for argument in arguments {
                names::check_text("The argument's description", argument.description.as_deref().unwrap_or_default())?;
            }
            commands::check_origin(front_matter.as_deref(), file.as_deref())?;
            let text = argument::prompt(content.bytes()?.into_owned())?;
            if *template && dialect.is_none() { template::check(&text) } else { Ok(()) }
        }
        What::Resource(resources::Attributes { uri, description, mime_type, text: is_text, executable: _ }) => {
            names::check("Resource", &entry.name)?;
            names::check_uri(uri)?;
            names::check_text("The description", description.as_deref().unwrap_or_default())?;
            if let Some(mime_type) = mime_type {
                media::fits(mime_type, content.is_text())?;
            }
            if *is_text && !content.is_text() {
                return Err(Error::new(Code::InvalidArgument, "Resource content is not UTF-8 text"));
            }
            Ok(())
        }
        // `server::read` checks the content when reading it.
        What::Server => Ok(()),
        What::AgentFile { .. } => {
            let is_placed = may_be_path(&entry.name) && entry.origin.path.as_deref() == Some(entry.name.as_str());
            if is_placed && entry.origin.agent.is_some() {
                return Ok(());
            }
            let name = entry.name.escape_debug();
            Err(Error::new(Code::InvalidArgument, format!("The agent file `{name}` lacks a path or an agent")))
        }
    }
}

/// Checks that a server may be stored: the manifest may come from anybody.
pub fn check_server(server: &Server) -> Result<()> {
    names::check("MCP server", &server.name)?;
    let Server { definition, origin, .. } = server;
    let is_program = definition.transport == servers::Transport::Stdio;
    if is_program != definition.command.is_some() || is_program == definition.url.is_some() {
        let why = format!("MCP server '{}' needs a program (for stdio) or a URL (for other transports)", server.name);
        return Err(Error::new(Code::InvalidArgument, why));
    }
    names::check_text("The server", &serde_json::to_string(definition).unwrap_or_default().replace("\\u0000", "\0"))?;
    check_origin(&Origin { applies: Applies::Always, agent: origin.agent.clone(), path: origin.path.clone() })
}

fn check_origin(origin: &Origin) -> Result<()> {
    let refuse = |what: &str, text: &str| {
        Err(Error::new(Code::InvalidArgument, format!("`{}` is not a {what}", text.escape_debug())))
    };
    match &origin.path {
        Some(path) if !may_be_path(path) => return refuse("path inside the folder", path),
        _ => {}
    }
    match &origin.agent {
        Some(agent) if names::check("Agent", agent).is_err() => return refuse("valid agent name", agent),
        _ => {}
    }
    if let Applies::Globs(globs) = &origin.applies {
        for glob in globs {
            names::check_text("The pattern", glob)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for good in ["a", ".claude/commands/a.md", "a/b c"] {
            assert!(may_be_path(good), "{good}");
        }
        for bad in ["", "/etc/passwd", "../a", "a/../b", "a//b", "./a", "a/", "a\\b", "a\0", ".git/hooks/a", "a/.GIT"] {
            assert_eq!(may_be_path(bad), cfg!(unix) && bad == "a\\b", "{bad}");
        }
    }

    #[test]
    fn an_entry_is_flat() {
        let entry: Entry = serde_json::from_str(
            r#"{"kind":"resource","name":"a","uri":"x:y","mime_type":"text/plain","text":true,"executable":false}"#,
        )
        .unwrap();
        assert_eq!(serde_json::to_value(&entry).unwrap()["kind"], "resource");
        let content = |byte: u8| NewContent::from(vec![byte]);
        assert!(check(&entry, &content(b'a')).is_ok());
        assert!(check(&entry, &content(0xff)).is_err());
        assert!(check(&Entry { name: "..".to_owned(), ..entry }, &content(b'a')).is_err());
    }
}
