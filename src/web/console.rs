//! Holds the state that all requests of one console share.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use mcpkg_console::chart::Chart;
use mcpkg_core::op::Context;
use mcpkg_core::passkey::Passkeys;

use super::job::Jobs;
use super::live::Live;
use super::page;
use super::session::Sessions;

/// Returns a chart of the requests that a server has answered.
pub type Requests = Box<dyn Fn() -> Chart + Send + Sync>;

pub struct Console {
    pub context: Context,
    pub is_read_only: bool,
    pub sessions: Sessions,
    pub passkeys: Passkeys,
    pub jobs: Jobs,
    pub live: Arc<Live>,
    /// The requests of the server that the console is a part of, if any.
    pub requests: Option<Requests>,
}

/// Runs `work`, which reads the database or waits, on a thread that may block. If it panics, returns an error page.
pub async fn blocking(work: impl FnOnce() -> Response + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(work).await {
        Ok(response) => response,
        Err(_) => page::refused(StatusCode::INTERNAL_SERVER_ERROR, "The page crashed. This is a bug in mcpkg."),
    }
}
