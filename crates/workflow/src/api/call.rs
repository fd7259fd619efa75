//! Calls a command of an API: adds the catalog's secrets to the request, sends it, and decodes the answer.

use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LINK};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::answer;
use super::arguments::IDEMPOTENCY_KEY;
use super::catalog::Catalog;
use super::request::request;
use super::security::Scheme;
use crate::sealed::Known;
use crate::spec::{CommandSpec, Idempotency};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::{Answer, Failure, Limits, Outgoing, Rules, Url, exchange};
use mcpkg_base::json::exact;
use mcpkg_base::secret::{Reference, Secret};
use mcpkg_base::sha256;
use mcpkg_core::consent::approvable::Askable;
use mcpkg_core::op::Context;

/// Maximum length of the excerpt of an answer in an error, in characters.
const EXCERPT: usize = 300;

#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub catalog: &'a Catalog,
    /// A command of the catalog.
    pub spec: &'a CommandSpec,
    pub arguments: &'a Map<String, Value>,
    /// The idempotency key, if the command takes one.
    pub key: Option<&'a str>,
}

#[derive(Clone, Debug)]
pub struct Answered {
    /// The HTTP status, 200 to 299.
    pub status: u16,
    /// The decoded body: JSON, else text, else base64. Null if the body is empty.
    pub output: Value,
    /// Length of the body in bytes.
    pub bytes: usize,
    /// SHA-256 of the body.
    pub sha256: [u8; 32],
    /// How many times the request was sent.
    pub attempts: u32,
    /// URL of the next page, from the `Link` header.
    pub next: Option<String>,
}

/// Sends the request of a command and waits for the answer, within the catalog's limits.
pub fn call(context: &Context, call: Call<'_>) -> Result<Answered> {
    let Call { catalog, spec, arguments, key } = call;
    catalog.require(context)?;
    let Some(base) = spec.base_url.as_deref().and_then(Url::parse) else {
        let why = format!("The catalog '{}' has no base URL", catalog.name);
        return Err(Error::new(Code::HttpRefused, why)
            .hint(format!("set the base URL with `mcpkg catalog set {} --base-url URL`", catalog.name)));
    };
    let mut outgoing = request(&base, spec, arguments)?;
    outgoing.headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json, */*;q=0.5"));
    if let (Some(key), Idempotency::Key) = (key, spec.idempotency) {
        let value = HeaderValue::from_str(key).map_err(|_| {
            Error::new(Code::InvalidArgument, "The idempotency key contains characters that are invalid in a header")
        })?;
        outgoing.headers.entry(HeaderName::from_static("idempotency-key")).or_insert(value);
    }
    let has_key = outgoing.headers.contains_key(IDEMPOTENCY_KEY);
    authorized(context, catalog, spec, &mut outgoing)?;
    let limits = Limits {
        until: Instant::now() + catalog.timeout,
        cancelled: context.cancelled.clone(),
        size: catalog.max_answer,
    };
    let repeats = match spec.idempotency {
        Idempotency::Safe | Idempotency::Idempotent => true,
        Idempotency::Key => has_key,
        Idempotency::None => false,
    };
    let rules = Rules { limits, reach: catalog.reach(), repeats };
    let answer = exchange(&outgoing, &rules).map_err(|failure| failed(&spec.id, &base, &failure))?;
    if !answer.status.is_success() {
        return Err(refused(catalog, spec, &answer));
    }
    let output = answer::value(&answer).map_err(|why| {
        let message = format!("'{}' returned invalid JSON: {why}", spec.id);
        Error::new(Code::HttpFailed, message).with_details(details(spec, &answer))
    })?;
    let (status, bytes, sha256) = (answer.status.as_u16(), answer.body.len(), sha256::of(&answer.body));
    Ok(Answered { status, output, bytes, sha256, attempts: answer.attempts, next: next(&answer) })
}

/// Adds the catalog's secrets to a request. Each secret is sent only to the origin that it is stored for.
fn authorized(context: &Context, catalog: &Catalog, spec: &CommandSpec, outgoing: &mut Outgoing) -> Result<()> {
    let resolve = |reference: &str| reference.parse::<Reference>()?.resolve(&context.cancelled);
    let headers = catalog.headers.iter().filter(|_| catalog.is_own(&outgoing.url)).collect::<Vec<_>>();
    for (name, reference) in headers {
        let header = HeaderName::from_bytes(name.as_bytes());
        let header =
            header.map_err(|_| Error::new(Code::InvalidArgument, format!("'{name}' is not a valid header name")))?;
        outgoing.headers.insert(header, sensitive(resolve(reference)?.expose(), reference)?);
    }
    for scheme in &spec.auth {
        let kept = catalog.kept_for(&outgoing.url, scheme);
        let (Some(kind), Some(reference)) = (catalog.schemes.get(scheme), kept) else { continue };
        let secret = resolve(reference)?;
        match kind {
            Scheme::Bearer => {
                let text = Zeroizing::new(format!("Bearer {}", secret.expose()));
                put(&mut outgoing.headers, AUTHORIZATION, sensitive(&text, reference)?);
            }
            Scheme::Basic => {
                let text = Zeroizing::new(format!("Basic {}", STANDARD.encode(secret.expose())));
                put(&mut outgoing.headers, AUTHORIZATION, sensitive(&text, reference)?);
            }
            Scheme::Header { name } => {
                let header = HeaderName::from_bytes(name.as_bytes());
                let header = header
                    .map_err(|_| Error::new(Code::HttpRefused, format!("'{name}' is not a valid header name")))?;
                put(&mut outgoing.headers, header, sensitive(secret.expose(), reference)?);
            }
            Scheme::Query { name } => outgoing.url = outgoing.url.and(name, secret.expose()),
            Scheme::Unsupported { .. } => {}
        }
    }
    Ok(())
}

/// Returns a secret of the catalog for use as an argument. mcpkg reads the secret only if the command calls the origin that the
/// secret is stored for.
pub fn argument(context: &Context, catalog: &Catalog, spec: &CommandSpec, name: &str) -> Result<Secret> {
    catalog.require(context)?;
    let base = spec.base_url.as_deref().and_then(Url::parse);
    let Some(base) = base.filter(|base| catalog.is_own(base) || catalog.allows(base)) else {
        let why = format!(
            "The secret '{name}' of the catalog '{}' may not be sent to the host that the command '{}' calls",
            catalog.name, spec.id
        );
        return Err(Error::new(Code::HttpRefused, why));
    };
    let kept = catalog.kept_for(&base, name).filter(|_| spec.auth.iter().any(|known| known == name));
    let reference = kept.ok_or_else(|| {
        let why = format!("The catalog '{}' has no reference for the secret '{name}'", catalog.name);
        Error::new(Code::SecretMissing, why).hint(format!(
            "say where the secret is stored: `mcpkg catalog set {} --auth {name}=env:NAME`",
            catalog.name
        ))
    })?;
    reference.parse::<Reference>()?.resolve(&context.cancelled)
}

/// Sets a header unless the header already has a value. Therefore the headers in the catalog's settings win over those of
/// security schemes, and the first of several schemes wins.
fn put(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    headers.entry(name).or_insert(value);
}

fn sensitive(text: &str, reference: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        let why = format!("The secret at `{reference}` contains characters that are invalid in a header");
        Error::new(Code::SecretMissing, why)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the URL of the next page from the `Link` header of an answer.
fn next(answer: &Answer) -> Option<String> {
    let links = answer.headers.get_all(LINK).iter().filter_map(|links| links.to_str().ok());
    let mut links = links.flat_map(|links| links.split('<').skip(1));
    links.find_map(|link| {
        let (address, parameters) = link.split_once('>')?;
        let mut parameters = parameters.split([';', ',']).map(|parameter| parameter.trim().replace('"', ""));
        parameters.any(|parameter| parameter.eq_ignore_ascii_case("rel=next")).then(|| address.to_owned())
    })
}

/// Returns the error for an answer with a status other than 2xx.
fn refused(catalog: &Catalog, spec: &CommandSpec, answer: &Answer) -> Error {
    let message = format!("'{}' answered {}", spec.id, answer.status);
    let error = Error::new(Code::HttpFailed, message).with_details(details(spec, answer));
    let base = spec.base_url.as_deref().and_then(Url::parse);
    let is_kept = |scheme: &String| base.as_ref().is_some_and(|base| catalog.kept_for(base, scheme).is_some());
    let lacking = spec.auth.iter().find(|scheme| !is_kept(scheme));
    match (answer.status.as_u16(), lacking) {
        (401 | 403, Some(scheme)) if catalog.headers.is_empty() => error.hint(format!(
            "the command uses the security scheme '{scheme}', which has no secret yet; set one with `mcpkg catalog set {} --auth \
                {scheme}=env:NAME`",
            catalog.name
        )),
        (429 | 503, _) if answer.attempts == 1 => {
            error.hint("the server is busy; mcpkg does not retry requests that are not safe to repeat")
        }
        _ => error,
    }
}

/// Returns the next step for the caller if sending the same request again would not help, else `None`.
pub fn next_step(status: u16) -> Option<&'static str> {
    match status {
        408 | 425 | 429 => None,
        401 | 403 | 407 | 300..=399 => Some("ask_user"),
        400..=499 => Some("fix_arguments"),
        _ => None,
    }
}

/// Returns the details of an error: the status, an excerpt without secrets, and the next step.
fn details(spec: &CommandSpec, answer: &Answer) -> Value {
    let mut details = json!({
        "status": answer.status.as_u16(),
        "excerpt": excerpt(spec, answer),
        "bytes": answer.body.len(),
        "sha256": sha256::hex(&answer.body),
        "attempts": answer.attempts,
    });
    if let Some(step) = next_step(answer.status.as_u16()) {
        details["next_step"] = json!(step);
    }
    details
}

/// Returns the beginning of an answer. Secrets in JSON are recognized by the names of their fields, and masked.
fn excerpt(spec: &CommandSpec, answer: &Answer) -> String {
    let text = answer::text(answer).unwrap_or_else(|| String::from_utf8_lossy(&answer.body));
    let value = exact(text.as_bytes()).unwrap_or_else(|_| Value::String(text.into_owned()));
    let shown = match Known::default().seal(&value, &spec.output_contract).value {
        Value::String(text) => text,
        Value::Null => String::new(),
        value => value.to_string(),
    };
    shown.chars().take(EXCERPT).collect()
}

/// Returns the error for a request that was not sent, or whose answer mcpkg could not get or accept.
pub fn failed(what: &str, url: &Url, failure: &Failure) -> Error {
    let host = url.host();
    match failure {
        Failure::Refused(why) => Error::new(Code::HttpRefused, format!("'{what}' was not sent: {why}"))
            .with_details(json!({ "host": host }))
            .hint("--private allows addresses that are not public; mcpkg never follows redirects to other hosts or to plain http"),
        Failure::Redirected(why) => {
            Error::new(Code::HttpRefused, format!("'{what}' was sent, but its redirect was not followed: {why}"))
                .with_details(json!({ "host": host, "sent": true }))
                .hint("mcpkg follows redirects only for read requests, and only within the same host")
        }
        Failure::TimedOut => Error::new(Code::Timeout, format!("{host} did not respond to '{what}' in time")),
        Failure::Cancelled => Error::new(Code::Cancelled, format!("'{what}' was canceled before {host} responded")),
        Failure::TooLarge(_) => Error::new(Code::HttpFailed, format!("{host} responded to '{what}', but {failure}"))
            .with_details(json!({ "host": host, "sent": true }))
            .hint("`mcpkg catalog set NAME --max-answer 64` allows responses of up to 64 MiB"),
        _ => Error::new(Code::HttpFailed, format!("Cannot send a request to {host} for '{what}': {failure}"))
            .with_details(json!({ "host": host, "sent": !failure.is_unsent() })),
    }
}
