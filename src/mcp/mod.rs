//! Implements the MCP interface of mcpkg.
//!
//! rmcp is the protocol engine, and [`server`] is its handler. In front of rmcp, [`front`] answers the most frequent
//! requests, and those that rmcp would drop. It passes on all other lines.

mod asker;
mod by_uri;
mod call_log;
mod completion;
mod config;
mod elicitation;
mod era;
mod error;
mod front;
pub mod hints;
mod http;
mod in_flight;
mod limits;
mod live;
mod long_calls;
mod lookup;
mod methods;
mod notes;
mod original;
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
mod telemetry;
mod tickets;
mod tools;
mod transport;
mod words;

pub use self::http::{Network, Origin, SignIn, public_url, serve_http};
pub use config::{AuditLog, Config, group_of, groups, tools_of};
pub use limits::{MAX_LINE, READ_TIMEOUT};
pub use mcpkg_core::op::{Connection, Identity, InstallScope, Rate, Surface};
pub use provider::{Answer, Pending, Projected, Provider, Providers, Talk, TaskSupport, TaskTool};
pub use tasks::RunningTask;
pub use telemetry::Telemetry;
pub use tools::listed_tools;
pub use transport::stdio::serve_stdio;
