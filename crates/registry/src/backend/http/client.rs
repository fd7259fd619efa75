//! Sends requests to a registry, with timeouts, size limits, redirects and retries.

use std::io::{self, Read};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH,
    LOCATION, RETRY_AFTER,
};
use http::{Method, Request, StatusCode};
use zeroize::Zeroizing;

use crate::backend::registry::MAX_ARCHIVE;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::{Body, Failure, Limits, Url, read_failure, send};
use mcpkg_base::secret::{Reference, Secret};
use mcpkg_core::op::Context;
use mcpkg_store::blobs::NewContent;

/// How often a GET request is retried, and the delay before the first retry; the delay doubles each time.
const REPEATED: u32 = 3;
const PAUSE: Duration = Duration::from_millis(200);

const REDIRECTS: u32 = 5;

/// Limits on the size and duration of a response.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The maximum number of bytes.
    pub size: u64,
    /// The timeout, including retries.
    pub time: Duration,
}

impl Bounds {
    /// The limits for JSON.
    pub const METADATA: Self = Self { size: 8 << 20, time: Duration::from_secs(30) };
    /// The limits for archives.
    pub const ARCHIVE: Self = Self { size: MAX_ARCHIVE, time: Duration::from_secs(300) };
}

/// A response with any status.
#[derive(Debug)]
pub struct Answer<B = Vec<u8>> {
    pub status: StatusCode,
    /// The value of the header `ETag`.
    pub etag: Option<String>,
    pub body: B,
}

#[derive(Clone, Debug)]
pub struct Payload {
    pub content_type: String,
    pub bytes: Vec<u8>,
}

/// A function that reads the body of a response.
type Reads<'r, B> = dyn Fn(&mut Body) -> io::Result<B> + 'r;

/// Reads a body into memory.
fn whole(body: &mut Body) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).map(|_| bytes)
}

pub struct Client<'c> {
    context: &'c Context,
    registry: String,
    base: Url,
    token: Option<Reference>,
    secret: OnceLock<Secret>,
}

impl<'c> Client<'c> {
    /// Returns the client of the registry called `registry` at `base`. The token is read only when the first request
    /// is sent.
    pub fn new(context: &'c Context, registry: &str, base: Url, token: Option<Reference>) -> Self {
        Self { context, registry: registry.to_owned(), base, token, secret: OnceLock::new() }
    }

    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Fetches `path`. With `etag`, the status 304 means that the cached response is still valid.
    pub fn get(&self, path: &str, query: &[(&str, &str)], etag: Option<&str>, bounds: Bounds) -> Result<Answer> {
        self.ask(path, query, etag, bounds, &whole)
    }

    /// Fetches the archive at `path`, which may be larger than memory.
    pub fn download(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer<NewContent>> {
        self.ask(path, query, None, Bounds::ARCHIVE, &|body| NewContent::read_once(body))
    }

    fn ask<B>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        etag: Option<&str>,
        bounds: Bounds,
        read: &Reads<'_, B>,
    ) -> Result<Answer<B>> {
        let until = Instant::now() + bounds.time;
        let (mut pause, mut repeated) = (PAUSE, 0);
        loop {
            let done = self.follow(self.base.below(path, query), etag, (until, bounds.size), read)?;
            let wait = match &done {
                Ok((answer, headers)) if is_passing(answer.status) => retry_after(headers).unwrap_or(pause),
                Ok(_) => return done.map(|(answer, _)| answer).map_err(|failure| self.failed(&failure)),
                Err(Failure::Broken(_)) => pause,
                Err(failure) => return Err(self.failed(failure)),
            };
            // Give up after the last retry, or if the wait would go beyond the deadline.
            if repeated == REPEATED || wait >= until.saturating_duration_since(Instant::now()) {
                return match done {
                    Ok((answer, _)) => Err(self.unreachable(format!("it responded with {}", answer.status))),
                    Err(failure) => Err(self.failed(&failure)),
                };
            }
            self.wait(wait)?;
            pause *= 2;
            repeated += 1;
        }
    }

    /// Sends a body once, without retries or redirects.
    pub fn send(&self, method: Method, path: &str, payload: Payload, bounds: Bounds) -> Result<Answer> {
        let url = self.base.below(path, &[]);
        let mut request = self.request(method, &url, true)?;
        let content_type = HeaderValue::from_str(&payload.content_type)
            .map_err(|error| Error::internal("the content type is not a valid header value").with_source(error))?;
        request.headers_mut().insert(CONTENT_TYPE, content_type);
        *request.body_mut() = payload.bytes;
        let until = Instant::now() + bounds.time;
        let (answer, _) = self.once(request, (until, bounds.size), &whole).map_err(|failure| self.failed(&failure))?;
        match answer.status.is_redirection() {
            true => {
                Err(self.malformed("it redirected a request that changes data; mcpkg does not follow such redirects"))
            }
            false => Ok(answer),
        }
    }

    /// Sends a GET request and follows up to [`REDIRECTS`] redirects, which must keep the scheme. The token is sent
    /// only to the registry's own origin.
    fn follow<B>(
        &self,
        mut url: Url,
        etag: Option<&str>,
        bounds: (Instant, u64),
        read: &Reads<'_, B>,
    ) -> Result<Result<(Answer<B>, HeaderMap), Failure>> {
        for _ in 0..=REDIRECTS {
            let mut request = self.request(Method::GET, &url, url.has_origin_of(&self.base))?;
            if let Some(etag) = etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
                request.headers_mut().insert(IF_NONE_MATCH, etag);
            }
            let (answer, headers) = match self.once(request, bounds, read) {
                Ok(answer) => answer,
                Err(failure) => return Ok(Err(failure)),
            };
            if !answer.status.is_redirection() || answer.status == StatusCode::NOT_MODIFIED {
                return Ok(Ok((answer, headers)));
            }
            let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
            url = location
                .and_then(|location| url.join(location))
                .filter(|next| next.has_scheme_of(&url))
                .ok_or_else(|| self.malformed("it redirected to an invalid address, or between http and https"))?;
        }
        Err(self.malformed(format!("it redirected more than {REDIRECTS} times")))
    }

    fn request(&self, method: Method, url: &Url, with_token: bool) -> Result<Request<Vec<u8>>> {
        let request = Request::builder().method(method).uri(url.as_str()).header(ACCEPT_ENCODING, "identity");
        let mut request = request
            .header(ACCEPT, "application/json, application/gzip")
            .body(Vec::new())
            .map_err(|error| Error::internal("invalid request URL").with_source(error))?;
        if let Some(secret) = self.secret()?.filter(|_| with_token) {
            let text = Zeroizing::new(format!("Bearer {}", secret.expose()));
            let mut value = HeaderValue::from_str(&text).map_err(|_| self.no_header())?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        Ok(request)
    }

    fn secret(&self) -> Result<Option<&Secret>> {
        let Some(token) = &self.token else { return Ok(None) };
        if let Some(secret) = self.secret.get() {
            return Ok(Some(secret));
        }
        let secret = token.resolve(&self.context.cancelled).map_err(|error| match error.code() {
            Code::SecretMissing => self.without_token(&error),
            _ => error,
        })?;
        Ok(Some(self.secret.get_or_init(|| secret)))
    }

    fn without_token(&self, why: &Error) -> Error {
        let Self { registry, .. } = self;
        let error = Error::new(
            Code::SecretMissing,
            format!("Cannot read the token of registry '{registry}': {}", why.message()),
        )
        .with_details(serde_json::json!({ "registry": registry }));
        why.hints().iter().fold(error, |error, hint| error.hint(hint.clone())).hint(format!(
            "store the token there; if the token is stored elsewhere, run `mcpkg registry remove {registry}` and add the registry again \
                with another --token"
        ))
    }

    fn no_header(&self) -> Error {
        let why =
            format!("The token of registry '{}' contains characters that an HTTP header cannot carry", self.registry);
        Error::new(Code::SecretMissing, why)
    }

    /// Sends one request and reads the response.
    fn once<B>(
        &self,
        request: Request<Vec<u8>>,
        (until, size): (Instant, u64),
        read: &Reads<'_, B>,
    ) -> Result<(Answer<B>, HeaderMap), Failure> {
        let limits = Limits { until, cancelled: self.context.cancelled.clone(), size };
        let mut response = send(request, limits)?;
        let headers = response.headers;
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > size) {
            return Err(Failure::TooLarge(size));
        }
        let body = read(&mut response.body).map_err(|error| read_failure(&error))?;
        let etag = headers.get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        Ok((Answer { status: response.status, etag, body }, headers))
    }

    /// Waits before the next attempt.
    fn wait(&self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if self.context.is_cancelled() {
                return Err(self.failed(&Failure::Cancelled));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn failed(&self, failure: &Failure) -> Error {
        match failure {
            Failure::Cancelled => {
                Error::new(Code::Cancelled, format!("Cancelled while waiting for registry '{}'", self.registry))
            }
            Failure::NotHttp | Failure::TooLarge(_) => self.malformed(failure),
            Failure::Unavailable(_)
            | Failure::NoAddress(_)
            | Failure::NotConnected(_)
            | Failure::Tls(_)
            | Failure::TimedOut
            | Failure::Broken(_)
            | Failure::Refused(_)
            | Failure::Redirected(_) => self.unreachable(failure),
        }
    }

    fn unreachable(&self, why: impl std::fmt::Display) -> Error {
        let what = format!("Registry '{}' cannot be reached at {}: {why}", self.registry, self.base.as_str());
        Error::new(Code::RegistryUnreachable, what).with_details(serde_json::json!({ "registry": self.registry }))
    }

    /// Returns the error for an invalid response.
    pub fn malformed(&self, why: impl std::fmt::Display) -> Error {
        let what = format!("Registry '{}' sent an invalid response: {why}", self.registry);
        Error::new(Code::RegistryAnswer, what).with_details(serde_json::json!({ "registry": self.registry }))
    }
}

/// Returns whether a status is temporary, so that a retry may succeed.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502..=504)
}

/// Returns the delay in the header `Retry-After`, if it is in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
