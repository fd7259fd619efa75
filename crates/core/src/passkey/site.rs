//! The address of a server, which a passkey belongs to.

use std::net::IpAddr;

use http::Uri;

use mcpkg_base::error::{Code, Error, Result};

/// The address of a server as browsers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The origin of the server's pages, as browsers write it: `https://mcp.example.com`.
    pub origin: String,
    /// The host, which is also the relying party's id (`rpId`).
    pub host: String,
}

impl Site {
    /// Parses an address. Browsers support passkeys only for host names, and only over HTTPS or at `localhost`.
    pub fn parse(address: &str) -> Result<Self> {
        let refused = |why: &str| {
            Err(Error::new(Code::InvalidArgument, format!("'{}' {why}", address.escape_debug()))
                .hint("give the address that browsers use, such as https://mcp.example.com or http://localhost:3000"))
        };
        let Ok(uri) = address.trim_end_matches('/').parse::<Uri>() else { return refused("is not a web address") };
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return refused("is not a web address");
        };
        let host = authority.host().to_ascii_lowercase();
        if uri.path() != "/" && !uri.path().is_empty() || uri.query().is_some() || authority.as_str().contains('@') {
            return refused("contains more than a scheme, a host and a port");
        }
        let is_local = host == "localhost" || host.ends_with(".localhost");
        if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return refused("has an IP address, but browsers support passkeys only for host names");
        }
        let standard = match scheme {
            "https" => 443,
            "http" if is_local => 80,
            "http" => return refused("does not use HTTPS, which browsers need for passkeys except at localhost"),
            _ => return refused("is not a web address"),
        };
        let origin = match authority.port_u16().filter(|port| *port != standard) {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        };
        Ok(Self { origin, host })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_browsers_write_an_origin() {
        for (address, origin, host) in [
            ("https://mcp.example.com", "https://mcp.example.com", "mcp.example.com"),
            ("https://MCP.example.com:443/", "https://mcp.example.com", "mcp.example.com"),
            ("https://mcp.example.com:3000", "https://mcp.example.com:3000", "mcp.example.com"),
            ("http://localhost:3000", "http://localhost:3000", "localhost"),
            ("http://mcpkg-1.localhost", "http://mcpkg-1.localhost", "mcpkg-1.localhost"),
        ] {
            let site = Site::parse(address).unwrap_or_else(|error| panic!("{address}: {error}"));
            assert_eq!((&*site.origin, &*site.host), (origin, host), "{address}");
        }
        for address in [
            "",
            "mcp.example.com",
            "http://mcp.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1:3000",
            "https://127.0.0.1",
            "https://[::1]",
            "https://mcp.example.com/path",
            "https://mcp.example.com/?q",
            "https://user@mcp.example.com",
            "ftp://localhost",
        ] {
            assert!(Site::parse(address).is_err(), "{address}");
        }
    }
}
