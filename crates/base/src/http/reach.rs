//! Decides which addresses a request may connect to. Neither the description of an API nor its answers may lead into
//! the local network.

use std::error::Error as StdError;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Anywhere,
    /// Only addresses on the internet, checked when the connection is made. This machine is allowed only if the URL names it
    /// directly.
    Public,
}

impl Url {
    /// Returns the rule for resolving names in this URL.
    ///
    /// # Errors
    /// The reason why the URL is refused: it leads to another machine without TLS, or to a private address.
    pub(super) fn reach(&self, reach: Reach) -> Result<Reach, String> {
        if !self.is_private() {
            return Err(format!("requests to {} would be sent without TLS; use https", self.host()));
        }
        match (reach, self.ip()) {
            _ if self.is_loopback() => Ok(Reach::Anywhere),
            (Reach::Public, Some(ip)) if !is_public(ip) => Err(PrivateName(self.host()).to_string()),
            _ => Ok(reach),
        }
    }
}

/// The error for a host that has a private address.
#[derive(Debug)]
pub(super) struct PrivateName(String);

impl fmt::Display for PrivateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has a private address", self.0)
    }
}

impl StdError for PrivateName {}

/// Resolves names, but only to public addresses.
#[derive(Debug)]
pub(super) struct PublicNames;

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let public: Vec<SocketAddr> = found.iter().copied().filter(|address| is_public(address.ip())).collect();
            if public.is_empty() && !found.is_empty() {
                return Err(PrivateName(name.as_str().to_owned()).into());
            }
            let addresses: Addrs = Box::new(public.into_iter());
            Ok(addresses)
        })
    }
}

/// Whether an address is on the public internet: not on this machine, not private, not link-local, and not reserved.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let is_kept = matches!((a, b, c), (0 | 240..=255, _, _) | (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _));
    !(is_kept
        || ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_documentation()
        || ip.is_multicast())
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    if let Some(v4) = ip.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    let [a, b, ..] = ip.segments();
    // The public internet is 2000::/3. Some of its addresses embed an IPv4 address, which may be private.
    let carries_v4 = a == 0x2002 || (a, b) == (0x2001, 0);
    let is_documentation = (a, b) == (0x2001, 0x0db8);
    a & 0xe000 == 0x2000 && !carries_v4 && !is_documentation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_and_public_addresses_are_distinguished() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "198.18.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001:0:1::",
            "2001:db8::1",
            "fec0::1",
        ] {
            assert!(!is_public(private.parse().expect(private)), "{private}");
        }
        for public in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.1.1", "2606:4700::1", "2a00::1", "::ffff:8.8.8.8"]
        {
            assert!(is_public(public.parse().expect(public)), "{public}");
        }
    }

    #[test]
    fn a_url_is_refused_before_anything_is_sent() {
        let reach = |url: &str, reach| Url::parse(url).expect(url).reach(reach);
        for own in ["http://localhost:1/", "http://127.0.0.1:1/", "https://[::1]/"] {
            assert_eq!(reach(own, Reach::Public), Ok(Reach::Anywhere), "{own}");
        }
        assert_eq!(reach("https://api.example.com/", Reach::Public), Ok(Reach::Public));
        assert_eq!(reach("https://10.0.0.1/", Reach::Anywhere), Ok(Reach::Anywhere));
        for (url, says) in [
            ("https://10.0.0.1:8443/", "10.0.0.1:8443 has a private address"),
            ("https://[fe80::1]/", "[fe80::1] has a private address"),
            ("https://0x7f.1.2.3/", ""),
            ("http://api.example.com/", "requests to api.example.com would be sent without TLS; use https"),
        ] {
            match reach(url, Reach::Public) {
                Err(said) => assert_eq!(said, says, "{url}"),
                // The URL parser normalizes other spellings of 127.1.2.3.
                Ok(reach) => assert_eq!((says, reach), ("", Reach::Anywhere), "{url}"),
            }
        }
    }
}
