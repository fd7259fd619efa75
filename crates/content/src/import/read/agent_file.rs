//! Reads files that only one agent uses, and extracts the MCP servers from them.

use std::collections::HashSet;

use serde_json::Value;

use crate::import::note::Note;
use crate::import::paths::{Destination, Kept};
use crate::import::read::stray::{self, MAX_READ};
use crate::import::reason::Reason;
use crate::item::File;
use crate::item::name::{self, letters};
use crate::item::server::Server;
use mcpkg_agents::agents;
use mcpkg_agents::servers::dialect::Dialect;
use mcpkg_agents::servers::document::{Document, Fault, Format};
use mcpkg_agents::servers::intake::Taken;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::Result;
use mcpkg_base::redact::holds_token;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::servers::{Definition, Origin};

/// The MCP servers that were found in agents' files so far.
#[derive(Debug, Default)]
pub struct KeptFiles {
    /// The servers. Their names are unique.
    pub servers: Vec<Found>,
    /// Removes secrets from files.
    secrets: Secrets,
    names: HashSet<String>,
    /// The number of servers that a manifest lists. They come first in `servers`.
    listed: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub server: Server,
    pub file: String,
}

/// A file to store for its agent.
pub struct KeptFile {
    /// What its agent uses the file for.
    pub kind: Kind,
    pub content: NewContent,
    pub notes: Vec<Note>,
}

impl KeptFiles {
    /// Creates an empty collection with these rules for secrets.
    pub fn with(secrets: Secrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Returns whether a file in an unknown place looks like a configuration of MCP servers that contains values.
    pub fn is_strange(&self, file: &File) -> Result<bool> {
        stray::holds_values(file, &self.secrets)
    }

    /// Adds the servers that a manifest lists.
    pub fn list(&mut self, servers: Vec<Server>, manifest: &str) {
        for server in servers {
            self.names.insert(server.name.clone());
            self.servers.push(Found { server, file: manifest.to_owned() });
            self.listed += 1;
        }
    }

    /// Reads a file as its agent does, and collects its servers. The inner error is the reason to skip the file.
    pub fn read(&mut self, file: &File, place: &Destination, kept: Kept) -> Result<Result<KeptFile, (Reason, Note)>> {
        let agent = place.agent.unwrap_or_default();
        let is_manifest = kept.kind == Kind::Plugin && file.relative.ends_with(".json");
        let reads = is_manifest || matches!(kept.kind, Kind::Servers | Kind::Settings);
        let malformed = |line: Option<usize>, why: &str| {
            let note = Note { path: file.relative.clone(), line, text: format!("was skipped: {why}") };
            (Reason::Malformed, note)
        };
        if !reads {
            return self.whole(file, kept.kind);
        }
        if file.content.size() > MAX_READ || !file.content.is_text() {
            return Ok(Err(malformed(None, "it is not UTF-8 text, or it is too large")));
        }
        let Ok(text) = String::from_utf8(file.content.bytes()?.into_owned()) else {
            return Ok(Err(malformed(None, "it is not UTF-8 text")));
        };
        let at = |fault: Fault| malformed(fault.at.map(|(line, _)| line), &fault.what);
        let note = |text: String| Note { path: file.relative.clone(), line: None, text };
        if kept.kind == Kind::Settings {
            if self.is_strange(file)? {
                return Ok(Err(stray::left_out(file)));
            }
            return Ok(settings(&text).map_err(at).and_then(|found| match found {
                Some((kind, kept, notes)) => {
                    let content = if kept == text { file.content.clone() } else { kept.into_bytes().into() };
                    Ok(KeptFile { kind, content, notes: notes.into_iter().map(note).collect() })
                }
                None => Err((Reason::Secret, note("was skipped, because it may contain a secret".to_owned()))),
            }));
        }
        let Some(dialect) = agents::dialect_of(agent) else { return self.whole(file, kept.kind) };
        let dialect = if is_manifest { dialect.in_manifest() } else { *dialect };
        if is_manifest && !holds_servers(&dialect, &text) {
            return self.whole(file, kept.kind);
        }
        let Taken { servers, text: kept_text, notes } = match dialect.take_in(&text, &mut self.secrets) {
            Ok(taken) => taken,
            Err(fault) => return Ok(Err(at(fault))),
        };
        let mut notes: Vec<Note> = notes.into_iter().map(note).collect();
        for (entry, read) in servers {
            let origin =
                Origin { agent: Some(agent.to_owned()), path: Some(file.relative.clone()), entry: Some(entry.clone()) };
            let enabled = read.enabled && kept.is_own && !is_manifest;
            if read.enabled && !enabled {
                let why = if is_manifest {
                    "it belongs to a plugin"
                } else {
                    "no agent reads this file at the root of a project"
                };
                notes.push(note(format!(
                    "lists MCP server '{entry}', which stays disabled because {why}; to enable it, use `mcpkg mcp set`"
                )));
            }
            let server = Server { name: entry, definition: read.definition, origin, enabled };
            self.add(server, &file.relative, &place.origins(&file.relative));
        }
        let content = if kept_text == text { file.content.clone() } else { kept_text.into_bytes().into() };
        Ok(Ok(KeptFile { kind: kept.kind, content, notes }))
    }

    /// Keeps a file unchanged, unless it contains servers that its agent would not read there.
    fn whole(&self, file: &File, kind: Kind) -> Result<Result<KeptFile, (Reason, Note)>> {
        Ok(match self.is_strange(file)? {
            true => Err(stray::left_out(file)),
            false => Ok(KeptFile { kind, content: file.content.clone(), notes: Vec::new() }),
        })
    }

    /// Adds a server, unless another agent's file already contains it. Two entries are the same server if they differ only in
    /// what one of the agents cannot express.
    fn add(&mut self, mut server: Server, file: &str, origins: &[String]) {
        let entry = server.name.clone();
        let is_own =
            |found: &&mut Found| found.server.origin.path == server.origin.path && found.server.entry() == entry;
        if let Some(Found { server: listed, file: listed_in }) = self.servers[..self.listed].iter_mut().find(is_own) {
            // The manifest has the complete server, while the agent's file may not be able to express everything. But if the
            // file differs in something that it can express, somebody edited the file, so the file counts.
            if !says(&without_inputs(listed), &without_inputs(&server)) {
                edit(listed, server);
                file.clone_into(listed_in);
            }
            return;
        }
        for (at, Found { server: twin, file: first }) in self.servers.iter_mut().enumerate() {
            if twin.origin.entry.as_ref().unwrap_or(&twin.name) != &entry {
                continue;
            }
            if at < self.listed {
                if says(twin, &server) {
                    return;
                }
                continue;
            }
            if twin.enabled != server.enabled {
                continue;
            }
            if says(twin, &server) {
                return;
            }
            if says(&server, twin) {
                let name = std::mem::take(&mut twin.name);
                *twin = Server { name, ..server };
                file.clone_into(first);
                return;
            }
        }
        let names = &mut self.names;
        server.name =
            name::names(letters(&entry), origins, file).find(|name| names.insert(name.clone())).unwrap_or_default();
        self.servers.push(Found { server, file: file.to_owned() });
    }

    /// Prepares the servers for storing: the name of an entry is stored only if it differs from the server's name.
    pub fn finish(&mut self) {
        for Found { server, .. } in &mut self.servers {
            if server.origin.entry.as_ref() == Some(&server.name) {
                server.origin.entry = None;
            }
        }
    }
}

/// Updates a listed server from its file. Its name stays, and so does its description unless the file has one. Being edited never
/// enables a server.
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

/// Returns whether writing `more` for the agent of `less`, and reading it back, yields `less`.
pub fn says(more: &Server, less: &Server) -> bool {
    if more.definition == less.definition {
        return true;
    }
    let dialect = less.origin.agent.as_deref().and_then(agents::dialect_of);
    let own = more.origin.agent == less.origin.agent;
    dialect.and_then(|dialect| dialect.as_read(&more.definition, own)).as_ref() == Some(&less.definition)
}

fn holds_servers(dialect: &Dialect, text: &str) -> bool {
    dialect.document.entries(text).is_ok_and(|entries| !entries.is_empty())
}

/// Reads Claude Code's settings: their kind, and their text without `env`, which contains values of variables.
fn settings(text: &str) -> Result<Option<(Kind, String, Vec<String>)>, Fault> {
    let document = Document::new(Format::Json { comments: true }, "hooks");
    let value = document.value(text)?;
    let Value::Object(settings) = &value else { return Err(Fault::new("it is not a JSON object")) };
    let kind = match (settings.contains_key("hooks"), settings.contains_key("permissions")) {
        (true, _) => Kind::Hook,
        (false, true) => Kind::Permission,
        (false, false) => Kind::Settings,
    };
    let mut notes = Vec::new();
    let has_env = settings.get("env").and_then(Value::as_object).is_some_and(|env| !env.is_empty());
    let kept = if has_env {
        notes.push("was stored without its `env`, whose values may be secret".to_owned());
        let others: Vec<&str> = settings.keys().map(String::as_str).filter(|key| *key != "env").collect();
        document.retain(text, &others)?
    } else {
        text.to_owned()
    };
    Ok((!holds_token(&kept)).then_some((kind, kept, notes)))
}
