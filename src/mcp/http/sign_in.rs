//! Lets people sign in with tokens of an OAuth authorization server (RFC 9728, RFC 6750): publishes the metadata that
//! clients need, and decides which endpoint accepts which token.

use std::sync::{Arc, OnceLock};

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CACHE_CONTROL,
    WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::answer::{self, Body};
use super::headers::bearer;
use crate::web;
use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::Url;
use mcpkg_core::access::token::code::Client;
use mcpkg_core::access::token::{Claims, Issuer, Refused, State};
use mcpkg_core::op::Context;

/// The path where clients look for the metadata of an endpoint; the endpoint's own path follows it.
pub(super) const METADATA: &str = "/.well-known/oauth-protected-resource";

/// The settings for signing in.
#[derive(Clone)]
pub struct SignIn {
    issuer: Arc<Issuer>,
    /// The audiences that a token may have. If this is empty, a token must have been issued for the endpoint that it is
    /// sent to.
    audiences: Vec<String>,
    /// The scopes that clients should ask the issuer for.
    scopes: Vec<String>,
    /// The URL under which clients reach the server, without a slash at the end. If it is not configured, it is set
    /// when the server listens.
    url: Arc<OnceLock<String>>,
    /// The registration with which people sign in to the console, if there is one.
    client: Option<Client>,
}

/// Checks the URL under which clients reach a server. Returns it without a slash at the end.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if it is not a URL of a server.
pub fn public_url(url: &str) -> Result<String> {
    let url = url.trim_end_matches('/');
    let is_plain = !url.contains(['?', '#', '"', '\\']) && !url.contains(char::is_whitespace);
    if Url::parse(url).is_none() || !is_plain {
        let why = format!("--public-url '{}' is not an http or https URL", url.escape_debug());
        return Err(Error::new(Code::InvalidArgument, why)
            .hint("give the URL under which clients reach the server, without /mcp, such as https://mcp.example.com"));
    }
    Ok(url.to_owned())
}

/// Returns the host of a URL.
pub(super) fn host_of(url: &str) -> Option<String> {
    let url: http::Uri = url.parse().ok()?;
    Some(url.host()?.trim_start_matches('[').trim_end_matches(']').to_owned())
}

impl std::fmt::Debug for SignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignIn").field("issuer", &self.issuer.name()).finish_non_exhaustive()
    }
}

impl SignIn {
    /// # Errors
    /// `E_INVALID_ARGUMENT` if one of the settings cannot be used.
    pub fn new(issuer: &str, audiences: Vec<String>, scopes: Vec<String>, url: Option<String>) -> Result<Self> {
        let wrong = |what: String| Error::new(Code::InvalidArgument, what);
        for (flag, value) in
            audiences.iter().map(|value| ("audience", value)).chain(scopes.iter().map(|value| ("scope", value)))
        {
            if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')) {
                return Err(wrong(format!("--oauth-{flag} '{}' is not valid", value.escape_debug())));
            }
        }
        let known = OnceLock::new();
        if let Some(url) = url {
            let _ = known.set(url);
        }
        Ok(Self { issuer: Arc::new(Issuer::new(issuer)?), audiences, scopes, url: Arc::new(known), client: None })
    }

    /// Lets people sign in to the console as users of this client of the issuer.
    #[must_use]
    pub fn with_client(self, client: Option<Client>) -> Self {
        Self { client, ..self }
    }

    /// Returns whether people sign in to the console.
    pub(super) fn has_client(&self) -> bool {
        self.client.is_some()
    }

    /// Returns how people sign in to the console at `url`, which is set when the server listens. `None` without a client.
    pub(super) fn of_console(&self, context: &Context, url: Arc<OnceLock<String>>) -> Option<web::SignIn> {
        let client = self.client.clone()?;
        Some(web::SignIn::new(context, Arc::clone(&self.issuer), client, self.scopes.clone(), url))
    }

    pub(super) fn issuer(&self) -> &str {
        self.issuer.name()
    }

    /// Returns whether the server's URL is known.
    pub(super) fn has_url(&self) -> bool {
        self.url.get().is_some()
    }

    /// Sets the URL of the server if it was not configured.
    pub(super) fn listens_at(&self, url: String) {
        let _ = self.url.set(url);
    }

    /// Checks a token that was sent to the endpoint with this path.
    pub(super) fn check(&self, token: &str, path: &str, now: Millis) -> std::result::Result<Arc<Claims>, Refused> {
        let claims = self.issuer.check(token, now)?;
        let is_for = match self.audiences.is_empty() {
            true => claims.is_for(std::iter::once(self.resource(path).as_str())),
            false => claims.is_for(self.audiences.iter().map(String::as_str)),
        };
        if is_for { Ok(claims) } else { Err(Refused::Audience) }
    }

    /// Reads the issuer's keys if that may make the token of a request valid, such as when the token names an unknown
    /// key.
    pub(super) async fn prepare(&self, headers: &HeaderMap, now: Millis, cancelled: &CancellationToken) {
        let Some(token) = bearer(headers) else { return };
        if self.issuer.check(token, now).is_err_and(|why| self.issuer.may_help(why)) {
            self.read_keys(cancelled.clone()).await;
        }
    }

    /// Reads the issuer's keys again if it is time to do so.
    pub(super) async fn keep_up(&self, cancelled: &CancellationToken) {
        if self.issuer.is_due() {
            self.read_keys(cancelled.clone()).await;
        }
    }

    async fn read_keys(&self, cancelled: CancellationToken) {
        let issuer = Arc::clone(&self.issuer);
        let read = tokio::task::spawn_blocking(move || issuer.read_keys(&cancelled)).await;
        if let Ok(Some(why)) = read {
            tracing::warn!(issuer = self.issuer.name(), why, "cannot read the keys of the issuer");
        }
    }

    /// Returns a line that describes the problem with the issuer, if there is one.
    pub(super) fn problem(&self, now: Millis) -> Option<String> {
        match self.issuer.state() {
            State::Good(_) => None,
            State::Stale { left, .. } => {
                let until = rfc3339(now.saturating_add(i64::try_from(left.as_millis()).unwrap_or(i64::MAX)));
                Some(format!("sign-in: the issuer does not answer; its last known keys count until {until}\n"))
            }
            State::Down(_) => Some("sign-in: the keys of the issuer cannot be read; nobody can sign in\n".to_owned()),
        }
    }

    /// Returns the URL of the endpoint with this path, which identifies it in tokens.
    fn resource(&self, path: &str) -> String {
        format!("{}{path}", self.url.get().map_or("", String::as_str))
    }

    /// Answers a request for the metadata of the endpoint with this path (RFC 9728). Anybody may read it, including web
    /// pages from other servers.
    pub(super) fn metadata(&self, path: &str, method: &Method) -> Response<Body> {
        let mut response = match *method {
            Method::OPTIONS => answer::text(StatusCode::NO_CONTENT, ""),
            Method::GET | Method::HEAD => {
                let metadata = json!({
                    "resource": self.resource(path),
                    "authorization_servers": [self.issuer.name()],
                    "scopes_supported": self.scopes,
                    "bearer_methods_supported": ["header"],
                    "resource_name": "mcpkg",
                });
                answer::json(StatusCode::OK, metadata.to_string().into_bytes())
            }
            _ => answer::text(StatusCode::METHOD_NOT_ALLOWED, ""),
        };
        let any = HeaderValue::from_static("*");
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, any.clone());
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, any);
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET"));
        headers.insert(ALLOW, HeaderValue::from_static("GET"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    /// Adds the URL of the endpoint's metadata and the scopes to ask for to the challenge in a 401 or 403. `path` is
    /// the path of the endpoint.
    pub(super) fn challenge(&self, path: &str, response: &mut Response<Body>) {
        let Some(challenge) = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()) else {
            return;
        };
        if !challenge.starts_with("Bearer ") {
            return;
        }
        let mut challenge = format!("{challenge}, resource_metadata=\"{}\"", self.metadata_url(path));
        if !self.scopes.is_empty() && !challenge.contains("scope=\"") {
            challenge += &format!(", scope=\"{}\"", self.scopes.join(" "));
        }
        if let Ok(challenge) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
    }

    /// Returns the scopes that a client should ask for if its token has too few rights: those that the token has, those
    /// in the settings, and those in `rules`.
    pub(super) fn scopes_for<'a>(&'a self, has: &'a str, rules: impl Iterator<Item = &'a str>) -> String {
        let mut scopes: Vec<&str> = Vec::new();
        let known = self.scopes.iter().map(String::as_str);
        for scope in has.split_ascii_whitespace().chain(known).chain(rules) {
            let is_plain = scope.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
            if is_plain && !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        scopes.join(" ")
    }

    /// Returns the path of the endpoint that a metadata request asks about, or `None` for any other request.
    pub(super) fn endpoint<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = path.strip_prefix(METADATA)?;
        Some(path.strip_prefix(self.origin_and_base().1).unwrap_or(path))
    }

    /// Returns the URL of an endpoint's metadata, such as
    /// `https://example.com/.well-known/oauth-protected-resource/mcp`.
    fn metadata_url(&self, path: &str) -> String {
        let (origin, base) = self.origin_and_base();
        format!("{origin}{METADATA}{base}{path}")
    }

    /// Splits the URL of the server into its origin and its path. The URL has a path if a proxy serves the server below
    /// that path.
    fn origin_and_base(&self) -> (&str, &str) {
        let url = self.url.get().map_or("", String::as_str);
        let scheme = url.find("://").map_or(0, |at| at + 3);
        url.split_at(url[scheme..].find('/').map_or(url.len(), |at| scheme + at))
    }
}
