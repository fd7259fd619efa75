//! Represents an MCP server as an item. Its content is a JSON document with one line per value, so that servers can be
//! compared, merged and proposed like files.

use serde::{Deserialize, Serialize};

use super::{Entry, Origin, What, check_origin};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::modules::Applies;
use mcpkg_store::servers::{self, Definition};

/// An MCP server, as a manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    pub name: String,
    /// How to start the server or to connect to it.
    #[serde(flatten)]
    pub definition: Definition,
    /// The file that the server came from.
    #[serde(default)]
    pub origin: servers::Origin,
    /// Whether the server is enabled. Only enabled servers are deployed and run.
    pub enabled: bool,
}

impl Server {
    /// Returns the name of the server's entry in the file that it came from.
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

/// The prefix of servers' paths. No exported or synced file has such a path: [`crate::export::layout::is_safe`] refuses
/// colons.
const PATH: &str = "mcp_server:";

/// Checks that a server may be stored. The manifest may come from anybody.
pub fn check(server: &Server) -> Result<()> {
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

/// The content of a server's item. It has no `enabled` flag, because each user decides whether a server is enabled.
#[derive(Serialize, Deserialize)]
struct Document {
    #[serde(flatten)]
    definition: Definition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
}

/// Returns the path that identifies the server `name` among items.
pub fn path(name: &str) -> String {
    format!("{PATH}{name}")
}

/// Returns the first path for a server called `name` that is not `taken`: `mcp_server:a`, `mcp_server:a:2` and so on.
pub fn free_path(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n| format!("{PATH}{name}:{n}"));
    std::iter::once(path(name)).chain(numbered).find(|path| !taken(path)).unwrap_or_default()
}

/// Returns the server's name in a path: `mcp_server:a:2` -> `a`.
pub fn name(path: &str) -> Option<&str> {
    path.strip_prefix(PATH)?.split(':').next()
}

pub fn is_path(path: &str) -> bool {
    path.starts_with(PATH)
}

pub fn of(server: &Server) -> Result<(Entry, NewContent)> {
    let Server { name, definition, origin, .. } = server.clone();
    let document = Document { definition, entry: origin.entry };
    let mut json = serde_json::to_vec_pretty(&document)
        .map_err(|error| Error::internal("an MCP server cannot be written as JSON").with_source(error))?;
    json.push(b'\n');
    let origin = Origin { applies: Applies::Always, agent: origin.agent, path: origin.path };
    Ok((Entry { name, what: What::Server, origin }, json.into()))
}

/// Parses an item as a server. The server is disabled.
pub fn read(entry: &Entry, content: &NewContent) -> Result<Server> {
    let document = serde_json::from_slice(&content.bytes()?);
    let Document { definition, entry: in_file } = document.map_err(|error| {
        let message = format!("Invalid MCP server '{}': {error}", entry.name);
        Error::new(Code::InvalidArgument, message).with_source(error)
    })?;
    let (agent, path) = (entry.origin.agent.clone(), entry.origin.path.clone());
    let origin = servers::Origin { agent, path, entry: in_file };
    let server = Server { name: entry.name.clone(), definition, origin, enabled: false };
    check(&server)?;
    Ok(server)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_store::servers::{Part, Text};

    fn server() -> Server {
        let mut definition = Definition::stdio(Text::plain("npx"));
        definition.args = vec![Text::plain("-y"), Text::plain("server")];
        definition.env = vec![("TOKEN".to_owned(), Text::new([Part::env("TOKEN")]))];
        let origin = servers::Origin {
            agent: Some("claude_code".to_owned()),
            path: Some(".mcp.json".to_owned()),
            entry: Some("git hub".to_owned()),
        };
        Server { name: "git-hub".to_owned(), definition, origin, enabled: false }
    }

    #[test]
    fn a_server_comes_back_from_its_item() {
        let (entry, content) = of(&server()).unwrap();
        assert_eq!(read(&entry, &content).unwrap(), server());
        assert!(is_path(&path("github")) && !is_path("mcp_server/x"));
    }

    #[test]
    fn paths_of_servers_are_unique() {
        let other = free_path("github", |path| path == "mcp_server:github");
        assert_eq!((other.as_str(), name(&other)), ("mcp_server:github:2", Some("github")));
        assert_eq!(free_path("github", |_| false), path("github"));
        assert_eq!(name("github"), None);
    }

    #[test]
    fn an_item_does_not_contain_the_enabled_flag() {
        let on = Server { enabled: true, ..server() };
        assert_eq!(of(&on).unwrap(), of(&server()).unwrap());
        assert!(!read(&of(&on).unwrap().0, &of(&on).unwrap().1).unwrap().enabled);
    }

    #[test]
    fn invalid_servers_are_refused() {
        let (entry, _) = of(&server()).unwrap();
        for bad in ["", "{}", r#"{"transport":"pigeon"}"#, "<<<<<<<"] {
            assert_eq!(read(&entry, &bad.as_bytes().to_vec().into()).unwrap_err().code(), Code::InvalidArgument);
        }
    }
}
