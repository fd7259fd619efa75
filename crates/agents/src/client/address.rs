//! Parses the URL of a server as users write it.

use mcpkg_base::error::{Code, Error, Result};

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The host; an IPv6 address has no brackets.
    pub host: String,
    pub port: u16,
    /// The path and the query.
    pub path: String,
}

impl Address {
    pub fn parse(url: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::new(
                Code::InvalidArgument,
                format!("'{}' is not the URL of a server: {why}", mcpkg_base::redact::redact(url)),
            )
            .hint("give a URL such as http://127.0.0.1:3000/mcp")
        };
        let (usual, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (80, rest),
            (_, Some(rest)) => (443, rest),
            _ => return Err(wrong("it must begin with http:// or https://")),
        };
        if url.chars().any(|c| c.is_whitespace() || c.is_control() || "\"'<>\\^`{|}$".contains(c)) {
            return Err(wrong("it contains a character that is not allowed in a URL"));
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(wrong("a key must come from the environment (--key-env NAME), never from the URL"));
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(wrong("it has no host"));
        }
        let port = port.map_or(Ok(usual), str::parse).map_err(|_| wrong("its port is not a number"))?;
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { host: host.to_owned(), port, path })
    }

    /// Returns whether the host is this machine.
    pub fn is_loopback(&self) -> bool {
        let ip: Option<std::net::IpAddr> = self.host.parse().ok();
        self.host.eq_ignore_ascii_case("localhost") || ip.is_some_and(|ip| ip.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let address = Address::parse("http://[::1]:3000/projects/p/mcp?x=1#y").expect("a URL");
        let wanted = Address { host: "::1".to_owned(), port: 3000, path: "/projects/p/mcp?x=1".to_owned() };
        assert_eq!(address, wanted);
        assert_eq!(
            Address::parse("https://a").map(|address| (address.port, address.path)).ok(),
            Some((443, "/".into()))
        );
        for bad in ["", "a", "ftp://a", "http://", "http://a:b/", "http://u:p@a/", "http://a/ b", "http://a/${X}"] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
