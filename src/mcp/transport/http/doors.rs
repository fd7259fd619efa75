//! Who is let in, and how far: Host and Origin, access keys, and how often an address may fail.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, StatusCode, Uri};

use super::answer::Refusal;
use crate::access::Grant;
use crate::clock::Clock;
use crate::content;
use crate::mcp::Config;
use crate::mcp::front::Desk;

/// Keys that an address may get wrong within [`WINDOW`]; then it hears 429 until that is over.
const MOST_FAILURES: u32 = 20;
const WINDOW: Duration = Duration::from_secs(60);

/// Addresses that are remembered for their failures.
const MOST_ADDRESSES: usize = 4096;

/// Decides on each request anew.
pub(super) struct Doors {
    config: Arc<Config>,
    /// Whether a key is asked for also while none was ever made.
    key_required: bool,
    /// Names under which this server may be reached.
    hosts: Vec<String>,
    clock: Clock,
    failures: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Doors {
    pub(super) fn new(config: Arc<Config>, bound: IpAddr, named: &[String], key_required: bool) -> Self {
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        hosts.push(bound.to_string());
        hosts.extend(named.iter().map(|name| name.to_ascii_lowercase()));
        Self { config, key_required, hosts, clock: Clock::system(), failures: Mutex::default() }
    }

    /// Refuses a request that a web page sent through its visitor's browser: one for a foreign Host (DNS rebinding) or
    /// from a foreign Origin.
    pub(super) fn check_origin(&self, uri: &Uri, headers: &HeaderMap, local: IpAddr) -> Result<(), Refusal> {
        let forbidden = |why: &str| Err(Refusal::new(StatusCode::FORBIDDEN, why));
        let mut hosts = headers.get_all(HOST).iter();
        let named = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok(),
            (None, _) => uri.authority().map(Authority::as_str),
            _ => None,
        };
        match named {
            Some(authority) if self.knows(without_port(authority), local) => {}
            _ => return forbidden("The Host of this request is none of this server's; --allow-host NAME adds one"),
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (None, _) => return Ok(()),
            (Some(origin), None) => origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok()),
            _ => None,
        };
        let known = origin.as_ref().is_some_and(|origin| {
            matches!(origin.scheme_str(), Some("http" | "https"))
                && origin.host().is_some_and(|host| self.knows(host, local))
        });
        if known { Ok(()) } else { forbidden("The Origin of this request is a foreign one") }
    }

    fn knows(&self, host: &str, local: IpAddr) -> bool {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
            || host.parse::<IpAddr>().is_ok_and(|address| address == local)
    }

    /// Returns what a request for `project`, or for the one that applies, may reach.
    pub(super) fn admit(
        &self,
        desk: &Desk,
        headers: &HeaderMap,
        from: IpAddr,
        project: Option<&str>,
    ) -> Result<Arc<Config>, Refusal> {
        let presented = bearer(headers);
        let shown = presented.is_some();
        let grant = match desk.admit(presented, self.key_required, &self.clock)? {
            Ok(grant) => grant,
            Err(why) => return Err(self.refuse(from, &why.to_string(), shown)),
        };
        if let Some(name) = project {
            let reaches = grant
                .as_ref()
                .and_then(|grant| grant.project_name.as_deref())
                .or(self.config.selection.named.as_deref())
                .is_none_or(|only| only == name);
            if !reaches {
                // The same whether it is there or not: a key of one project learns nothing of the others.
                return Err(Refusal::out_of_scope(format!("The project '{}' is out of reach", name.escape_debug())));
            }
            if !desk.has_project(name)? {
                let why = format!("There is no project '{}' here", name.escape_debug());
                return Err(Refusal::new(StatusCode::NOT_FOUND, why));
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
            config.read_only |= grant.read_only;
            if let Some(name) = grant.project_name.clone() {
                if config.selection.named.as_ref().is_some_and(|only| *only != name) {
                    return Err(Refusal::out_of_scope("This server serves another project than the key is for"));
                }
                config.selection.named = Some(name);
                config.selection.named_by = "the access key";
                // Deploys reach beyond a project: folders, config repos.
                let toolsets = config.toolsets.get_or_insert_with(|| content::TOOLSETS.map(str::to_owned).to_vec());
                toolsets.retain(|name| content::TOOLSETS.contains(&name.as_str()));
            }
            config.grant = Some(grant);
        }
        Ok(Arc::new(config))
    }

    /// Whether what was let in with `grant`, or without a key, would be let in still.
    pub(super) fn holds(&self, desk: &Desk, grant: Option<&Grant>) -> bool {
        // While the database cannot be read nobody can be asked; what is open stays so.
        desk.holds(grant, self.key_required, self.clock.now()).unwrap_or(true)
    }

    /// Counts a failure; too many from one address are told so.
    fn refuse(&self, from: IpAddr, why: &str, shown: bool) -> Refusal {
        let from = subnet(from);
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if failures.len() >= MOST_ADDRESSES {
            failures.retain(|_, (since, _)| now.duration_since(*since) < WINDOW);
            if failures.len() >= MOST_ADDRESSES {
                // A flood of addresses that failed once makes room before one that is told to wait.
                failures.retain(|_, (_, count)| *count > MOST_FAILURES);
            }
            if failures.len() >= MOST_ADDRESSES {
                failures.clear();
            }
        }
        let (since, count) = failures.entry(from).or_insert((now, 0));
        let left = WINDOW.saturating_sub(now.duration_since(*since));
        if left.is_zero() {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        if *count > MOST_FAILURES {
            let why = "Too many requests from this address came without a good access key";
            return Refusal::later(StatusCode::TOO_MANY_REQUESTS, why, left.as_secs().max(1));
        }
        drop(failures);
        Refusal::unauthorized(why, shown)
    }
}

/// Returns the host of a Host header.
fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Returns what stands for all addresses of one client: of IPv6 a client has a whole /64.
pub(super) fn subnet(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::from((u128::from(address) & !u128::from(u64::MAX)).to_be_bytes())
        }
        address => address,
    }
}

/// Returns the key that a request shows.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let value = value.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// Returns who a session belongs to: the key and the project that it began with.
pub(super) fn owner(config: &Config) -> (Option<String>, Option<String>) {
    (config.grant.as_ref().map(|grant| grant.key.clone()), config.selection.named.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doors() -> Doors {
        Doors::new(Arc::default(), IpAddr::from([127, 0, 0, 1]), &["Team.example".to_owned()], false)
    }

    fn check(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        doors().check_origin(&Uri::from_static("/mcp"), &headers, IpAddr::from([10, 0, 0, 7])).is_ok()
    }

    #[test]
    fn foreign_hosts_and_origins_are_refused() {
        for host in ["localhost", "127.0.0.1:3000", "[::1]:3000", "team.example:8443", "10.0.0.7:3000"] {
            assert!(check(host, None), "{host}");
            assert!(check(host, Some("http://localhost:5173")), "{host}");
        }
        for host in ["evil.example", "10.0.0.8", "localhost.evil.example", "", "a b", "localhost:x", "x@localhost"] {
            assert!(!check(host, None), "{host}");
        }
        for origin in ["http://evil.example", "null", "file://localhost", "http://localhost.evil.example", "localhost"]
        {
            assert!(!check("localhost", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn an_address_that_fails_often_is_told_to_wait() {
        let doors = doors();
        let from = IpAddr::from([127, 0, 0, 1]);
        for _ in 0..MOST_FAILURES {
            assert_eq!(doors.refuse(from, "no", false).into_response().status(), StatusCode::UNAUTHORIZED);
        }
        let response = doors.refuse(from, "no", false).into_response();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(response.headers().contains_key(http::header::RETRY_AFTER));
        let other = IpAddr::from([127, 0, 0, 2]);
        assert_eq!(doors.refuse(other, "no", false).into_response().status(), StatusCode::UNAUTHORIZED);
        // A flood of other addresses does not make it forgotten.
        for n in 0..MOST_ADDRESSES * 2 {
            let [_, _, high, low] = u32::try_from(n).unwrap().to_be_bytes();
            doors.refuse(IpAddr::from([10, 0, high, low]), "no", false);
        }
        assert_eq!(doors.refuse(from, "no", false).into_response().status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(doors.failures.lock().unwrap().len() <= MOST_ADDRESSES);
        let subnet = |address: &str| super::subnet(address.parse().unwrap());
        assert_eq!(subnet("2001:db8::1"), subnet("2001:db8::ffff:1"));
        assert_ne!(subnet("2001:db8::1"), subnet("2001:db8:0:1::1"));
    }
}
