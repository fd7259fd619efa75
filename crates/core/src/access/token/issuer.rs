//! An authorization server: its metadata and keys, and the tokens that were checked with them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use http::header::{ACCEPT, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use tokio_util::sync::CancellationToken;

use super::endpoints::{Endpoints, Metadata, locate};
use super::keys::Keys;
use super::{Claims, Refused, jws};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::{Limits, Outgoing, Reach, Rules, Url, exchange};
use mcpkg_base::sha256;

/// How often the keys are read, so that a withdrawn key stops working.
const EVERY: Duration = Duration::from_secs(600);
/// The shortest time before the keys are read again because a token names an unknown key, and the longest after a failure.
const AGAIN: Duration = Duration::from_secs(30);
/// The time before the keys are read again after the first failure. It doubles with each further failure.
const SOON: Duration = Duration::from_millis(500);
/// The longest time before the keys are read again while there are none: until then, nobody can sign in.
const WITHOUT_KEYS: Duration = Duration::from_secs(5);
/// How long the last keys are still used while the issuer does not answer.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// How long reading the keys may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest document that is read, in bytes.
pub(super) const MAX_DOCUMENT: u64 = 256 << 10;

/// The maximum number of tokens that are remembered.
const MAX_TOKENS: usize = 4096;

/// An authorization server whose tokens are accepted.
pub struct Issuer {
    /// The URL as configured. The claim `iss` must equal it, byte for byte.
    name: String,
    url: Url,
    held: RwLock<Held>,
    /// The endpoints with which browsers sign in, or why they cannot be used. The last known ones count while the issuer
    /// does not answer.
    endpoints: RwLock<std::result::Result<Endpoints, String>>,
    /// The tokens that were checked with the held keys, by their SHA-256.
    checked: Mutex<HashMap<[u8; 32], Arc<Claims>>>,
    /// Locked while the keys are read.
    reading: Mutex<()>,
}

#[derive(Default)]
struct Held {
    keys: Option<(Keys, Instant)>,
    tried_at: Option<Instant>,
    /// Why the last attempt to read the keys failed.
    failure: Option<String>,
    /// How many attempts have failed since the last one that did not.
    failures: u32,
}

impl Held {
    fn valid_keys(&self) -> Option<&Keys> {
        self.keys.as_ref().filter(|(_, read_at)| read_at.elapsed() < MAX_AGE).map(|(keys, _)| keys)
    }

    /// Returns how long to wait after a failure. A server may start before its issuer, so the first attempts follow soon.
    fn pause(&self) -> Duration {
        let longest = if self.valid_keys().is_some() { AGAIN } else { WITHOUT_KEYS };
        SOON.saturating_mul(1 << self.failures.saturating_sub(1).min(10)).min(longest)
    }

    fn is_after(&self, pause: Duration) -> bool {
        self.tried_at.is_none_or(|tried_at| tried_at.elapsed() >= pause)
    }
}

/// How well tokens can be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The keys were read at the last attempt; there are this many.
    Good(usize),
    /// The issuer does not answer. The keys were read `age` ago, and are still used for the time `left`.
    Stale { age: Duration, left: Duration, why: String },
    /// There are no usable keys.
    Down(String),
}

impl Issuer {
    /// Returns an issuer whose keys have not been read yet.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if the URL cannot be an issuer.
    pub fn new(name: &str) -> Result<Self> {
        let refused = |why: &str| {
            Error::new(Code::InvalidArgument, format!("--oauth-issuer '{}' {why}", name.escape_debug()))
                .hint("give the URL that the tokens contain as `iss`, such as https://login.example.com/realms/team")
        };
        let url = Url::parse(name).ok_or_else(|| refused("is not an http or https URL"))?;
        if !url.is_private() {
            return Err(refused("needs https"));
        }
        if name.contains(['?', '#', '"', '\\']) || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(refused("is not the URL of an issuer"));
        }
        let (held, checked, reading) = Default::default();
        let endpoints = RwLock::new(Err("the metadata of the issuer has not been read yet".to_owned()));
        Ok(Self { name: name.to_owned(), url, held, endpoints, checked, reading })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks a token except for its audience, and returns its claims.
    pub fn check(&self, token: &str, now: Millis) -> std::result::Result<Arc<Claims>, Refused> {
        let hash = sha256::of(token);
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let keys = held.valid_keys();
        if let Some(claims) = self.checked().get(&hash).filter(|_| keys.is_some()) {
            return if now < claims.expires_at() { Ok(Arc::clone(claims)) } else { Err(Refused::Expired) };
        }
        let mut unchecked = jws::read(token)?;
        // The signature is checked last, because it costs the most. Tokens with invalid claims are refused before.
        let claims = Claims::check(std::mem::take(&mut unchecked.claims), &self.name, now)?;
        unchecked.check_signature(keys.ok_or(Refused::NoKeys)?)?;
        let claims = Arc::new(claims);
        // The lock on the keys is still held. So a token that was checked with old keys is never remembered after new
        // keys were read.
        let mut checked = self.checked();
        if checked.len() >= MAX_TOKENS {
            checked.clear();
        }
        checked.insert(hash, Arc::clone(&claims));
        Ok(claims)
    }

    /// Whether the keys have to be read now: for the first time, because they are old, or because the last attempt
    /// failed.
    pub fn is_due(&self) -> bool {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.is_after(if held.failure.is_some() { held.pause() } else { EVERY })
    }

    /// Whether reading the keys again may help with a token that was refused for this reason. After a failure, returns
    /// false until the next attempt is due. If the token names an unknown key, returns false until `AGAIN` after the
    /// last attempt, since anybody can send such tokens.
    pub fn may_help(&self, why: Refused) -> bool {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        match why {
            Refused::NoKeys => held.is_after(held.pause()),
            Refused::UnknownKey => held.is_after(AGAIN),
            _ => false,
        }
    }

    /// Reads the keys. If that fails, keeps the old keys. If another thread is already reading the keys, waits for it
    /// and does nothing more. Blocks for ten seconds at most. Returns why reading failed, except if the attempt before
    /// failed for the same reason.
    pub fn read_keys(&self, cancelled: &CancellationToken) -> Option<String> {
        let began = Instant::now();
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let tried_at = || self.held.read().unwrap_or_else(PoisonError::into_inner).tried_at;
        if tried_at().is_some_and(|tried_at| tried_at > began) {
            return None;
        }
        let read = self.fetch(cancelled);
        self.read(read, Instant::now())
    }

    /// Stores the keys that were read. If reading failed, keeps the old keys, and stores the reason. Returns a new
    /// reason.
    pub(super) fn read(&self, read: std::result::Result<Keys, String>, read_at: Instant) -> Option<String> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.tried_at = Some(read_at);
        match read {
            Ok(keys) => {
                if held.failure.take().is_some() {
                    tracing::info!(issuer = self.name, "the issuer answers again");
                }
                held.failures = 0;
                held.keys = Some((keys, read_at));
                self.checked().clear();
                None
            }
            Err(why) => {
                held.failures = held.failures.saturating_add(1);
                let before = held.failure.replace(why.clone());
                (before.as_ref() != Some(&why)).then_some(why)
            }
        }
    }

    /// Returns how well tokens can be checked.
    pub fn state(&self) -> State {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        match (&held.keys, &held.failure) {
            (Some((keys, _)), None) => State::Good(keys.len()),
            (Some((_, read_at)), Some(why)) if read_at.elapsed() < MAX_AGE => {
                let age = read_at.elapsed();
                State::Stale { age, left: MAX_AGE.saturating_sub(age), why: why.clone() }
            }
            (_, Some(why)) => State::Down(why.clone()),
            (None, None) => State::Down("the keys have not been read yet".to_owned()),
        }
    }

    fn fetch(&self, cancelled: &CancellationToken) -> std::result::Result<Keys, String> {
        let limits = Limits { until: Instant::now() + TIMEOUT, cancelled: cancelled.clone(), size: MAX_DOCUMENT };
        let metadata = self.find_metadata(&limits).inspect_err(|why| {
            let mut known = self.endpoints.write().unwrap_or_else(PoisonError::into_inner);
            if known.is_err() {
                *known = Err(why.clone());
            }
        })?;
        *self.endpoints.write().unwrap_or_else(PoisonError::into_inner) = Endpoints::read(&metadata, &self.url);
        let (url, reach) = locate(&self.url, "jwks_uri", &metadata.jwks_uri)?;
        let document = get(&url, reach, &limits)?;
        Keys::read(&document).ok_or_else(|| format!("{} publishes no keys that this server can use", url.host()))
    }

    /// Returns the endpoints with which browsers sign in, or why they cannot be used.
    pub(super) fn endpoints(&self) -> std::result::Result<Endpoints, String> {
        self.endpoints.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the issuer's metadata.
    fn find_metadata(&self, limits: &Limits) -> std::result::Result<Metadata, String> {
        let mut failure = String::new();
        for url in self.metadata_urls() {
            let url = Url::parse(&url).ok_or_else(|| format!("{url} is not a URL"))?;
            let metadata = get(&url, Reach::Anywhere, limits).and_then(|document| {
                serde_json::from_slice::<Metadata>(&document)
                    .map_err(|_| format!("{} is not the metadata of an issuer", url.as_str()))
            });
            match metadata {
                Ok(metadata) if metadata.issuer == self.name => return Ok(metadata),
                Ok(metadata) => {
                    failure =
                        format!("the metadata at {} is that of another issuer, {}", url.as_str(), metadata.issuer);
                }
                Err(why) if failure.is_empty() => failure = why,
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// Returns the addresses at which the metadata may be, in the order of MCP's specification.
    pub(super) fn metadata_urls(&self) -> Vec<String> {
        let name = self.name.trim_end_matches('/');
        let scheme = name.find("://").map_or(0, |at| at + 3);
        let (origin, path) = name.split_at(name[scheme..].find('/').map_or(name.len(), |at| scheme + at));
        let mut urls = vec![
            format!("{origin}/.well-known/oauth-authorization-server{path}"),
            format!("{origin}/.well-known/openid-configuration{path}"),
        ];
        if !path.is_empty() {
            urls.push(format!("{name}/.well-known/openid-configuration"));
        }
        urls
    }

    fn checked(&self) -> MutexGuard<'_, HashMap<[u8; 32], Arc<Claims>>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a document. Redirects to another origin are not followed.
fn get(url: &Url, reach: Reach, limits: &Limits) -> std::result::Result<Vec<u8>, String> {
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
    let outgoing = Outgoing { method: Method::GET, url: url.clone(), headers, body: Vec::new() };
    let rules = Rules { limits: limits.clone(), reach, repeats: false };
    let answer = exchange(&outgoing, &rules).map_err(|failure| format!("{}: {failure}", url.host()))?;
    match answer.status {
        StatusCode::OK => Ok(answer.body),
        status => Err(format!("{} answers {}", url.as_str(), status.as_u16())),
    }
}
