//! Represents http and https URLs.

use std::net::IpAddr;

/// An http or https URL without a user name and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url(reqwest::Url);

impl Url {
    /// Parses a URL; `None` if it is invalid, has a scheme other than http and https, or contains a user name or
    /// password.
    pub fn parse(text: &str) -> Option<Self> {
        Self::checked(reqwest::Url::parse(text).ok()?)
    }

    /// Resolves a relative URL from a document at this URL, such as the target of a redirect.
    pub fn join(&self, text: &str) -> Option<Self> {
        Self::checked(self.0.join(text).ok()?)
    }

    fn checked(url: reqwest::Url) -> Option<Self> {
        let is_plain = matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && url.username().is_empty()
            && url.password().is_none();
        is_plain.then_some(Self(url))
    }

    /// Appends `path` to this URL, and sets the query.
    pub fn below(&self, path: &str, query: &[(&str, &str)]) -> Self {
        let mut url = self.0.clone();
        url.set_path(&format!("{}/{path}", self.0.path().trim_end_matches('/')));
        url.set_fragment(None);
        url.set_query(None);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Self(url)
    }

    /// Adds a pair to the query of this URL.
    #[must_use]
    pub fn and(&self, name: &str, value: &str) -> Self {
        let mut url = self.0.clone();
        url.query_pairs_mut().append_pair(name, value);
        Self(url)
    }

    /// Whether both have the same scheme, host and port.
    pub fn has_origin_of(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Whether both have the same scheme.
    pub fn has_scheme_of(&self, other: &Self) -> bool {
        self.0.scheme() == other.0.scheme()
    }

    /// Whether nobody else can read or change the traffic: it uses TLS or stays on this machine.
    pub fn is_private(&self) -> bool {
        self.0.scheme() == "https" || self.is_loopback()
    }

    /// Whether the host is this machine: `localhost` or a loopback address.
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        host.eq_ignore_ascii_case("localhost") || self.ip().is_some_and(|ip| ip.is_loopback())
    }

    /// Returns the IP address, if the URL has one instead of a host name.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        self.0.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
    }

    /// Returns the host, with its port unless that is the default.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    #[test]
    fn only_http_urls_without_a_user_are_accepted() {
        for bad in ["", "a", "file:///etc/passwd", "ftp://a/", "http://", "https://u:p@a/", "https://u@a/", "data:x"] {
            assert_eq!(Url::parse(bad), None, "{bad}");
            assert!(url("https://a/b").join(bad).is_none_or(|url| url.as_str().starts_with("https://a/")), "{bad}");
        }
        assert_eq!(url("https://a/b/c").join("../d?x=1").unwrap().as_str(), "https://a/d?x=1");
        assert_eq!(url("https://a/b").join("//c/d").unwrap().as_str(), "https://c/d");
    }

    #[test]
    fn paths_are_put_below_the_base() {
        for base in ["https://a/registry", "https://a/registry/", "https://a/registry?x=1#y"] {
            let below = url(base).below("tools/search", &[("q", "a&b c"), ("limit", "10")]);
            assert_eq!(below.as_str(), "https://a/registry/tools/search?q=a%26b+c&limit=10");
        }
        assert_eq!(
            url("http://a").below("tools/x/y/versions/1.0.0+b", &[]).as_str(),
            "http://a/tools/x/y/versions/1.0.0+b"
        );
    }

    #[test]
    fn origins_and_schemes_are_compared() {
        let base = url("https://a/x");
        assert!(base.has_origin_of(&url("https://a:443/y")) && base.has_scheme_of(&url("https://b/")));
        for other in ["http://a/x", "https://b/x", "https://a:444/x"] {
            assert!(!base.has_origin_of(&url(other)), "{other}");
        }
        for private in ["https://a/", "http://127.0.0.1:1/", "http://[::1]/", "http://LOCALHOST/"] {
            assert!(url(private).is_private(), "{private}");
        }
        for open in ["http://a/", "http://127.0.0.1.evil/", "http://10.0.0.1/"] {
            assert!(!url(open).is_private(), "{open}");
        }
    }
}
