//! The server for the official conformance suite: mcpkg's own MCP server over HTTP, on a scratch database that contains
//! the suite's prompts and resources, with a provider for the suite's other fixtures.
//!
//! `cargo run --example conformance` listens on a free port of this machine until it is stopped.

#![allow(clippy::print_stderr, reason = "a program of tests says where it listens")]

mod asking;
mod fixtures;
mod jobs;
mod rounds;
mod tools;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use mcpkg::mcp::{Config, MAX_LINE, Network, Providers, serve_http};
use mcpkg_core::op::{Context, MAX_ANSWER};
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(&folder.path().join("conformance.db"))?;
    fixtures::fill(&Context::shell(mcpkg::DOMAINS, store.clone(), Selection::default()))?;
    let config = Config {
        providers: Providers(vec![Arc::new(tools::Fixtures::new(store.clone())?)]),
        max_answer: MAX_ANSWER,
        max_line: MAX_LINE,
        front: true,
        ..Config::default()
    };
    let network = Network {
        host: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: 0,
        served: Vec::new(),
        console: false,
        http: true,
        sse: false,
        hosts: Vec::new(),
        origins: Vec::new(),
        public_url: None,
        sign_in: None,
        key_required: false,
        rate: None,
        tls: None,
        timeout: Duration::from_secs(30),
        drain: Duration::ZERO,
    };
    serve_http(store, config, network, |address| {
        eprintln!("listening on http://{address}");
        Ok(())
    })?;
    Ok(())
}
