//! HTTP: streamable HTTP at `/mcp`, the older transport at `/sse`, for the project that applies or for the one that the
//! address names.

mod access_control;
mod admission;
mod answer;
mod app;
mod body;
mod compression;
mod connection;
mod headers;
mod metrics;
mod network;
mod origin;
mod permits;
mod rate;
mod revocation;
mod router;
mod serve;
mod served;
mod sessions;
mod sse;
mod stream;
mod streamable;
mod tls;

pub use network::Network;
pub use origin::Origin;
pub use serve::serve_http;
