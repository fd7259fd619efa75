//! The addresses that a server listens on, and the hosts and origins that it accepts.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::origin::Origin;
use mcpkg_core::op::Served;

/// The addresses that a server listens on, and the hosts and origins that it accepts.
#[derive(Clone, Debug)]
pub struct Network {
    /// The address to listen at.
    pub host: IpAddr,
    /// The port; 0 lets the system choose one.
    pub port: u16,
    /// Whether `/mcp` is served.
    pub http: bool,
    /// Whether `/sse` is served.
    pub sse: bool,
    /// The served endpoints of domains outside MCP.
    pub served: Vec<&'static Served>,
    /// Additional names under which clients may reach the server.
    pub hosts: Vec<String>,
    /// Web pages of other servers that may speak to this one.
    pub origins: Vec<Origin>,
    /// Whether an access key is asked for also while none was ever made.
    pub key_required: bool,
    /// Requests a second that one client may send: a key's, or an address's; as many as it likes where `None`.
    pub rate: Option<NonZeroU32>,
    /// The files of the certificate, with those above it, and of its private key; no TLS where `None`.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// How long a client may take to send a request, to take an answer, and to leave a connection unused.
    pub timeout: Duration,
}
