//! Serves the console in a browser: draws the screens of `mcpkg-console` as pages, and runs their buttons and forms.
//!
//! The server listens on this machine only. Each request has to pass the checks in `doors`. Pages work without scripts; with
//! `live.js`, they also stay current.

mod address;
mod at;
mod console;
mod doors;
mod draw;
mod form;
mod job;
mod jobs;
mod live;
mod page;
mod places;
mod session;
mod text;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, RawQuery, State};
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

use address::Fields;
use console::Console;
use doors::Posted;
use job::Jobs;
use session::Sessions;

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
    let cancelled = context.cancelled.clone();
    let sessions = Sessions::new(context.clock.clone(), port)?;
    let console = Arc::new(Console { context, is_read_only, sessions, jobs: Jobs::default(), live: Arc::default() });
    listening(Links(Arc::clone(&console)))?;
    let ended = cancelled.clone();
    let server = axum::serve(listener, routes(console)).with_graceful_shutdown(cancelled.cancelled_owned());
    tokio::select! {
        served = server.into_future() => served.map_err(unavailable),
        () = async { ended.cancelled().await; tokio::time::sleep(GRACE).await } => Ok(()),
    }
}

/// Returns the routes of the console. Every request passes [`doors::guard`] first.
fn routes(console: Arc<Console>) -> Router {
    let places = get(places::show).post(places::act).with_state(Arc::clone(&console));
    Router::new()
        .route("/login", get(sign_in).post(signed_in))
        .route("/logout", post(sign_out))
        .route("/style.css", get(style))
        .route("/live.js", get(live::script))
        .route("/events", get(live::events))
        .route("/job", get(jobs::show).post(jobs::answer))
        .fallback_service(places)
        .layer(middleware::from_fn_with_state(Arc::clone(&console), doors::guard))
        .with_state(console)
}

async fn sign_in(RawQuery(query): RawQuery) -> Response {
    page::sign_in(Fields::parse(query.unwrap_or_default().as_bytes()).get("token"))
}

async fn signed_in(State(console): State<Arc<Console>>, Extension(Posted(posted)): Extension<Posted>) -> Response {
    match console.sessions.sign_in(posted.get("token")) {
        Ok(Some(cookie)) => ([(SET_COOKIE, cookie)], Redirect::to("/inbox")).into_response(),
        Ok(None) => page::refused(
            StatusCode::UNAUTHORIZED,
            "This link was used before, or has expired. Press Enter where the console runs for another one.",
        ),
        Err(error) => page::refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

async fn sign_out(State(console): State<Arc<Console>>, headers: HeaderMap) -> Redirect {
    console.sessions.sign_out(&headers);
    Redirect::to("/inbox")
}

async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("style.css"))
}
