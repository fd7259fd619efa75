//! Collects the MCP servers in agents' files, without duplicates.

use std::collections::HashSet;

use crate::import::plugins::servers::with_one_spelling;
use crate::item::{manifest, name, name::letters, server::Server};
use mcpkg_agents::agents;
use mcpkg_store::servers::{Definition, Part, Text, Transport};

/// A server, and the file that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInFile {
    pub server: Server,
    pub file: String,
}

/// The servers that were collected so far. Their names are unique.
#[derive(Debug, Default)]
pub struct Servers {
    found: Vec<ServerInFile>,
    names: HashSet<String>,
    /// The number of servers that a manifest lists. They come first in `found`.
    listed: usize,
}

impl Servers {
    /// Creates the collection, with the servers that a manifest lists.
    pub fn listed(servers: Vec<Server>) -> Self {
        let names = servers.iter().map(|server| server.name.clone()).collect();
        let listed = servers.len();
        let found =
            servers.into_iter().map(|server| ServerInFile { server, file: manifest::FILE.to_owned() }).collect();
        Self { found, names, listed }
    }

    /// Adds a server, unless it was already found in another file. Two entries are the same server if they differ only
    /// in settings that one of the agents cannot express, or if one plugin lists both for different agents.
    pub fn add(&mut self, mut server: Server, file: &str, origins: &[String]) {
        let entry = server.name.clone();
        let is_own =
            |found: &&mut ServerInFile| found.server.origin.path == server.origin.path && found.server.entry() == entry;
        if let Some(ServerInFile { server: listed, file: listed_in }) =
            self.found[..self.listed].iter_mut().find(is_own)
        {
            // The manifest lists the complete server, because the agent's file may not be able to express everything. But if
            // the two differ in something that the file can express, somebody edited the file, and the file takes precedence.
            if !covers(&without_inputs(listed), &without_inputs(&server)) {
                edit(listed, server);
                file.clone_into(listed_in);
            }
            return;
        }
        for (at, ServerInFile { server: other, file: first }) in self.found.iter_mut().enumerate() {
            if other.origin.entry.as_ref().unwrap_or(&other.name) != &entry {
                continue;
            }
            if at < self.listed {
                if covers(other, &server) {
                    return;
                }
                continue;
            }
            if is_of_one_plugin(other, &server) {
                return;
            }
            if other.enabled != server.enabled {
                continue;
            }
            if covers(other, &server) {
                return;
            }
            if covers(&server, other) {
                let name = std::mem::take(&mut other.name);
                *other = Server { name, ..server };
                file.clone_into(first);
                return;
            }
        }
        let names = &mut self.names;
        server.name =
            name::names(letters(&entry), origins, file).find(|name| names.insert(name.clone())).unwrap_or_default();
        self.found.push(ServerInFile { server, file: file.to_owned() });
    }

    /// Returns all servers. Leaves out an entry's name if the server has the same name.
    pub fn finish(self) -> Vec<ServerInFile> {
        let mut found = self.found;
        for ServerInFile { server, .. } in &mut found {
            if server.origin.entry.as_ref() == Some(&server.name) {
                server.origin.entry = None;
            }
        }
        found
    }
}

/// Updates a server of the manifest from an agent's file. The name stays, and so does the description unless the file has
/// one. An edited file never enables a server.
fn edit(listed: &mut Server, read: Server) {
    let description = read.definition.description.clone().or_else(|| listed.definition.description.take());
    listed.definition = Definition { description, ..read.definition };
    listed.enabled &= read.enabled;
}

/// Returns a server without VS Code's `inputs`, which are not part of the server's entry in the file.
pub fn without_inputs(server: &Server) -> Server {
    let mut server = server.clone();
    server.definition.inputs.clear();
    server
}

/// Returns whether two servers are the same server of one plugin, listed in files for different agents, such as
/// `.mcp.json` and `mcp.json`. These files differ in what they can express, so only transport, address, program and
/// arguments are compared.
fn is_of_one_plugin(server: &Server, other: &Server) -> bool {
    let place = |server: &Server| {
        let path = server.origin.path.as_deref()?;
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = folder.strip_suffix(".claude-plugin").or(folder.strip_suffix(".codex-plugin")).unwrap_or(folder);
        Some((folder.trim_end_matches('/').to_owned(), file.to_owned()))
    };
    let (Some((folder, file)), Some((other_folder, other_file))) = (place(server), place(other)) else { return false };
    folder == other_folder && file != other_file && starts(&server.definition) == starts(&other.definition)
}

/// Returns a server's transport, address, program and arguments. Writes `${PLUGIN_ROOT}/run` as `./run`, because both
/// mean the same program.
fn starts(definition: &Definition) -> (Transport, Option<Text>, Option<Text>, Vec<Text>) {
    let Definition { transport, url, command, args, .. } = with_one_spelling(definition);
    let in_plugin = |command: Text| match command.parts() {
        [Part::Text(plain), rest @ ..] if plain.starts_with("${PLUGIN_ROOT}/") => {
            let first = Part::Text(plain.replacen("${PLUGIN_ROOT}", ".", 1));
            Text::new(std::iter::once(first).chain(rest.iter().cloned()))
        }
        _ => command,
    };
    (transport, url, command.map(in_plugin), args)
}

/// Returns whether `more` becomes `less` if it is written to a file of `less`'s agent and read back.
pub fn covers(more: &Server, less: &Server) -> bool {
    if more.definition == less.definition {
        return true;
    }
    let dialect = less.origin.agent.as_deref().and_then(agents::dialect_of);
    let own = more.origin.agent == less.origin.agent;
    dialect.and_then(|dialect| dialect.as_read(&more.definition, own)).as_ref() == Some(&less.definition)
}
