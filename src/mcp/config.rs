//! The configuration of a server, and for each request its caller and what it may access.

use std::sync::Arc;
use std::time::Duration;

use super::asker::Asker;
use super::provider::Providers;
use crate::op::{Audience, Caller, Connection, Entry, Grant, Identity, InstallScope, Rate, Surface};
use crate::store::projects::Selection;
use crate::store::tools::session::SessionInstalls;

/// What a server serves, and what a request may reach of it.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What is known about the project; the rest is found for each request.
    pub selection: Selection,
    /// Who the server says it is.
    pub identity: Identity,
    /// Which tools are served, listed or not.
    pub surface: Arc<Surface>,
    /// Whether every tool that is served is listed too; else what most sessions need.
    pub full_list: bool,
    /// What the access key of a request allows, where it came with one.
    pub grant: Option<Grant>,
    /// How the clients are connected.
    pub connection: Connection,
    /// Whether a person consents to each call of a tool that may destroy what is there.
    pub asks_before_destructive: bool,
    /// Folders that config repos may read files from, besides their own.
    pub allow_outside: Vec<std::path::PathBuf>,
    /// The toolset that narrows what is listed and called, instead of the active one.
    pub toolset: Option<String>,
    /// Whom an install is for; where `None`, the client's key, else its session over HTTP, else everybody.
    pub install_scope: Option<InstallScope>,
    /// What is installed for the session of a request, where it has installs of its own.
    pub session: Option<Arc<SessionInstalls>>,
    /// What a program adds.
    pub providers: Providers,
    /// How often one asker may call one tool over HTTP that has a limit; as often as that says where `None`.
    pub tool_rate: Option<Rate>,
    /// How long one read of the database may take.
    pub read_timeout: Duration,
    /// The most bytes of content in one answer.
    pub max_answer: u64,
    /// The most bytes of one request.
    pub max_line: u64,
    /// Whether the front answers the hot reads; without it rmcp answers all, for comparison.
    pub front: bool,
}

impl Config {
    /// Whether an operation is served as a tool.
    pub(in crate::mcp) fn serves(&self, entry: &Entry) -> bool {
        entry.faces.tool() && self.surface.serves(entry.tool, entry.group, entry.effect)
    }

    /// Whether the sessions of clients have installs of their own, where there are sessions.
    pub(in crate::mcp) fn installs_for_sessions(&self) -> bool {
        match self.install_scope {
            Some(scope) => scope == InstallScope::Session,
            None => self.connection == Connection::Network && self.grant.is_none(),
        }
    }

    /// Returns the same for a request in the session that has these installs.
    pub(in crate::mcp) fn in_session(&self, session: Arc<SessionInstalls>) -> Self {
        Self { session: Some(session), ..self.clone() }
    }

    /// Whether requests under another one are answered alike while the database is the same, but for what is installed for
    /// their sessions.
    pub(in crate::mcp) fn serves_as(&self, other: &Self) -> bool {
        self.selection == other.selection
            && self.full_list == other.full_list
            && self.surface == other.surface
            && self.toolset == other.toolset
            && self.key() == other.key()
    }

    /// Returns whom tools that are data are listed and found for in a request.
    pub(in crate::mcp) fn audience(&self) -> Audience<'_> {
        let (session, toolset) = (self.session.as_ref(), self.toolset.as_deref());
        Audience { identity: self.identity, selection: &self.selection, key: self.key(), session, toolset }
    }

    /// The name of the access key that a request came with.
    fn key(&self) -> Option<&str> {
        self.grant.as_ref().map(|grant| grant.key.as_str())
    }

    /// Returns who calls in a request: the client that calls itself `name`.
    pub(super) fn caller(&self, name: Option<&str>) -> Caller {
        Caller::client(name, self.grant.clone(), self.connection, self.identity)
    }

    /// Returns who asks in a request.
    pub(super) fn asker(&self) -> Asker {
        Asker::named(self.caller(None).asker())
    }
}

/// Returns the group that a server which stands in for a contract is narrowed to.
pub const fn group_of(identity: Identity) -> Option<&'static str> {
    match identity {
        Identity::Mcpkg => None,
        Identity::Agentpack => Some(crate::deploy::GROUP),
        Identity::Enact => Some(crate::registry::GROUP),
        Identity::Smctl => Some(crate::workspace::GROUP),
        Identity::Assistant => Some(crate::workflow::GROUP),
    }
}

/// Returns the only tools that a server serves which stands in for a contract, where its group has others too.
pub const fn tools_of(identity: Identity) -> Option<&'static [&'static str]> {
    match identity {
        Identity::Assistant => Some(crate::workflow::CONTRACT),
        Identity::Mcpkg | Identity::Agentpack | Identity::Enact | Identity::Smctl => None,
    }
}

/// Returns the names of the groups that agents can be given, in documentation order.
pub fn groups() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for entry in crate::operations().filter(|entry| entry.faces.tool()) {
        if !names.contains(&entry.group) {
            names.push(entry.group);
        }
    }
    names
}
