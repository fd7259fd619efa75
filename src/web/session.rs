//! Keeps track of signed-in browsers: the links that the terminal prints, and the sessions of browsers that opened one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::Result;
use mcpkg_base::{hex, sha256};
use mcpkg_core::access::Grant;
use mcpkg_core::op::Context;
use mcpkg_core::passkey::Decider;

use super::link::{self, LINK};
use super::person::Person;

/// The header of requests that the script of a page sends by itself, without an action of the user.
const LIVE: &str = "mcpkg-live";

/// How long a session lasts after the last request that the user made, in milliseconds. A session of a person who signed
/// in with the issuer also ends this long after it began, because the groups of the person may have changed since.
const IDLE: Millis = 12 * 60 * 60 * 1000;

/// The session of a signed-in browser.
#[derive(Clone)]
pub struct Session {
    /// The secret that each form of this session sends.
    pub secret: String,
    /// The selected project, which pages name; empty until [`Session::at`] reads it.
    pub project: String,
    pub began: Began,
    /// What the access rules allow the person who signed in with the issuer; `None` in other sessions. The doors set it for
    /// each request.
    pub grant: Option<Grant>,
    seen: Millis,
}

/// How a session began, which decides who answers its questions.
#[derive(Clone)]
pub enum Began {
    /// With a link from a terminal. A yes in this session counts like one at the terminal.
    Link,
    /// With the passkey that has this id. Each yes needs an answer of this passkey.
    Passkey(String),
    /// With the issuer of the server. Each yes needs an answer of a passkey of this person.
    Issuer(Arc<Person>),
}

impl Session {
    /// Returns the session with what the access rules allow now.
    #[must_use]
    pub fn allowed(self, grant: Grant) -> Self {
        Self { grant: Some(grant), ..self }
    }

    /// Returns the passkeys that have to answer each question; `None` if no passkey is needed.
    pub fn decider(&self) -> Option<Decider<'_>> {
        match &self.began {
            Began::Link => None,
            Began::Passkey(id) => Some(Decider::Passkey(id)),
            Began::Issuer(person) => Some(Decider::Person(person.name())),
        }
    }

    pub fn needs_passkey(&self) -> bool {
        self.decider().is_some()
    }

    /// Returns the person who signed in with the issuer.
    pub fn person(&self) -> Option<&str> {
        match &self.began {
            Began::Issuer(person) => Some(person.name()),
            Began::Link | Began::Passkey(_) => None,
        }
    }

    /// Returns whether the access rules let the person only read.
    pub fn is_read_only(&self) -> bool {
        self.grant.as_ref().is_some_and(|grant| grant.read_only)
    }

    /// Returns the context of what this session does. `context` is that of the console.
    pub fn context(&self, context: &Context) -> Context {
        match (&self.began, &self.grant) {
            (Began::Issuer(person), Some(grant)) => person.context(context, grant),
            _ => context.clone(),
        }
    }

    fn is_over(&self, now: Millis) -> bool {
        let is_old = matches!(&self.began, Began::Issuer(person) if now.saturating_sub(person.since) >= IDLE);
        is_old || now.saturating_sub(self.seen) >= IDLE
    }

    /// Reads the name of the selected project from the database.
    #[must_use]
    pub fn at(self, context: &Context) -> Self {
        let project = context.read(|_, project| Ok(project.name.clone())).unwrap_or_default();
        Self { project, ..self }
    }
}

/// The cookies of a console.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cookie {
    Session,
    /// The cookie of a browser that is signing in with the issuer.
    SignIn,
}

pub struct Sessions {
    clock: Clock,
    /// The console's own host name, such as `mcpkg-5f3a9c21.localhost`. It changes each time the console starts.
    pub host: String,
    port: u16,
    /// The server that the console is a part of, if any.
    server: Option<Server>,
    inside: Mutex<Inside>,
}

struct Server {
    hosts: Vec<String>,
    is_secure: bool,
    /// What this user has approved on this machine, including the links that were made at a terminal.
    approved: Approved,
}

/// The sessions, and the links of `mcpkg console --web`. They are kept in memory only, keyed by the SHA-256 of a
/// session's cookie or a link's token.
#[derive(Default)]
struct Inside {
    /// The unused links, and when each expires.
    links: HashMap<String, Millis>,
    sessions: HashMap<String, Session>,
}

/// The address of this machine, for browsers that cannot resolve the console's host name.
const LOOPBACK: &str = "127.0.0.1";

impl Sessions {
    pub fn new(clock: Clock, port: u16) -> Result<Self> {
        let host = format!("mcpkg-{}.localhost", &hex::encode(&clock.secret()?)[..8]);
        Ok(Self { clock, host, port, server: None, inside: Mutex::default() })
    }

    /// Returns the sessions of a server with these host names.
    pub fn beside(clock: Clock, hosts: Vec<String>, is_secure: bool, approved: Approved) -> Result<Self> {
        Ok(Self { server: Some(Server { hosts, is_secure, approved }), ..Self::new(clock, 0)? })
    }

    /// Returns whether this is the console of a server.
    pub fn is_of_server(&self) -> bool {
        self.server.is_some()
    }

    fn is_secure(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.is_secure)
    }

    /// Returns the origin of the console's own pages at a host.
    pub fn origin(&self, host: &str) -> String {
        let scheme = if self.is_secure() { "https" } else { "http" };
        format!("{scheme}://{host}")
    }

    /// Returns the address of the console on this machine.
    pub fn url(&self) -> String {
        format!("http://{}:{}", self.host, self.port)
    }

    /// Makes a link that signs one browser in, once.
    pub fn link(&self) -> Result<String> {
        let token = hex::encode(&self.clock.secret()?);
        let expires = self.clock.now().saturating_add(LINK);
        self.inside().links.insert(sha256::hex(&token), expires);
        Ok(format!("{}/login?token={token}", self.url()))
    }

    /// Uses up a link. Returns the cookie of a new session, or `None` if the link was used before or has expired.
    pub fn sign_in(&self, token: &str) -> Result<Option<String>> {
        let now = self.clock.now();
        let mut inside = self.inside();
        let expires = inside.links.remove(&sha256::hex(token));
        inside.links.retain(|_, expires| now < *expires);
        // The lock is held, so that only one of two requests gets the link.
        let is_good = match &self.server {
            Some(server) => link::use_up(&server.approved, token, now)?,
            None => expires.is_some_and(|expires| now < expires),
        };
        drop(inside);
        if is_good { self.begin(Began::Link).map(Some) } else { Ok(None) }
    }

    /// Begins a session. Returns its cookie.
    pub fn begin(&self, began: Began) -> Result<String> {
        let (cookie, secret) = (hex::encode(&self.clock.secret()?), hex::encode(&self.clock.secret()?));
        let session = Session { secret, project: String::new(), began, grant: None, seen: self.clock.now() };
        self.inside().sessions.insert(sha256::hex(&cookie), session);
        Ok(self.set_cookie(Cookie::Session, &cookie))
    }

    /// Returns the header that sets a cookie.
    pub fn set_cookie(&self, cookie: Cookie, value: &str) -> String {
        let secure = if self.is_secure() { "; Secure" } else { "" };
        let scope = match cookie {
            Cookie::Session => "SameSite=Strict",
            // The issuer, which is another site, sends the browser back with this cookie.
            Cookie::SignIn if value.is_empty() => "SameSite=Lax; Max-Age=0",
            Cookie::SignIn => "SameSite=Lax; Max-Age=600",
        };
        format!("{}={value}; Path=/; HttpOnly; {scope}{secure}", self.cookie(cookie))
    }

    /// Ends a session.
    pub fn end(&self, session: &Session) {
        self.inside().sessions.retain(|_, known| known.secret != session.secret);
    }

    pub fn sign_out(&self, headers: &HeaderMap) {
        let mut inside = self.inside();
        self.cookies(Cookie::Session, headers).for_each(|cookie| drop(inside.sessions.remove(&sha256::hex(cookie))));
    }

    /// Returns whether a session has not ended.
    pub fn is_open(&self, session: &Session) -> bool {
        let now = self.clock.now();
        let is_it = |known: &&Session| known.secret == session.secret;
        let is_open = self.inside().sessions.values().find(is_it).is_some_and(|known| !known.is_over(now));
        is_open && self.has_passkey(session)
    }

    /// Returns whether the passkey that began the session still exists. Other sessions need none.
    fn has_passkey(&self, session: &Session) -> bool {
        let Began::Passkey(passkey) = &session.began else { return true };
        let approved = self.server.as_ref().map(|server| &server.approved);
        approved.is_some_and(|approved| approved.has(Kind::Passkey, passkey).unwrap_or(false))
    }

    /// Returns the session of a request. Requests with the header [`LIVE`] do not prolong the session.
    pub fn session(&self, headers: &HeaderMap) -> Option<Session> {
        let now = self.clock.now();
        let mut inside = self.inside();
        inside.sessions.retain(|_, session| !session.is_over(now));
        let known = self
            .cookies(Cookie::Session, headers)
            .map(sha256::hex)
            .find(|cookie| inside.sessions.contains_key(cookie))?;
        if !inside.sessions.get(&known).is_some_and(|session| self.has_passkey(session)) {
            inside.sessions.remove(&known);
            return None;
        }
        let session = inside.sessions.get_mut(&known)?;
        if !headers.contains_key(LIVE) {
            session.seen = now;
        }
        Some(session.clone())
    }

    /// Returns the name of a cookie. Browsers share cookies between ports, so each console has a cookie name of its
    /// own: two consoles at one host would overwrite a cookie of the same name. Browsers accept a cookie with the
    /// prefix `__Host-` only from the host itself, over TLS.
    fn cookie(&self, cookie: Cookie) -> String {
        let prefix = if self.is_secure() { "__Host-" } else { "" };
        let suffix = if cookie == Cookie::SignIn { "-sign-in" } else { "" };
        format!("{prefix}{}{suffix}", self.host.split('.').next().unwrap_or_default())
    }

    /// Returns the values of one of the console's cookies. There may be several, because other servers on the host can set a
    /// cookie of the same name.
    pub fn cookies<'h>(&self, cookie: Cookie, headers: &'h HeaderMap) -> impl Iterator<Item = &'h str> {
        let name = self.cookie(cookie);
        let pairs =
            headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(';'));
        pairs.filter_map(move |pair| pair.trim().strip_prefix(&name)?.strip_prefix('='))
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a host name is one of the console's.
    pub fn is_own_host(&self, host: &str) -> bool {
        match &self.server {
            None => host.eq_ignore_ascii_case(&self.host) || host == LOOPBACK,
            // Accept any IP address. Browsers send one as the host only if the URL of the request has this IP address,
            // so DNS rebinding is impossible.
            Some(server) => {
                let host = host.trim_start_matches('[').trim_end_matches(']');
                host.parse::<IpAddr>().is_ok() || server.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn sessions() -> Sessions {
        Sessions::new(Clock::fixed(1_795_870_000_000), 4000).expect("sessions")
    }

    fn signed_in(sessions: &Sessions) -> HeaderMap {
        let link = sessions.link().expect("a link");
        let cookie =
            sessions.sign_in(link.rsplit_once('=').expect("a token").1).expect("random bytes").expect("a cookie");
        let cookie = cookie.split(';').next().expect("a pair");
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(&format!("a=b; {cookie}")).expect("a header"))])
    }

    #[test]
    fn a_link_works_once_and_for_five_minutes() {
        let sessions = sessions();
        let token = |link: String| link.rsplit_once("token=").expect("a token").1.to_owned();
        let (first, second) = (token(sessions.link().expect("a link")), token(sessions.link().expect("a link")));
        assert_eq!((first.len(), first == second), (64, false), "256 bits");
        let opened = |token: &str| sessions.sign_in(token).expect("random bytes").is_some();
        assert_eq!([opened(&first), opened(&first), opened("")], [true, false, false]);
        sessions.clock.advance(LINK);
        assert!(!opened(&second));
        assert!(!format!("{:?}", sessions.inside().links).contains(&second), "only its hash is kept");
    }

    #[test]
    fn a_session_ends_when_it_is_idle_or_signed_out() {
        let sessions = sessions();
        let (one, other) = (signed_in(&sessions), signed_in(&sessions));
        let is_in = |headers: &HeaderMap| sessions.session(headers).is_some();
        assert!(is_in(&one) && is_in(&other) && !is_in(&HeaderMap::new()));
        sessions.sign_out(&one);
        assert!(!is_in(&one) && is_in(&other));
        sessions.clock.advance(IDLE - 1);
        assert!(is_in(&other));
        sessions.clock.advance(IDLE);
        assert!(!is_in(&other));
    }
}
