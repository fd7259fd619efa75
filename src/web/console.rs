//! Holds the state that all requests of one console share.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_console::chart::Chart;
use mcpkg_core::op::{Caller, Context};
use mcpkg_core::passkey::Passkeys;

use super::job::{Job, Jobs, Origin, Outcome};
use super::live::Live;
use super::page;
use super::session::{Session, Sessions};

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

impl Console {
    /// Returns the context for what the person of a session does, so that the audit trail names them.
    pub fn context_of(&self, session: &Session) -> Result<Context> {
        let Some(id) = &session.passkey else { return Ok(self.context.clone()) };
        let passkey = self.passkeys.find(id)?;
        let passkey = passkey.ok_or_else(|| Error::new(Code::NotFound, "The passkey of this session was removed"))?;
        Ok(Context { caller: Caller::signed_in(&passkey.name), ..self.context.clone() })
    }
}

/// Runs `work`, which reads the database or waits, on a thread that may block. If it panics, returns an error page.
pub async fn blocking(work: impl FnOnce() -> Response + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(work).await {
        Ok(response) => response,
        Err(_) => page::refused(StatusCode::INTERNAL_SERVER_ERROR, "The page crashed. This is a bug in mcpkg."),
    }
}

/// Starts a job, and redirects to its page.
pub fn start(
    console: &Console,
    session: &Session,
    origin: Origin,
    work: impl FnOnce(&Job, &Context) -> Result<Outcome> + Send + 'static,
) -> Result<Response> {
    let job = console.jobs.start(&console.context_of(session)?, origin, work)?;
    Ok(Redirect::to(&format!("/job?id={}", job.id)).into_response())
}
