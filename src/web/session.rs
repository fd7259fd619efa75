//! Keeps track of signed-in browsers: the links that the terminal prints, and the sessions of browsers that opened one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::Result;
use mcpkg_base::{hex, sha256};
use mcpkg_core::op::Context;

use super::link::{self, LINK};

/// The header of requests that the script of a page sends by itself, without an action of the user.
const LIVE: &str = "mcpkg-live";

/// How long a session lasts after the last request that the user made, in milliseconds.
const IDLE: Millis = 12 * 60 * 60 * 1000;

/// The session of a signed-in browser.
#[derive(Clone)]
pub struct Session {
    /// The secret that each form of this session sends.
    pub secret: String,
    /// The selected project, which pages name; empty until [`Session::at`] reads it.
    pub project: String,
    /// The id of the passkey with which the person signed in. In such a session, each yes needs an answer of the passkey.
    /// `None` for a session that began with a link from a terminal.
    pub passkey: Option<String>,
    seen: Millis,
}

impl Session {
    /// Reads the name of the selected project from the database.
    #[must_use]
    pub fn at(self, context: &Context) -> Self {
        let project = context.read(|_, project| Ok(project.name.clone())).unwrap_or_default();
        Self { project, ..self }
    }
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
        if is_good { self.begin(None).map(Some) } else { Ok(None) }
    }

    /// Begins a session. `passkey` is `None` if it began with a link from a terminal. Returns the session's cookie.
    pub fn begin(&self, passkey: Option<String>) -> Result<String> {
        let (cookie, secret) = (hex::encode(&self.clock.secret()?), hex::encode(&self.clock.secret()?));
        let session = Session { secret, project: String::new(), passkey, seen: self.clock.now() };
        self.inside().sessions.insert(sha256::hex(&cookie), session);
        let secure = if self.is_secure() { "; Secure" } else { "" };
        Ok(format!("{}={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie()))
    }

    pub fn sign_out(&self, headers: &HeaderMap) {
        let mut inside = self.inside();
        self.cookies(headers).for_each(|cookie| drop(inside.sessions.remove(&sha256::hex(cookie))));
    }

    /// Returns whether a session has not ended.
    pub fn is_open(&self, session: &Session) -> bool {
        let now = self.clock.now();
        let is_it = |known: &&Session| known.secret == session.secret;
        let is_open =
            self.inside().sessions.values().find(is_it).is_some_and(|known| now.saturating_sub(known.seen) < IDLE);
        is_open && self.has_passkey(session)
    }

    /// Returns whether the session's passkey still exists. Sessions that began with a link need none.
    fn has_passkey(&self, session: &Session) -> bool {
        session.passkey.as_ref().is_none_or(|passkey| {
            let approved = self.server.as_ref().map(|server| &server.approved);
            approved.is_some_and(|approved| approved.has(Kind::Passkey, passkey).unwrap_or(false))
        })
    }

    /// Returns the session of a request. Requests with the header [`LIVE`] do not prolong the session.
    pub fn session(&self, headers: &HeaderMap) -> Option<Session> {
        let now = self.clock.now();
        let mut inside = self.inside();
        inside.sessions.retain(|_, session| now.saturating_sub(session.seen) < IDLE);
        let known = self.cookies(headers).map(sha256::hex).find(|cookie| inside.sessions.contains_key(cookie))?;
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

    /// Returns the name of the cookie. Browsers share cookies between ports, so each console has a cookie name of its
    /// own: two consoles at one host would overwrite a cookie of the same name. Browsers accept a cookie with the
    /// prefix `__Host-` only from the host itself, over TLS.
    fn cookie(&self) -> String {
        let name = self.host.split('.').next().unwrap_or_default();
        if self.is_secure() { format!("__Host-{name}") } else { name.to_owned() }
    }

    /// Returns the values of the console's cookie. There may be several, because other servers on the host can set a
    /// cookie of the same name.
    fn cookies<'h>(&self, headers: &'h HeaderMap) -> impl Iterator<Item = &'h str> {
        let name = self.cookie();
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
