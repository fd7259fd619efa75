//! Holds the state that all requests of one console share.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_console::chart::Chart;
use mcpkg_core::op::{Caller, Context, read_only};
use mcpkg_core::passkey::{Decider, Passkeys};

use super::job::{Job, Jobs, Origin, Outcome};
use super::live::Live;
use super::page;
use super::session::{Began, Session, Sessions};
use super::sign_in::SignIn;

/// Returns a chart of the requests that a server has answered.
pub type Requests = Box<dyn Fn() -> Chart + Send + Sync>;

pub struct Console {
    pub context: Context,
    /// Whether the console was started with `--read-only`.
    pub is_read_only: bool,
    pub sessions: Sessions,
    pub passkeys: Passkeys,
    pub jobs: Jobs,
    pub live: Arc<Live>,
    /// The requests of the server that the console is a part of, if any.
    pub requests: Option<Requests>,
    /// The issuer that people sign in with, if the console is a part of a server that has one.
    pub sign_in: Option<SignIn>,
}

/// Why a session is refused.
pub enum Refused {
    /// The access rules give the person no access; the text says why.
    Rules(String),
    /// The access rules cannot be read.
    Error(Error),
}

impl Console {
    /// Checks the access rules for the person of a session, and returns the session with what they allow. Other sessions
    /// need no rules. Blocks.
    pub fn admitted(&self, session: Session) -> std::result::Result<Session, Refused> {
        let Began::Issuer(person) = &session.began else { return Ok(session) };
        match person.allowed(&self.context).map_err(Refused::Error)? {
            Ok(grant) => Ok(session.allowed(grant)),
            Err(why) => Err(Refused::Rules(why)),
        }
    }

    /// Returns whether a session can only read.
    pub fn only_reads(&self, session: &Session) -> bool {
        self.is_read_only || session.is_read_only()
    }

    /// Fails if a session can only read.
    pub fn check_writes(&self, session: &Session) -> Result<()> {
        match session.is_read_only() {
            true => Err(Error::new(Code::ReadOnly, "The access rules of this server let you only read")),
            false if self.is_read_only => Err(read_only()),
            false => Ok(()),
        }
    }

    /// Returns the context for what the person of a session does, so that the audit trail names them.
    pub fn context_of(&self, session: &Session) -> Result<Context> {
        let Began::Passkey(id) = &session.began else { return Ok(session.context(&self.context)) };
        let passkey = self.passkeys.of(Decider::Passkey(id))?.pop();
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
