//! Writes MCP servers to an export: into the agents' files that they came from, and into the manifest if those files cannot
//! express everything.

use crate::import::place::servers::{ServerInFile, covers, without_inputs};
use crate::import::plugins::entries;
use crate::import::plugins::place::FILES;
use crate::item::{Entry, What, server::Server};
use mcpkg_agents::agents;
use mcpkg_agents::servers::dialect::Dialect;
use mcpkg_agents::servers::document::{Change, Fault};
use mcpkg_base::error::Result;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::servers::Origin;

/// Returns the servers that an import would not restore exactly from the exported files.
pub fn to_list(servers: &[Server], read: &[ServerInFile]) -> Vec<Server> {
    let comes_back = |server: &&Server| read.iter().any(|found| found.server == **server);
    servers.iter().filter(|server| !comes_back(server)).cloned().collect()
}

/// Updates the servers in an agent's file to their current state. A file that is already up to date stays unchanged.
pub fn with_current(entry: &Entry, content: NewContent, servers: &[Server]) -> Result<NewContent> {
    let Some((dialect, agent, path)) = dialect(entry) else { return Ok(content) };
    let Ok(text) = String::from_utf8(content.bytes()?.into_owned()) else { return Ok(content) };
    // If the file cannot be edited, keep it: the manifest will list the servers.
    let edited = match path == FILES[0] {
        true => edited_entries(&dialect, &text, agent, path, servers),
        false => edited(&dialect, &text, agent, path, servers),
    };
    Ok(match edited {
        Ok(after) if after != text => after.into_bytes().into(),
        _ => content,
    })
}

/// Updates those servers in a marketplace's file that were imported from its entries.
fn edited_entries(dialect: &Dialect, text: &str, agent: &str, path: &str, servers: &[Server]) -> Result<String, Fault> {
    let mut after = text.to_owned();
    for (plugin, place) in entries::places(dialect, text).into_iter().rev() {
        let of_entry = |server: &Server| {
            let entry = server.entry().strip_prefix(&entries::name(&plugin, ""))?.to_owned();
            let origin = Origin { entry: Some(entry), ..server.origin.clone() };
            (server.origin.path.as_deref() == Some(path)).then(|| Server { origin, ..server.clone() })
        };
        let own: Vec<Server> = servers.iter().filter_map(of_entry).collect();
        if own.is_empty() {
            continue;
        }
        let inner = edited(dialect, &entries::opened(&text[place.clone()]), agent, path, &own)?;
        if let Some(inner) = entries::closed(&inner) {
            after.replace_range(place, inner);
        }
    }
    Ok(after)
}

fn edited(dialect: &Dialect, text: &str, agent: &str, path: &str, servers: &[Server]) -> Result<String, Fault> {
    let mut after = text.to_owned();
    for (name, entry) in dialect.document.entries(text)? {
        let named = || servers.iter().filter(|server| server.entry() == name);
        let own = |server: &&Server| server.origin.path.as_deref() == Some(path);
        let Ok(read) = dialect.read(&entry, &[]) else { continue };
        let origin = Origin { agent: Some(agent.to_owned()), path: Some(path.to_owned()), entry: None };
        let here = Server { name: name.clone(), definition: read.definition, origin, enabled: true };
        let is_current = |server: &Server| covers(&without_inputs(server), &here);
        let own = named().find(own);
        if own.map_or_else(|| named().any(is_current), is_current) {
            continue;
        }
        let written = own.or_else(|| named().next()).and_then(|server| {
            let is_own = server.origin.agent.as_deref() == Some(agent);
            let written = dialect.write(&server.definition, is_own).ok()?;
            dialect.document.set(&after, &name, &Change::whole(written.fields)).ok()
        });
        // Remove an entry that cannot be updated, because an import would mistake the outdated entry for an edit.
        after = match written {
            Some(written) => written,
            None => dialect.document.remove(&after, &name, false)?,
        };
    }
    Ok(after)
}

/// Returns the server format of an agent's file, the agent and the path; `None` if the file cannot contain servers.
fn dialect(entry: &Entry) -> Option<(Dialect, &str, &str)> {
    let What::AgentFile { holds: kind @ (Kind::Servers | Kind::Plugin), .. } = &entry.what else { return None };
    let (agent, path) = (entry.origin.agent.as_deref()?, entry.origin.path.as_deref()?);
    let dialect = agents::dialect_of(agent)?;
    Some((if *kind == Kind::Plugin { dialect.in_manifest() } else { *dialect }, agent, path))
}
