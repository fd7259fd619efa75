//! Serves MCP over HTTP: streamable HTTP at `/mcp`, and the older transport at `/sse`.
//!
//! A URL may name a project, as in `/projects/NAME/mcp`. Otherwise, requests are for the one project of their access key
//! or token, or else for the project that the server selects.

mod access_control;
mod admission;
mod answer;
mod app;
mod body;
mod compression;
mod connection;
mod console;
mod headers;
mod metrics;
mod network;
mod origin;
mod permits;
mod rate;
mod requests;
mod revocation;
mod router;
mod serve;
mod served;
mod sessions;
mod sign_in;
mod sse;
mod sse_clients;
mod stream;
mod streamable;
mod tls;

pub use network::Network;
pub use origin::Origin;
pub use serve::serve_http;
pub use sign_in::{SignIn, public_url};
