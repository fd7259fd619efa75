//! The MCP face.
//!
//! rmcp is the protocol engine; [`server`] is its handler. In front of it stands [`front`]: it answers the hot reads
//! itself, answers what rmcp would drop, and hands every other line on.

mod completion;
mod extension;
mod front;
mod json;
mod methods;
mod notes;
mod prompts;
mod reads;
mod resources;
mod seats;
mod server;
mod session;
mod skills;
mod subscriptions;
mod templates;
mod tools;
mod transport;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::store::Store;
use crate::store::projects::Selection;

pub use extension::{Answer, Extended, Extension};
pub use transport::stdio::serve_stdio;
pub use transport::{Network, Origin, serve_http};

/// The most bytes of one request unless told otherwise: 64 MiB.
pub const MAX_LINE: u64 = 64 << 20;

/// How long one read of the database for a client may take: less than clients wait for an answer.
const READ_LIMIT: Duration = Duration::from_secs(30);

/// Returns the database for what serves a client: its reads end in time, and when `cancelled` is set.
fn limited(store: &Store, cancelled: Arc<AtomicBool>) -> Store {
    store.limited(READ_LIMIT, cancelled)
}

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

    /// The toolset it is narrowed to.
    pub const fn toolset(self) -> Option<&'static str> {
        match self {
            Identity::Mcpkg => None,
            Identity::Agentpack => Some(crate::deploy::TOOLSET),
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
    /// The toolsets that are listed and callable; all where `None`.
    pub toolsets: Option<Vec<String>>,
    /// What the access key of a request allows, where it came with one.
    pub grant: Option<crate::access::Grant>,
    /// Whether only what changes nothing is served.
    pub read_only: bool,
    /// Folders that config repos may read files from, besides their own.
    pub allow_outside: Vec<std::path::PathBuf>,
    /// What a program adds.
    pub extended: Extended,
    /// The most bytes of content in one answer.
    pub max_answer: u64,
    /// The most bytes of one request.
    pub max_line: u64,
    /// Whether the front answers the hot reads; without it rmcp answers all, for comparison.
    pub front: bool,
}

/// Returns the names of the toolsets that agents can be given, in documentation order.
pub fn toolsets() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for entry in crate::operations().filter(|entry| entry.faces.tool()) {
        if !names.contains(&entry.toolset) {
            names.push(entry.toolset);
        }
    }
    names
}

/// Returns what tools/list answers where `toolsets` are served, for the reference page and the tests.
pub fn listed_tools(toolsets: Option<&[String]>) -> serde_json::Value {
    serde_json::to_value(tools::listed(toolsets, false)).unwrap_or_default()
}

/// How many reads run at once: as many as there are processors, within bounds. More would not be quicker, and each thread
/// keeps a heap and a cache of SQLite's of its own.
fn reads_at_once() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, 8))
}
