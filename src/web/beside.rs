//! The console on the server of `mcpkg serve --http --console`, for people whose browser is on another machine.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use mcpkg_base::error::Result;
use mcpkg_core::op::{AskedIn, Context};
use mcpkg_core::passkey::Passkeys;

use super::console::{Console, Requests};
use super::job::Jobs;
use super::live::Live;
use super::routes::routes;
use super::session::Sessions;
use super::sign_in::SignIn;

/// The console as a part of another server.
pub struct Beside {
    console: Arc<Console>,
    /// Made for the first request, because a server has to start quickly.
    routes: OnceLock<Router>,
}

impl Beside {
    /// Returns the console of a server with these host names. `is_secure` says whether browsers reach the server over
    /// TLS. The console ends when the context is cancelled.
    ///
    /// `requests` returns a chart of the requests that the server has answered, for the health page. `sign_in` is the issuer
    /// that people sign in with, if any.
    pub fn new(
        context: Context,
        hosts: Vec<String>,
        is_secure: bool,
        requests: Requests,
        sign_in: Option<SignIn>,
    ) -> Result<Self> {
        let sessions = Sessions::beside(context.clock.clone(), hosts, is_secure, context.approved.clone())?;
        let (passkeys, jobs, live) = (Passkeys::new(&context)?, Jobs::default(), Arc::<Live>::default());
        let requests = Some(requests);
        let context = Context { asked_in: AskedIn::Browser, ..context };
        let console = Console { context, is_read_only: false, sessions, passkeys, jobs, live, requests, sign_in };
        Ok(Self { console: Arc::new(console), routes: OnceLock::new() })
    }

    pub async fn answer(&self, request: Request<Body>) -> Response {
        let routes = self.routes.get_or_init(|| routes(Arc::clone(&self.console))).clone();
        let answered: std::result::Result<_, Infallible> = TowerToHyperService::new(routes).call(request).await;
        match answered {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}
