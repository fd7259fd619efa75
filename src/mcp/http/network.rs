//! Defines the settings of an HTTP server, such as its address, and the hosts and origins that it accepts.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::origin::Origin;
use super::sign_in::SignIn;
use mcpkg_core::op::Served;

#[derive(Clone, Debug)]
pub struct Network {
    /// The address to listen on.
    pub host: IpAddr,
    /// The port; 0 lets the system choose one.
    pub port: u16,
    /// Whether `/mcp` is served.
    pub http: bool,
    /// Whether `/sse` is served.
    pub sse: bool,
    /// Whether the console is served to browsers.
    pub console: bool,
    /// The endpoints of domains outside MCP.
    pub served: Vec<&'static Served>,
    /// Additional host names under which clients may reach the server.
    pub hosts: Vec<String>,
    /// The origins of web pages from other servers that may call this server.
    pub origins: Vec<Origin>,
    /// The URL under which clients and browsers reach the server, without a slash at the end, if it is configured.
    pub public_url: Option<String>,
    /// Whether an access key is required even if none was ever created.
    pub key_required: bool,
    /// The issuer whose tokens are accepted in addition to access keys.
    pub sign_in: Option<SignIn>,
    /// How many requests per second one client, identified by key or address, may send. `None` means no limit.
    pub rate: Option<NonZeroU32>,
    /// The files of the certificate chain and of its private key. `None` means no TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// How long a client may take to send a request or to read an answer, and how long it may leave a connection
    /// unused.
    pub timeout: Duration,
    /// How long the server goes on serving after a signal, while `/readyz` says that it is not ready.
    pub drain: Duration,
}

impl Network {
    /// Returns whether browsers reach the server over TLS: its own, or that of a proxy.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some() || self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }
}
