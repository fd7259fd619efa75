//! Admits a request, either for certain or provisionally until its read confirms the access.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::HeaderMap;

use super::answer::Refusal;
use super::app::App;
use crate::mcp::Config;

/// The access of a request.
///
/// Only the database knows whether the key is valid and the project exists. With a database server, checking takes
/// another round trip before the read. So a read may run with the access found at the last check. Its answer is sent
/// only once the read or another check confirms that access. Nothing else runs with presumed access.
pub(super) struct Admission {
    config: Arc<Config>,
    /// The data needed to confirm presumed access; `None` once the access is certain.
    asked: Option<Unconfirmed>,
}

struct Unconfirmed {
    came: Instant,
    from: IpAddr,
    /// The path of the endpoint. A token is valid only for the endpoint that it was issued for.
    endpoint: String,
    project: Option<String>,
}

impl Admission {
    /// Admits a request that has just arrived, or presumes its access.
    pub(super) fn begin(
        app: &App,
        headers: &HeaderMap,
        from: IpAddr,
        endpoint: &str,
        project: Option<String>,
    ) -> Result<Self, Refusal> {
        let asked = Unconfirmed { came: Instant::now(), from, endpoint: endpoint.to_owned(), project };
        match app.access_control.presume(&app.read_cache, headers, &asked.endpoint, asked.project.as_deref()) {
            Some(config) => Ok(Self { config, asked: Some(asked) }),
            None => asked.admit(app, headers).map(Self::certain),
        }
    }

    /// Returns an admission that needs no confirmation.
    pub(super) fn certain(config: Arc<Config>) -> Self {
        Self { config, asked: None }
    }

    /// Returns the access of the request, which may not be confirmed yet.
    pub(super) fn presumed(&self) -> &Arc<Config> {
        &self.config
    }

    pub(super) fn is_presumed(&self) -> bool {
        self.asked.is_some()
    }

    /// Checks presumed access. Returns whether the presumption was right.
    pub(super) fn confirm(&mut self, app: &App, headers: &HeaderMap) -> Result<bool, Refusal> {
        let Some(asked) = self.asked.take() else { return Ok(true) };
        let presumed = std::mem::replace(&mut self.config, asked.admit(app, headers)?);
        // Apart from the grant, the configuration comes from the server itself or from the address of the request.
        Ok(presumed.grant == self.config.grant)
    }

    /// Returns the confirmed access of the request.
    pub(super) fn config(mut self, app: &App, headers: &HeaderMap) -> Result<Arc<Config>, Refusal> {
        self.confirm(app, headers)?;
        Ok(self.config)
    }
}

impl Unconfirmed {
    fn admit(&self, app: &App, headers: &HeaderMap) -> Result<Arc<Config>, Refusal> {
        let (endpoint, project) = (&self.endpoint, self.project.as_deref());
        app.access_control.admit(&app.read_cache, headers, self.from, endpoint, project, self.came)
    }
}
