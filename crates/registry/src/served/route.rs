//! Maps the method and path of a request to an action. Tool names in paths keep their slashes.

use http::Method;
use semver::Version;

use super::failure::Failure;
use super::parameters::decoded;
use crate::backend::wire;
use crate::package::Name;
use mcpkg_core::op::Head;

/// The path prefix of the registry.
pub const PREFIX: &str = "/registry";

/// The action that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    Search,
    Tool(Name),
    Version(Name, Version),
    Download(Name, Version),
    Publish(Name),
    Yank(Name, Version),
    Unyank(Name, Version),
    /// Sets who can see a tool.
    Visibility(Name),
    Attestations(Name, Version),
    /// Returns the attestation of an auditor.
    Attestation(Name, Version, String),
    Attest(Name, Version),
    Revoke(Name, Version),
}

impl Route {
    /// Parses a request. Fails with 404 for an unknown path, 405 for a method that the path does not allow, and 400 for
    /// an invalid name or version.
    pub fn of(head: &Head) -> Result<Self, Failure> {
        let parts = head.path.split('/').map(decoded).collect::<Result<Vec<String>, Failure>>()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let ["tools", rest @ ..] = &parts[..] else { return Err(unknown()) };
        if *rest == ["search"] {
            return allowed(head, "GET", Self::Search);
        }
        // A version follows `versions` only if the next segment contains a dot. So a tool can be named
        // `alice/versions`.
        let is_marker = |at: &usize| rest[*at] == "versions" && rest.get(at + 1).is_some_and(|next| next.contains('.'));
        if let Some(at) = (1..rest.len()).find(is_marker) {
            let name = name(&rest[..at])?;
            let version = version(rest[at + 1])?;
            return of_version(head, name, version, &rest[at + 2..]);
        }
        match (&head.method, rest) {
            (&Method::GET, _) => Ok(Self::Tool(name(rest)?)),
            (_, [of @ .., "versions"]) => allowed(head, "POST", Self::Publish(name(of)?)),
            (_, [of @ .., "visibility"]) => allowed(head, "PATCH", Self::Visibility(name(of)?)),
            _ => name(rest).and_then(|_| Err(Failure::method("GET"))),
        }
    }
}

fn of_version(head: &Head, name: Name, version: Version, rest: &[&str]) -> Result<Route, Failure> {
    match rest {
        [] => allowed(head, "GET", Route::Version(name, version)),
        ["download"] => allowed(head, "GET", Route::Download(name, version)),
        ["yank"] => allowed(head, "POST", Route::Yank(name, version)),
        ["unyank"] => allowed(head, "POST", Route::Unyank(name, version)),
        ["trust", "attestations", auditor] => {
            allowed(head, "GET", Route::Attestation(name, version, (*auditor).to_owned()))
        }
        ["attestations"] => match head.method {
            Method::GET => Ok(Route::Attestations(name, version)),
            Method::POST => Ok(Route::Attest(name, version)),
            Method::DELETE => Ok(Route::Revoke(name, version)),
            _ => Err(Failure::method("GET, POST, DELETE")),
        },
        _ => Err(unknown()),
    }
}

fn allowed(head: &Head, method: &'static str, route: Route) -> Result<Route, Failure> {
    if head.method.as_str() == method { Ok(route) } else { Err(Failure::method(method)) }
}

fn name(segments: &[&str]) -> Result<Name, Failure> {
    // A percent-encoded slash does not separate segments, so it would become part of a name.
    if segments.iter().any(|segment| segment.contains('/')) {
        return Err(Failure::bad_request("In the address, do not percent-encode the slashes of a tool name"));
    }
    Ok(Name::parse(&segments.join("/"))?)
}

fn version(text: &str) -> Result<Version, Failure> {
    let why =
        || Failure::bad_request(format!("'{}' is not a valid version; use one such as 1.2.0", text.escape_debug()));
    wire::version(text).ok_or_else(why)
}

fn unknown() -> Failure {
    Failure::not_found("There is nothing at this address")
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use proptest::prelude::*;

    use super::*;

    fn route(method: &str, path: &str) -> Result<Route, u16> {
        let method = method.parse().expect("a method");
        let head =
            Head { method, prefix: PREFIX, path: path.to_owned(), query: String::new(), headers: HeaderMap::new() };
        Route::of(&head).map_err(|failure| failure.answer().status.as_u16())
    }

    #[test]
    fn the_paths_of_enacts_registry_lead_to_the_right_actions() {
        let (name, one) = (Name::parse("alice/utils/weather").unwrap(), Version::new(1, 2, 0));
        let at = |method, rest: &str| route(method, &format!("tools/alice/utils/weather{rest}"));
        assert_eq!(route("GET", "tools/search"), Ok(Route::Search));
        assert_eq!(at("GET", ""), Ok(Route::Tool(name.clone())));
        assert_eq!(at("POST", "/versions"), Ok(Route::Publish(name.clone())));
        assert_eq!(at("PATCH", "/visibility"), Ok(Route::Visibility(name.clone())));
        let (name, one) = (|| name.clone(), || one.clone());
        assert_eq!(at("GET", "/versions/1.2.0"), Ok(Route::Version(name(), one())));
        assert_eq!(at("GET", "/versions/1.2.0/download"), Ok(Route::Download(name(), one())));
        assert_eq!(at("POST", "/versions/1.2.0/yank"), Ok(Route::Yank(name(), one())));
        assert_eq!(at("POST", "/versions/1.2.0/unyank"), Ok(Route::Unyank(name(), one())));
        assert_eq!(at("GET", "/versions/1.2.0/attestations"), Ok(Route::Attestations(name(), one())));
        assert_eq!(at("POST", "/versions/1.2.0/attestations"), Ok(Route::Attest(name(), one())));
        assert_eq!(at("DELETE", "/versions/1.2.0/attestations"), Ok(Route::Revoke(name(), one())));
        let auditor = at("GET", "/versions/1.2.0/trust/attestations/ed25519%3ASHA256%3Aa%2Fb%2Bc");
        assert_eq!(auditor, Ok(Route::Attestation(name(), one(), "ed25519:SHA256:a/b+c".to_owned())));
    }

    #[test]
    fn tool_names_may_contain_words_of_the_paths() {
        let name = |text: &str| Name::parse(text).unwrap();
        assert_eq!(route("GET", "tools/alice/versions"), Ok(Route::Tool(name("alice/versions"))));
        assert_eq!(route("POST", "tools/alice/versions/versions"), Ok(Route::Publish(name("alice/versions"))));
        let version = Route::Version(name("alice/versions"), Version::new(1, 0, 0));
        assert_eq!(route("GET", "tools/alice/versions/versions/1.0.0"), Ok(version));
        assert_eq!(route("GET", "tools/alice/visibility"), Ok(Route::Tool(name("alice/visibility"))));
    }

    #[test]
    fn x60_an_invalid_name_or_version_has_no_route() {
        for path in [
            "tools/../../etc/passwd",
            "tools/alice/..%2f..%2fx",
            "tools/alice/%2e%2e/x",
            "tools/alice/%2e",
            "tools/alice//x",
            "tools/alice/x%00",
            "tools/alice%2fx",
            "tools/Alice/x",
            "tools/alice/x/versions/..",
            "tools/alice/x/versions/%2e%2e/download",
            "tools/alice/x/versions/1.0.0%2f..",
            "tools/alice/x/versions/v1.0.0",
            "tools/",
            "tools/alice/%ff",
        ] {
            assert_eq!(route("GET", path), Err(400), "{path}");
        }
        for path in ["", "tool", "tools/alice/x/versions/1.0.0/nothing", "../tools/alice/x"] {
            assert_eq!(route("GET", path), Err(404), "{path}");
        }
    }

    #[test]
    fn nothing_is_overwritten_or_deleted() {
        for method in ["PUT", "DELETE", "PATCH"] {
            for path in ["tools/alice/x", "tools/alice/x/versions", "tools/alice/x/versions/1.0.0"] {
                assert_eq!(route(method, path), Err(405), "{method} {path}");
            }
        }
        assert_eq!(route("POST", "tools/alice/x/versions/1.0.0/download"), Err(405));
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn any_path_is_a_route_or_refused(path in "\\PC{0,80}", method in "GET|POST|PATCH|DELETE|PUT") {
            let _ = route(&method, &path);
            let _ = route(&method, &format!("tools/{path}"));
        }
    }
}
