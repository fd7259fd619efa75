//! Decides from a request's access key or token what the request may access, and limits how often an address may guess a
//! key.

use std::collections::HashMap;
use std::net::IpAddr;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, StatusCode};

use super::answer::Refusal;
use super::headers::bearer;
use super::sign_in::SignIn;
use crate::mcp::Config;
use crate::mcp::front::{Presented, ReadCache};
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_core::access::token::{self, Claims};
use mcpkg_core::access::{Grant, Refused};
use mcpkg_core::op::Holder;
use mcpkg_store::Version;

/// How many wrong keys an address may send within [`WINDOW`]. Further ones get 429 until the window is over.
const MAX_GUESSES: u32 = 20;
const WINDOW: Duration = Duration::from_secs(60);

/// The maximum number of addresses whose guesses are counted.
const MAX_ADDRESSES: usize = 4096;

/// Checks the access of each request.
pub(super) struct AccessControl {
    config: Arc<Config>,
    /// Whether a key is required even if none was ever created.
    key_required: bool,
    sign_in: Option<SignIn>,
    clock: Clock,
    guesses: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl AccessControl {
    pub(super) fn new(config: Arc<Config>, key_required: bool, sign_in: Option<SignIn>) -> Self {
        Self { config, key_required, sign_in, clock: Clock::system(), guesses: Mutex::default() }
    }

    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Checks the token of a request to the endpoint with this path. Returns `None` if the request sends an access key
    /// or no credential.
    fn token(&self, headers: &HeaderMap, endpoint: &str) -> Result<Option<Arc<Claims>>, Refused> {
        match (&self.sign_in, bearer(headers)) {
            (Some(sign_in), Some(token)) if token::is_token(token) => {
                sign_in.check(token, endpoint, self.clock.now()).map(Some).map_err(Refused::Token)
            }
            _ => Ok(None),
        }
    }

    /// Checks a request that arrived at `came`. Returns the server's configuration, narrowed to what the request may
    /// access. Without `project`, the request is for the one project
    /// of its key or token, or else for the project that the server selects.
    pub(super) fn admit(
        &self,
        read_cache: &ReadCache,
        headers: &HeaderMap,
        from: IpAddr,
        endpoint: &str,
        project: Option<&str>,
        came: Instant,
    ) -> Result<Arc<Config>, Refusal> {
        let claims = self.token(headers, endpoint).map_err(|why| self.refuse(from, why))?;
        let project_asked = project.or(self.config.selection.named.as_deref());
        let presented = match &claims {
            Some(claims) => Presented::Token { claims, project: project_asked },
            None => Presented::Key(bearer(headers)),
        };
        let grant = match read_cache.admit(presented, self.key_required, &self.clock, came)? {
            Ok(grant) => grant,
            Err(why @ (Refused::NoRule | Refused::SeveralProjects)) => {
                let rules = read_cache.rules()?;
                let (has, helps) = (claims.as_ref().map_or("", |claims| claims.scopes()), rules.scopes(project_asked));
                let scopes = self.sign_in.as_ref().map(|sign_in| sign_in.scopes_for(has, helps));
                return Err(Refusal::needs_scopes(why.to_string(), &scopes.unwrap_or_default()));
            }
            Err(why) => return Err(self.refuse(from, why)),
        };
        let config = self.reach(grant, project)?;
        if let Some(name) = project
            && !read_cache.has_project(name)?
        {
            let why = format!("Project '{}' does not exist on this server", name.escape_debug());
            return Err(Refusal::new(StatusCode::NOT_FOUND, why));
        }
        Ok(config)
    }

    /// Returns what a request could access when the database was last read; see [`ReadCache::presume`].
    pub(super) fn presume(
        &self,
        read_cache: &ReadCache,
        headers: &HeaderMap,
        endpoint: &str,
        project: Option<&str>,
    ) -> Option<Arc<Config>> {
        let claims = self.token(headers, endpoint).ok()?;
        let presented = match &claims {
            Some(claims) => Presented::Token { claims, project: project.or(self.config.selection.named.as_deref()) },
            None => Presented::Key(bearer(headers)),
        };
        let grant = read_cache.presume(presented, self.key_required, project, &self.clock)?;
        self.reach(grant, project).ok()
    }

    /// Returns what a request with this grant, or without a key, may access. Without `project`, the request is for the project
    /// that the server selects.
    fn reach(&self, grant: Option<Grant>, project: Option<&str>) -> Result<Arc<Config>, Refusal> {
        if let Some(name) = project {
            let reaches = grant
                .as_ref()
                .and_then(|grant| grant.project_name.as_deref())
                .or(self.config.selection.named.as_deref())
                .is_none_or(|only| only == name);
            if !reaches {
                // The error is the same whether the project exists or not, so a key reveals nothing about other
                // projects.
                let shown = grant.as_ref().map_or("access key", |grant| grant.holder.shown());
                return Err(Refusal::out_of_scope(format!(
                    "This {shown} does not give access to project '{}'",
                    name.escape_debug()
                )));
            }
        }
        if grant.is_none() && project.is_none() {
            return Ok(Arc::clone(&self.config));
        }
        let mut config = Config::clone(&self.config);
        if let Some(name) = project {
            config.selection.named = Some(name.to_owned());
            config.selection.named_by = "the address";
        }
        if let Some(grant) = grant {
            let rights = grant.rights(config.connection);
            let surface = Arc::make_mut(&mut config.surface);
            surface.read_only |= !rights.write;
            surface.no_execute |= !rights.execute;
            if !rights.deploy {
                let groups = crate::DOMAINS.iter().flat_map(|domain| domain.groups);
                let within = groups.filter(|group| group.within_project && surface.serves_group(group.name));
                surface.groups = Some(within.map(|group| group.name.to_owned()).collect());
            }
            if let Some(name) = grant.project_name.clone() {
                if config.selection.named.as_ref().is_some_and(|only| *only != name) {
                    return Err(Refusal::out_of_scope(format!(
                        "This server does not serve the project that the {} is for",
                        grant.holder.shown()
                    )));
                }
                config.selection.named = Some(name);
                config.selection.named_by = match grant.holder {
                    Holder::Key(_) => "the access key",
                    Holder::SignedIn(_) => "the access rules",
                };
            }
            config.grant = Some(grant);
        }
        Ok(Arc::new(config))
    }

    /// Returns whether a request that was admitted with `grant`, or without a key, would still be admitted. `seen`
    /// keeps the data version of the last check, so that checking again takes microseconds while nothing is committed.
    pub(super) fn holds(&self, read_cache: &ReadCache, grant: Option<&Grant>, seen: &Mutex<Option<Version>>) -> bool {
        let now = self.clock.now();
        // While the database cannot be read, the key cannot be checked, so open streams stay open.
        let Ok(version) = read_cache.refresh() else { return true };
        let expired = grant.and_then(|grant| grant.expires_at).is_some_and(|expires_at| now >= expires_at);
        if *seen.lock().unwrap_or_else(PoisonError::into_inner) == Some(version) && !expired {
            return true;
        }
        let holds = read_cache.holds(grant, self.key_required, now).unwrap_or(true);
        if holds {
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
        }
        holds
    }

    /// Returns the refusal of a request, usually 401 with the reason.
    ///
    /// Unknown or malformed keys and forged tokens count as guesses. An address that guesses too often gets 429 for
    /// them. A request without a key, or with a key or token that was once valid, never counts as a guess.
    fn refuse(&self, from: IpAddr, why: Refused) -> Refusal {
        match why {
            Refused::Missing if self.sign_in.is_some() => {
                Refusal::unauthorized("Sign in with the issuer of this server, or send an access key", false)
            }
            Refused::Missing => Refusal::unauthorized(why.to_string(), false),
            // This is not the client's fault, and another token would not help.
            Refused::Token(token::Refused::NoKeys) => {
                Refusal::later(StatusCode::SERVICE_UNAVAILABLE, why.to_string(), 30)
            }
            Refused::Token(token) if !token.is_guess() => Refusal::unauthorized(why.to_string(), true),
            Refused::Expired | Refused::Revoked | Refused::ProjectGone | Refused::NoTokens => {
                Refusal::unauthorized(why.to_string(), true)
            }
            Refused::NoRule | Refused::SeveralProjects => Refusal::out_of_scope(why.to_string()),
            Refused::Malformed | Refused::Unknown | Refused::Token(_) => match self.count_guess(subnet(from)) {
                None => Refusal::unauthorized(why.to_string(), true),
                Some(left) => {
                    let why = format!("{why}; too many wrong keys came from this address in the last minute");
                    Refusal::later(StatusCode::TOO_MANY_REQUESTS, why, left.as_secs().max(1))
                }
            },
        }
    }

    /// Counts a wrong key. Returns how long the address has to wait if it guessed too often.
    fn count_guess(&self, from: IpAddr) -> Option<Duration> {
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if guesses.len() >= MAX_ADDRESSES {
            guesses.retain(|_, (since, _)| now.duration_since(*since) < WINDOW);
            if guesses.len() >= MAX_ADDRESSES {
                // If the table is full, addresses with few guesses are dropped before those that have to wait.
                guesses.retain(|_, (_, count)| *count > MAX_GUESSES);
            }
            if guesses.len() >= MAX_ADDRESSES {
                guesses.clear();
            }
        }
        let (since, count) = guesses.entry(from).or_insert((now, 0));
        let left = WINDOW.saturating_sub(now.duration_since(*since));
        if left.is_zero() {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        (*count > MAX_GUESSES).then_some(left)
    }
}

/// The unit by which requests are counted: an access key, a person who signed in, or an address. All addresses in one
/// IPv6 /64 count as one; see [`subnet`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Client {
    Holder(String),
    Address(IpAddr),
}

impl Client {
    /// Returns the client that a request counts for.
    pub(super) fn of(config: &Config, from: IpAddr) -> Self {
        match &config.grant {
            Some(grant) => Self::Holder(grant.holder.requester()),
            None => Self::Address(subnet(from)),
        }
    }
}

/// Returns one address that stands for all addresses of a client, because an IPv6 client usually has a whole /64. An
/// IPv4 address that arrived through an IPv6 socket becomes a plain IPv4 address.
pub(super) fn subnet(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::from((u128::from(address) & !u128::from(u64::MAX)).to_be_bytes())
        }
        address => address,
    }
}

/// Returns the owner of a session: the key or person that began it, and the project that it began with.
pub(super) fn owner(config: &Config) -> (Option<String>, Option<String>) {
    (config.grant.as_ref().map(|grant| grant.holder.requester()), config.selection.named.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_guesses_keys_has_to_wait() {
        let access_control = AccessControl::new(Arc::default(), false, None);
        let from = IpAddr::from([127, 0, 0, 1]);
        let refuse = |from, why| access_control.refuse(from, why).into_response();
        for _ in 0..MAX_GUESSES {
            assert_eq!(refuse(from, Refused::Unknown).status(), StatusCode::UNAUTHORIZED);
        }
        let response = refuse(from, Refused::Malformed);
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(response.headers().contains_key(http::header::RETRY_AFTER));
        assert_eq!(refuse(IpAddr::from([127, 0, 0, 2]), Refused::Unknown).status(), StatusCode::UNAUTHORIZED);
        // Clients at the same address that send no key, or a former one, still get the precise reason.
        let former = [Refused::Missing, Refused::Expired, Refused::Revoked, Refused::ProjectGone, Refused::NoTokens];
        let tokens =
            [token::Refused::Expired, token::Refused::Issuer, token::Refused::Audience, token::Refused::UnknownKey];
        for why in former.into_iter().chain(tokens.map(Refused::Token)) {
            assert_eq!(refuse(from, why).status(), StatusCode::UNAUTHORIZED, "{why:?}");
        }
        // Guesses from many other addresses do not make the server forget this one.
        for n in 0..MAX_ADDRESSES * 2 {
            let [_, _, high, low] = u32::try_from(n).unwrap().to_be_bytes();
            refuse(IpAddr::from([10, 0, high, low]), Refused::Unknown);
        }
        assert_eq!(refuse(from, Refused::Unknown).status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(access_control.guesses.lock().unwrap().len() <= MAX_ADDRESSES);
    }

    #[test]
    fn all_addresses_of_an_ipv6_subnet_are_one_client() {
        let subnet = |address: &str| super::subnet(address.parse().unwrap());
        assert_eq!(subnet("2001:db8::1"), subnet("2001:db8::ffff:1"));
        assert_ne!(subnet("2001:db8::1"), subnet("2001:db8:0:1::1"));
        assert_eq!(subnet("::ffff:192.0.2.1"), subnet("192.0.2.1"));
        assert_ne!(subnet("::ffff:192.0.2.1"), subnet("::ffff:192.0.2.2"));
    }
}
