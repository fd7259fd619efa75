//! What a server serves and who it says it is; and, for each request, what that request may reach.

use std::time::Duration;

use super::extension::Extended;
use crate::store::projects::Selection;

/// Who a server says it is (`serve --as`): clients that were set up for one of the originals find what they know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// Everything.
    #[default]
    Mcpkg,
    /// Contract 000: the deploy tools only.
    Agentpack,
}

impl Identity {
    /// Every identity.
    pub const ALL: [Identity; 2] = [Identity::Mcpkg, Identity::Agentpack];

    /// The name in serverInfo.
    pub const fn name(self) -> &'static str {
        match self {
            Identity::Mcpkg => "mcpkg",
            Identity::Agentpack => "agentpack",
        }
    }

    /// The group it is narrowed to.
    pub const fn group(self) -> Option<&'static str> {
        match self {
            Identity::Mcpkg => None,
            Identity::Agentpack => Some(crate::deploy::GROUP),
        }
    }
}

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
    pub grant: Option<crate::access::Grant>,
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
