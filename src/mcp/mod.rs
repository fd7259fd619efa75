//! The MCP face.
//!
//! rmcp is the protocol engine; [`server`] is its handler. In front of it stands [`front`]: it answers the hot reads
//! itself, answers what rmcp would drop, and hands every other line on.

mod completion;
mod config;
mod error;
mod front;
mod json;
mod methods;
mod notes;
mod one_at_a_time;
mod prompts;
mod provider;
mod reads;
mod resources;
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

pub use config::{Config, Identity};
pub use provider::{Answer, Pending, Projected, Provider, Providers, Talk};
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

/// Returns what tools/list answers where `groups` are served, for the reference page and the tests.
pub fn listed_tools(groups: Option<&[String]>) -> serde_json::Value {
    serde_json::to_value(tools::listed(groups, false)).unwrap_or_default()
}

/// How many reads run at once: as many as there are processors, within bounds. More would not be quicker, and each thread
/// keeps a heap and a cache of SQLite's of its own.
fn reads_at_once() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, 8))
}
