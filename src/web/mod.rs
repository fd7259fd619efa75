//! Serves the console in a browser: draws the screens of `mcpkg-console` as pages, and runs their buttons and forms.
//!
//! `mcpkg console --web` listens on this machine only; `beside` is the console of a server. Each request has to pass the
//! checks in `doors`. Pages work without scripts; with `live.js`, they also stay current.

mod address;
mod asset;
mod at;
mod attempts;
mod beside;
mod chart;
mod console;
mod doors;
mod draw;
mod edit;
mod editor;
mod events;
mod figure;
mod form;
mod graph;
mod image;
mod issuer;
mod item;
mod job;
mod jobs;
mod known;
mod layout;
mod link;
mod live;
mod markdown;
mod page;
mod passkey;
mod person;
mod places;
mod routes;
mod session;
mod sign_in;
mod text;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{AskedIn, Context};
use mcpkg_core::passkey::Passkeys;

use console::Console;
use job::Jobs;
use routes::routes;
use session::Sessions;

pub use beside::Beside;
pub use issuer::By;
pub use known::{find as known_console, page as request_page};
pub use link::link;
pub use sign_in::SignIn;

/// How long to wait for unfinished requests when the console ends.
const GRACE: Duration = Duration::from_secs(2);

/// Makes the links that sign browsers in.
#[derive(Clone)]
pub struct Links(Arc<Console>);

impl Links {
    /// Makes a link that works once and expires after five minutes.
    pub fn next(&self) -> Result<String> {
        self.0.sessions.link()
    }

    /// Returns the same link with an IP address, for a browser that cannot resolve the console's host name.
    pub fn by_address(&self, link: &str) -> String {
        link.replacen(&self.0.sessions.host, &Ipv4Addr::LOCALHOST.to_string(), 1)
    }
}

/// Serves the console on a free port of this machine until the context is cancelled. Calls `listening` once it listens.
pub fn run(context: Context, is_read_only: bool, listening: impl FnOnce(Links) -> Result<()>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Error::internal("cannot start the runtime").with_source(error))?;
    let served = runtime.block_on(serve(context, is_read_only, listening));
    runtime.shutdown_timeout(GRACE);
    served
}

async fn serve(context: Context, is_read_only: bool, listening: impl FnOnce(Links) -> Result<()>) -> Result<()> {
    let unavailable = |error: std::io::Error| Error::new(Code::Address, format!("Cannot listen on 127.0.0.1: {error}"));
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = tokio::net::TcpListener::bind(wanted).await.map_err(unavailable)?;
    let port = listener.local_addr().map_err(unavailable)?.port();
    let context = Context { asked_in: AskedIn::Browser, ..context };
    let cancelled = context.cancelled.clone();
    let sessions = Sessions::new(context.clock.clone(), port)?;
    let (passkeys, jobs, live) = (Passkeys::new(&context)?, Jobs::default(), Arc::default());
    let console =
        Arc::new(Console { context, is_read_only, sessions, passkeys, jobs, live, requests: None, sign_in: None });
    // A person cannot decide on a read-only console, so do not announce it.
    let _known = match is_read_only {
        true => None,
        false => known::announce(&console.context, &console.sessions.url()).ok(),
    };
    listening(Links(Arc::clone(&console)))?;
    let ended = cancelled.clone();
    let server = axum::serve(listener, routes(console)).with_graceful_shutdown(cancelled.cancelled_owned());
    tokio::select! {
        served = server.into_future() => served.map_err(unavailable),
        () = async { ended.cancelled().await; tokio::time::sleep(GRACE).await } => Ok(()),
    }
}
