//! What a server serves; and, for each request, who calls and what that request may reach.

use std::time::Duration;

use super::extension::Extended;
use crate::op::{Caller, Connection, Grant, Identity};
use crate::store::projects::Selection;

/// What a server serves, and what a request may reach of it.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What is known about the project; the rest is found for each request.
    pub selection: Selection,
    /// Who the server says it is.
    pub identity: Identity,
    /// The groups that are listed and callable; all where `None`.
    pub groups: Option<Vec<String>>,
    /// What the access key of a request allows, where it came with one.
    pub grant: Option<Grant>,
    /// How the clients are connected.
    pub connection: Connection,
    /// Whether only what changes nothing is served.
    pub read_only: bool,
    /// Folders that config repos may read files from, besides their own.
    pub allow_outside: Vec<std::path::PathBuf>,
    /// What a program adds.
    pub extended: Extended,
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
    /// Returns who calls in a request: the client that calls itself `name`.
    pub(super) fn caller(&self, name: Option<&str>) -> Caller {
        Caller::client(name, self.grant.clone(), self.connection, self.identity)
    }
}

/// Returns the group that a server which stands in for a contract is narrowed to.
pub const fn group_of(identity: Identity) -> Option<&'static str> {
    match identity {
        Identity::Mcpkg => None,
        Identity::Agentpack => Some(crate::deploy::GROUP),
    }
}
