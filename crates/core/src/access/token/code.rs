//! Signs a person in with a browser: builds the address of the issuer's page, and exchanges the code that the browser
//! brings back for an ID token (OpenID Connect, authorization code flow with PKCE).
//!
//! Only the claims of the ID token are kept. mcpkg does not use the access token that comes with it.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use form_urlencoded::{Serializer, byte_serialize};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::endpoints::Endpoints;
use super::issuer::{MAX_DOCUMENT, TIMEOUT};
use super::{Claims, Issuer, Refused};
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::Result;
use mcpkg_base::http::{Limits, Outgoing, Rules, Url, exchange};
use mcpkg_base::secret::Secret;
use mcpkg_base::{hex, sha256};

/// The longest name of an error that is shown.
const LONGEST: usize = 64;

/// The registration of a server at its issuer.
#[derive(Clone, Debug)]
pub struct Client {
    pub id: String,
    /// `None` for a public client.
    pub secret: Option<Secret>,
}

/// The random numbers of one sign-in.
pub struct Attempt {
    /// The number that the issuer sends back with the browser.
    pub state: String,
    /// The number that the issuer puts into the ID token.
    nonce: String,
    /// The number whose hash the issuer gets first. The code works only together with the number itself (PKCE).
    verifier: String,
}

/// What a browser brings back from the issuer.
#[derive(Clone, Copy)]
pub struct Brought<'a> {
    pub code: &'a str,
    /// The name of the issuer, if the browser brings one.
    pub issuer: Option<&'a str>,
    /// The error of the issuer; empty if there is none.
    pub error: &'a str,
}

/// Why a sign-in failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Failed {
    /// The issuer does not answer, or its metadata is not good enough.
    Unavailable(String),
    /// The browser comes from another issuer, or from an unnamed one.
    Issuer,
    /// The issuer refused the person; the text is its error.
    Denied(String),
    /// The issuer refused the code; the text is its error.
    Code(String),
    /// The answer of the issuer contains no ID token.
    NoToken,
    Token(Refused),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Unavailable(why) => write!(f, "The issuer cannot be used: {why}"),
            Failed::Issuer => f.write_str("The answer comes from another issuer than the one of this server"),
            Failed::Denied(error) if error == "access_denied" => {
                f.write_str("The issuer did not sign you in: you, or the issuer, refused it (access_denied)")
            }
            Failed::Denied(error) => write!(f, "The issuer did not sign you in: {error}"),
            Failed::Code(error) => write!(f, "The issuer did not accept the code of this sign-in: {error}"),
            Failed::NoToken => f.write_str("The issuer sent no ID token"),
            Failed::Token(why) => write!(f, "The issuer's ID token was not accepted. {why}"),
        }
    }
}

impl Failed {
    /// Returns what a person, or the administrator, can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Failed::Unavailable(_) => {
                "Try again in a minute. If this continues, the administrator finds the reason with `mcpkg doctor`."
            }
            Failed::Issuer => {
                "Nothing was accepted. If you did not come from your own sign-in page, tell the administrator."
            }
            Failed::Denied(error) if error == "access_denied" => "Try again, or ask the administrator for access.",
            Failed::Denied(_) => {
                "The administrator compares the redirect address, the scopes and the client at the issuer."
            }
            Failed::Code(error) if error == "invalid_client" => {
                "The administrator compares `--oauth-client` and `--oauth-client-secret` with the client at the issuer."
            }
            Failed::Code(_) => "A code works once, and only for a short time. Sign in again.",
            Failed::NoToken => "The administrator adds the scope openid to the client at the issuer.",
            Failed::Token(Refused::Expired | Refused::NotYetValid) => {
                "The clocks of the issuer and of this server differ by more than a minute. Correct them."
            }
            Failed::Token(Refused::Client) => {
                "The administrator compares `--oauth-client` with the id of the client at the issuer."
            }
            Failed::Token(Refused::Issuer) => {
                "The administrator compares `--oauth-issuer` with `iss` in the issuer's tokens, byte for byte."
            }
            Failed::Token(Refused::Algorithm) => {
                "The administrator sets RS256, PS256, ES256, ES384 or EdDSA for ID tokens of the client at the issuer."
            }
            Failed::Token(_) => "Sign in again. If this continues, tell the administrator.",
        }
    }
}

impl Attempt {
    pub fn new(clock: &Clock) -> Result<Self> {
        let random = || clock.secret().map(|bytes| hex::encode(&bytes));
        Ok(Self { state: random()?, nonce: random()?, verifier: random()? })
    }
}

/// Returns the address of the issuer's page where a person signs in. The issuer then sends the browser to `redirect`.
pub fn address(
    issuer: &Issuer,
    client: &Client,
    attempt: &Attempt,
    scopes: &[String],
    redirect: &str,
) -> std::result::Result<Url, Failed> {
    let Endpoints { authorization, .. } = issuer.endpoints().map_err(Failed::Unavailable)?;
    let known = scopes.iter().map(String::as_str).filter(|scope| *scope != "openid");
    let scope: Vec<&str> = std::iter::once("openid").chain(known).collect();
    let challenge = URL_SAFE_NO_PAD.encode(sha256::of(&attempt.verifier));
    Ok([
        ("response_type", "code"),
        ("client_id", &client.id),
        ("redirect_uri", redirect),
        ("scope", &scope.join(" ")),
        ("state", &attempt.state),
        ("nonce", &attempt.nonce),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]
    .iter()
    .fold(authorization, |url, (name, value)| url.and(name, value)))
}

/// Exchanges what the browser brought for an ID token, and returns the token's claims. Blocks for some seconds at most.
pub fn redeem(
    issuer: &Issuer,
    client: &Client,
    attempt: &Attempt,
    redirect: &str,
    brought: Brought<'_>,
    now: impl Fn() -> Millis,
    cancelled: &CancellationToken,
) -> std::result::Result<Arc<Claims>, Failed> {
    let endpoints = issuer.endpoints().map_err(Failed::Unavailable)?;
    // Otherwise, the code of one issuer could be sent to another one, which would learn it (RFC 9207).
    match brought.issuer {
        Some(named) if named != issuer.name() => return Err(Failed::Issuer),
        None if endpoints.names_itself => return Err(Failed::Issuer),
        _ => {}
    }
    if !brought.error.is_empty() {
        return Err(Failed::Denied(plain(brought.error)));
    }
    let token = exchanged(&endpoints, client, attempt, redirect, brought.code, cancelled)?;
    let mut checked = issuer.check(&token, now());
    if checked.as_ref().is_err_and(|why| issuer.may_help(*why)) {
        issuer.read_keys(cancelled);
        checked = issuer.check(&token, now());
    }
    let claims = checked.map_err(Failed::Token)?;
    claims.check_id(&client.id, &attempt.nonce).map_err(Failed::Token)?;
    Ok(claims)
}

/// Sends the code to the issuer, and returns the ID token in its answer.
fn exchanged(
    endpoints: &Endpoints,
    client: &Client,
    attempt: &Attempt,
    redirect: &str,
    code: &str,
    cancelled: &CancellationToken,
) -> std::result::Result<String, Failed> {
    #[derive(Deserialize)]
    struct Tokens {
        id_token: Option<String>,
    }
    #[derive(Deserialize)]
    struct Problem {
        error: String,
    }
    let mut headers = HeaderMap::from_iter([
        (ACCEPT, HeaderValue::from_static("application/json")),
        (CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded")),
    ]);
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", redirect)
        .append_pair("code_verifier", &attempt.verifier);
    match &client.secret {
        Some(secret) if !endpoints.takes_secret_in_form => {
            let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = STANDARD.encode(format!("{}:{}", encoded(&client.id), encoded(secret.expose())));
            if let Ok(mut value) = HeaderValue::from_str(&format!("Basic {pair}")) {
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
            }
        }
        secret => {
            form.append_pair("client_id", &client.id);
            form.extend_pairs(secret.iter().map(|secret| ("client_secret", secret.expose())));
        }
    }
    let (url, reach) = &endpoints.token;
    let body = form.finish().into_bytes();
    let outgoing = Outgoing { method: Method::POST, url: url.clone(), headers, body };
    let limits = Limits { until: Instant::now() + TIMEOUT, cancelled: cancelled.clone(), size: MAX_DOCUMENT };
    let answer = exchange(&outgoing, &Rules { limits, reach: *reach, repeats: false })
        .map_err(|failure| Failed::Unavailable(format!("{}: {failure}", url.host())))?;
    if answer.status == StatusCode::OK {
        let tokens: Option<Tokens> = serde_json::from_slice(&answer.body).ok();
        return tokens.and_then(|tokens| tokens.id_token).ok_or(Failed::NoToken);
    }
    match serde_json::from_slice::<Problem>(&answer.body) {
        Ok(problem) if answer.status.is_client_error() => Err(Failed::Code(plain(&problem.error))),
        _ => Err(Failed::Unavailable(format!("{} answers {}", url.host(), answer.status.as_u16()))),
    }
}

/// Returns the name of an error if it looks like one (RFC 6749). Otherwise, the issuer, or whoever made the link, could
/// write sentences into mcpkg's page.
fn plain(error: &str) -> String {
    let is_name =
        !error.is_empty() && error.len() <= LONGEST && error.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    if is_name { error.to_owned() } else { "an unknown error".to_owned() }
}
