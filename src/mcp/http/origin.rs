//! Checks the `Host` and `Origin` headers: the host names of this server, and the web pages that may call it.
//!
//! A web page can reach a server on its visitor's machine through the visitor's browser, which sends both headers.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};

use super::answer::{self, Body, Refusal};

/// The names by which only local programs can reach this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The methods and headers that pages allowed by `--allow-origin` may send, and the headers that they may read.
const METHODS: &str = "GET, POST, DELETE";
const SENT: &str = "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, \
                    mcp-name";
const READ: &str = "mcp-session-id, www-authenticate, retry-after";

/// The origin of a web page: a scheme, a host and a port, as browsers send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    https: bool,
    /// The host in lower case; an IPv6 address has no brackets.
    host: String,
    port: u16,
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (https, authority) = match text.split_once("://")? {
                ("http", rest) => (false, rest),
                ("https", rest) => (true, rest),
                _ => return None,
            };
            let (host, port) = host_and_port(authority)?;
            Some(Self { https, host: host.to_ascii_lowercase(), port: port.unwrap_or(default_port(https)) })
        };
        parse()
            .ok_or_else(|| "give a scheme, a host and, if necessary, a port, such as http://localhost:5173".to_owned())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

/// The hosts and origins that a server accepts.
pub(super) struct Origins {
    https: bool,
    /// Accepted host names, in addition to the address of the connection.
    hosts: Vec<String>,
    /// The origins of web pages from other servers that may call this server.
    allowed: Vec<Origin>,
}

impl Origins {
    pub(super) fn new(https: bool, bound: IpAddr, names: &[String], allowed: Vec<Origin>) -> Self {
        let mut hosts: Vec<String> = LOOPBACK.map(str::to_owned).to_vec();
        hosts.push(bound.to_string());
        hosts.extend(names.iter().map(|name| name.to_ascii_lowercase()));
        Self { https, hosts, allowed }
    }

    /// Refuses a request if its host is not this server's (DNS rebinding), or if its Origin is neither this server's
    /// own nor allowed. `local` is the server's address on the connection.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap, local: SocketAddr) -> Result<(), Refusal> {
        let forbidden = |why: String| Err(Refusal::new(StatusCode::FORBIDDEN, why));
        let header = headers.get(HOST).map(|host| host.to_str().unwrap_or_default());
        let target = uri.authority().map(Authority::as_str);
        // A host in the request target takes precedence over the Host header, but both have to name this server.
        let reached = match (target, header) {
            (Some(target), Some(header)) => self.known(header, local.ip()).and(self.known(target, local.ip())),
            (Some(only), None) | (None, Some(only)) => self.known(only, local.ip()),
            (None, None) => None,
        };
        let Some((host, port)) = reached else {
            return forbidden(
                "The Host of this request is not a name of this server; to allow this Host, start the server with --allow-host NAME"
                    .to_owned(),
            );
        };
        let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
        let told = origin.to_str().unwrap_or_default();
        match told.parse::<Origin>() {
            Ok(origin) if self.is_own(&origin, host, port, local) || self.allowed.contains(&origin) => Ok(()),
            Ok(origin) => forbidden(format!(
                "The Origin of this request, {origin}, is not allowed; to allow it, start the server with --allow-origin \
                 {origin}"
            )),
            Err(_) => forbidden("The Origin of this request is not allowed".to_owned()),
        }
    }

    /// Returns the host and port of an authority if the host is one of this server's.
    fn known<'a>(&self, authority: &'a str, local: IpAddr) -> Option<(&'a str, Option<u16>)> {
        host_and_port(authority).filter(|(host, _)| {
            self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
                || host.parse::<IpAddr>().is_ok_and(|address| address == local)
        })
    }

    /// Returns whether a page comes from the server that the request went to: the same scheme, host and port. A
    /// different port on this machine is a different server.
    fn is_own(&self, origin: &Origin, host: &str, port: Option<u16>, local: SocketAddr) -> bool {
        let loopback = |name: &str| LOOPBACK.contains(&name);
        let same_host =
            origin.host.eq_ignore_ascii_case(host) || loopback(&origin.host) && loopback(&host.to_ascii_lowercase());
        // A Host without a port means the scheme's default port. A proxy in front of this server may use another
        // scheme, which has another default port.
        let usual = default_port(self.https);
        let port = port.unwrap_or(if local.port() == usual { usual } else { default_port(origin.https) });
        same_host && origin.port == port && (port != local.port() || origin.https == self.https)
    }

    /// Returns the Origin header of a request if `--allow-origin` allows that origin.
    pub(super) fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN).filter(|_| !self.allowed.is_empty())?;
        let parsed = origin.to_str().ok()?.parse().ok()?;
        self.allowed.contains(&parsed).then(|| origin.clone())
    }
}

/// Returns whether the request is a preflight, by which a browser asks whether a page may send its request.
pub(super) fn is_preflight<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns the answer to a preflight; [`allow`] adds the allowed origin.
pub(super) fn preflight() -> Response<Body> {
    let mut response = answer::text(StatusCode::NO_CONTENT, "");
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(SENT));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Allows the browser to pass the answer to the page with this origin.
pub(super) fn allow(response: &mut Response<Body>, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READ));
    headers.append(VARY, HeaderValue::from_static("origin"));
}

fn default_port(https: bool) -> u16 {
    if https { 443 } else { 80 }
}

/// Splits an authority into host and port, without the brackets of an IPv6 address. Returns `None` if it contains
/// anything else, such as user information or a path.
fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']').filter(|(host, _)| host.parse::<std::net::Ipv6Addr>().is_ok())?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if host.is_empty() || !host.chars().all(plain) {
        return None;
    }
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Some((host, None)),
        Some("") => Some((host, None)),
        Some(port) if port.bytes().all(|digit| digit.is_ascii_digit()) => Some((host, Some(port.parse().ok()?))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: &str, host: Option<&str>, origin: Option<&str>) -> bool {
        let named = ["Team.example".to_owned()];
        let allowed = vec!["http://localhost:5173".parse().expect("an origin")];
        let origins = Origins::new(false, IpAddr::from([127, 0, 0, 1]), &named, allowed);
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().expect("a header"));
            }
        }
        origins.check(&target.parse().expect("a URI"), &headers, SocketAddr::from(([10, 0, 0, 7], 3000))).is_ok()
    }

    #[test]
    fn foreign_hosts_are_refused() {
        for host in ["localhost", "127.0.0.1:3000", "[::1]:3000", "team.example:8443", "10.0.0.7:3000", "LOCALHOST:"] {
            assert!(check("/mcp", Some(host), None), "{host}");
            assert!(check(&format!("http://{}/mcp", host.trim_end_matches(':')), Some(host), None), "{host}");
            assert!(!check("http://evil.example/mcp", Some(host), None), "{host}");
        }
        for host in
            ["evil.example", "10.0.0.8", "localhost.evil.example", "", "a b", "localhost:x", "x@localhost", "::1"]
        {
            assert!(!check("/mcp", Some(host), None), "{host}");
            assert!(!check("http://localhost/mcp", Some(host), None), "{host}");
        }
        assert!(!check("http://x@localhost/mcp", Some("localhost"), None));
        assert!(!check("/mcp", None, None));
        assert!(check("http://localhost/mcp", None, None));
    }

    #[test]
    fn an_origin_is_compared_whole() {
        for (host, origin) in [
            ("localhost:3000", "http://localhost:3000"),
            ("localhost:3000", "http://127.0.0.1:3000"),
            ("127.0.0.1:3000", "http://[::1]:3000"),
            ("10.0.0.7:3000", "http://10.0.0.7:3000"),
            // A proxy in front has its own name and terminates TLS.
            ("team.example", "https://team.example"),
            ("team.example", "http://team.example"),
            ("team.example:8443", "https://TEAM.example:8443"),
            ("localhost:3000", "http://localhost:5173"),
        ] {
            assert!(check("/mcp", Some(host), Some(origin)), "{host} {origin}");
        }
        for (host, origin) in [
            ("localhost:3000", "http://localhost:8000"),
            ("localhost:3000", "http://localhost"),
            ("localhost:3000", "https://localhost:3000"),
            ("localhost:3000", "https://localhost:5173"),
            ("127.0.0.1:3000", "http://10.0.0.7:3000"),
            ("team.example", "https://team.example:8443"),
            ("team.example", "http://localhost"),
            ("localhost", "http://x@localhost"),
            ("localhost", "http://localhost@evil.example"),
            ("localhost", "http://localhost/"),
            ("localhost", "http://localhost.evil.example"),
            ("localhost", "http://evil.example"),
            ("localhost", "file://localhost"),
            ("localhost", "null"),
            ("localhost", "localhost"),
            ("localhost", ""),
        ] {
            assert!(!check("/mcp", Some(host), Some(origin)), "{host} {origin}");
        }
    }

    #[test]
    fn a_server_at_the_default_port_does_not_accept_pages_of_the_other_scheme() {
        let origins = Origins::new(false, IpAddr::from([127, 0, 0, 1]), &[], Vec::new());
        let own =
            |origin: &str| origins.is_own(&origin.parse().unwrap(), "localhost", None, ([127, 0, 0, 1], 80).into());
        assert!(own("http://localhost") && !own("https://localhost") && !own("http://localhost:443"));
    }

    #[test]
    fn an_origin_is_shown_as_it_is_parsed() {
        for text in ["http://localhost:5173", "https://[::1]:8443", "https://team.example:443"] {
            assert_eq!(text.parse::<Origin>().map(|origin| origin.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("https://team.example".parse::<Origin>(), "https://Team.example:443".parse());
        for wrong in
            ["", "null", "localhost", "http://", "http://a b", "ftp://a", "http://a:99999", "http://[a]:1", "http://*"]
        {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
    }
}
