//! An MCP server as an item like others: its content is a JSON document with a line for each value, so that it is compared,
//! merged and proposed as files are.

use serde::{Deserialize, Serialize};

use super::manifest::{self, Entry, Origin, Server, What};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::modules::Applies;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::servers::{self, Definition};

/// The beginning of the paths of servers. No file has such a path, since not every disk accepts a colon.
const PATH: &str = "mcp_server:";

/// What the document says. Whether a server is switched on is not in it: each user decides that.
#[derive(Serialize, Deserialize)]
struct Document {
    #[serde(flatten)]
    definition: Definition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
}

/// Returns the path that stands for the server `name` where items are known by their file.
pub fn path(name: &str) -> String {
    format!("{PATH}{name}")
}

/// Returns a path for one more server `name`, where others have those of `taken`.
pub fn free_path(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n| format!("{PATH}{name}:{n}"));
    std::iter::once(path(name)).chain(numbered).find(|path| !taken(path)).unwrap_or_default()
}

/// Returns the name of the server that a path was made for.
pub fn name(path: &str) -> Option<&str> {
    path.strip_prefix(PATH)?.split(':').next()
}

/// Whether a path stands for a server.
pub fn is_path(path: &str) -> bool {
    path.starts_with(PATH)
}

/// Returns a server as an item.
///
/// # Errors
/// Never, but for a bug.
pub fn of(server: &Server) -> Result<(Entry, NewContent)> {
    let Server { name, definition, origin, .. } = server.clone();
    let document = Document { definition, entry: origin.entry };
    let mut json = serde_json::to_vec_pretty(&document)
        .map_err(|error| Error::internal("an MCP server cannot be written as JSON").with_source(error))?;
    json.push(b'\n');
    let origin = Origin { applies: Applies::Always, agent: origin.agent, path: origin.path };
    Ok((Entry { name, what: What::Server, origin }, json.into()))
}

/// Returns the server that an item is, switched off.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if the content is not a server's.
pub fn read(entry: &Entry, content: &NewContent) -> Result<Server> {
    let document = serde_json::from_slice(&content.bytes()?);
    let Document { definition, entry: in_file } = document.map_err(|error| {
        let message = format!("Invalid MCP server '{}': {error}", entry.name);
        Error::new(Code::InvalidArgument, message).with_source(error)
    })?;
    let (agent, path) = (entry.origin.agent.clone(), entry.origin.path.clone());
    let origin = servers::Origin { agent, path, entry: in_file };
    let server = Server { name: entry.name.clone(), definition, origin, enabled: false };
    manifest::check_server(&server)?;
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
    fn no_two_servers_have_one_path() {
        let other = free_path("github", |path| path == "mcp_server:github");
        assert_eq!((other.as_str(), name(&other)), ("mcp_server:github:2", Some("github")));
        assert_eq!(free_path("github", |_| false), path("github"));
        assert_eq!(name("github"), None);
    }

    #[test]
    fn whether_it_is_switched_on_is_not_said() {
        let on = Server { enabled: true, ..server() };
        assert_eq!(of(&on).unwrap(), of(&server()).unwrap());
        assert!(!read(&of(&on).unwrap().0, &of(&on).unwrap().1).unwrap().enabled);
    }

    #[test]
    fn what_is_no_server_is_refused() {
        let (entry, _) = of(&server()).unwrap();
        for bad in ["", "{}", r#"{"transport":"pigeon"}"#, "<<<<<<<"] {
            assert_eq!(read(&entry, &bad.as_bytes().to_vec().into()).unwrap_err().code(), Code::InvalidArgument);
        }
    }
}
