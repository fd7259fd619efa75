//! The MCP face.
//!
//! rmcp is the protocol engine; [`server`] is its handler. In front of it stands [`front`]: it answers the hot reads
//! itself, answers what rmcp would drop, and hands every other line on.

mod asker;
mod asker_limit;
mod completion;
mod config;
mod elicitation;
mod era;
mod error;
mod front;
mod in_flight;
mod limits;
mod long_calls;
mod lookup;
mod methods;
mod notes;
mod output;
mod prompts;
mod provider;
mod reads;
mod resources;
mod server;
mod session;
mod skills;
mod subscriptions;
mod tasks;
mod templates;
mod thread;
mod tickets;
mod tools;
mod transport;

pub use crate::op::{Connection, Identity};
pub use config::{Config, group_of};
pub use limits::{MAX_LINE, READ_TIMEOUT};
pub use provider::{Answer, Pending, Projected, Provider, Providers, Talk, TaskSupport, TaskTool};
pub use tasks::RunningTask;
pub use transport::stdio::serve_stdio;
pub use transport::{Network, Origin, serve_http};

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
