//! Defines the configuration of a server. For each request, it is narrowed to what the caller may access.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::asker::Asker;
use super::provider::Providers;
use super::telemetry::Telemetry;
use mcpkg_core::op::{Audience, Caller, Connection, Entry, Grant, Identity, InstallScope, Rate, Surface};
use mcpkg_store::projects::Selection;
use mcpkg_store::tools::session::SessionInstalls;

/// The settings of an audit log.
#[derive(Clone, Debug)]
pub struct AuditLog {
    pub path: PathBuf,
    /// The size in bytes at which the file is renamed and a new file begins.
    pub size: u64,
    /// How many of the renamed files are kept.
    pub keep: u32,
    /// Whether calls are refused while the log cannot be written.
    pub required: bool,
}

/// The configuration of a server, narrowed to what a request may access.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The part of the project selection that is the same for all requests. Each request adds the rest.
    pub selection: Selection,
    pub identity: Identity,
    /// The tools that can be called, whether listed or not.
    pub surface: Arc<Surface>,
    /// Whether the server lists every tool. If not, it lists only those that most sessions need.
    pub full_list: bool,
    /// The rights of the request's access key or token, if it has one.
    pub grant: Option<Grant>,
    /// How the clients are connected.
    pub connection: Connection,
    /// Whether each call of a destructive tool needs a person's consent.
    pub asks_before_destructive: bool,
    /// Folders outside a config repo that the config repo may read files from.
    pub allow_outside: Vec<std::path::PathBuf>,
    /// The toolset that restricts which tools are listed and can be called. It replaces the project's active toolset.
    pub toolset: Option<String>,
    /// The scope of installs. `None` means the client's key if it has one, otherwise its session over HTTP, otherwise
    /// everybody.
    pub install_scope: Option<InstallScope>,
    /// The installs of the request's session, if the session has its own.
    pub session: Option<Arc<SessionInstalls>>,
    /// Providers that an embedding program adds.
    pub providers: Providers,
    /// The rate at which one requester may call one rate-limited tool over HTTP. If `None`, the tool's own limit
    /// applies.
    pub tool_rate: Option<Rate>,
    /// The time limit for one read of the database.
    pub read_timeout: Duration,
    /// The maximum number of content bytes in one answer.
    pub max_answer: u64,
    /// The maximum number of bytes in one request.
    pub max_line: u64,
    /// Whether mcpkg's fast path (`front`) answers frequent reads before they reach rmcp. Tests turn it off to compare the two.
    pub front: bool,
    /// The file that gets a line about each call, if there is one.
    pub audit_log: Option<AuditLog>,
    /// Where to send traces and metrics. `None` if they are not sent.
    pub telemetry: Option<Telemetry>,
}

impl Config {
    pub(in crate::mcp) fn serves(&self, entry: &Entry) -> bool {
        entry.faces.tool() && self.surface.serves(entry.tool, entry.group, entry.effect)
    }

    /// Returns whether each session has its own installs, on transports with sessions.
    pub(in crate::mcp) fn installs_for_sessions(&self) -> bool {
        match self.install_scope {
            Some(scope) => scope == InstallScope::Session,
            None => self.connection == Connection::Network && self.grant.is_none(),
        }
    }

    /// Returns this configuration for a request in the session with these installs.
    pub(in crate::mcp) fn in_session(&self, session: Arc<SessionInstalls>) -> Self {
        Self { session: Some(session), ..self.clone() }
    }

    /// Returns whether requests under both configurations get the same answers from the same database, apart from the
    /// installs of their sessions.
    pub(in crate::mcp) fn serves_as(&self, other: &Self) -> bool {
        self.selection == other.selection
            && self.full_list == other.full_list
            && self.surface == other.surface
            && self.toolset == other.toolset
            && self.key() == other.key()
    }

    /// Returns the audience of a request. It decides which of the tools in the database the request sees.
    pub(in crate::mcp) fn audience(&self) -> Audience<'_> {
        let (session, toolset) = (self.session.as_ref(), self.toolset.as_deref());
        Audience { identity: self.identity, selection: &self.selection, key: self.key(), session, toolset }
    }

    /// Returns the name of the request's access key, or of the person who signed in.
    fn key(&self) -> Option<&str> {
        self.grant.as_ref().map(|grant| grant.holder.name())
    }

    /// Returns the kind of credential that the client sent, for use in messages: `access key`, for example.
    pub(in crate::mcp) fn shown(&self) -> &'static str {
        self.grant.as_ref().map_or("access key", |grant| grant.holder.shown())
    }

    /// Returns the caller of a request from a client that calls itself `name`.
    pub(super) fn caller(&self, name: Option<&str>) -> Caller {
        Caller::client(name, self.grant.clone(), self.connection, self.identity)
    }

    /// Returns who sends a request, as in `key:ci`. For a request without a key or token, returns `user`.
    pub(super) fn requester(&self) -> String {
        self.caller(None).asker()
    }

    pub(super) fn asker(&self) -> Asker {
        Asker::named(self.requester())
    }
}

/// Returns the tool group of the program that a server presents itself as. The server has only the tools of this group,
/// unless `--groups` names other groups. `None` means all groups.
pub const fn group_of(identity: Identity) -> Option<&'static str> {
    match identity {
        Identity::Mcpkg => None,
        Identity::Agentpack => Some(mcpkg_deploy::GROUP),
        Identity::Enact => Some(mcpkg_registry::GROUP),
        Identity::Smctl => Some(mcpkg_workspace::GROUP),
        Identity::Assistant => Some(mcpkg_workflow::GROUP),
    }
}

/// Returns the tools that a server with this identity serves if they are only a part of its group; otherwise `None`.
pub const fn tools_of(identity: Identity) -> Option<&'static [&'static str]> {
    match identity {
        Identity::Assistant => Some(mcpkg_workflow::CONTRACT),
        Identity::Mcpkg | Identity::Agentpack | Identity::Enact | Identity::Smctl => None,
    }
}

/// Returns the names of the tool groups, in documentation order.
pub fn groups() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for entry in crate::DOMAINS.operations().filter(|entry| entry.faces.tool()) {
        if !names.contains(&entry.group) {
            names.push(entry.group);
        }
    }
    names
}
