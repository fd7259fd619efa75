//! Checks every request before a page handles it: the host, the session and, for a form, its origin and the session's
//! secret.
//!
//! A browser sends a host's cookies to every port of that host, and any web page can send forms to this machine. So the
//! console of `mcpkg console --web` has a host name that no other server uses, and every console accepts forms only
//! from its own pages.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::timeout;

use mcpkg_base::sha256;

use super::address::Fields;
use super::console::{Console, Refused};
use super::issuer::{self, By};
use super::page;
use super::passkey;
use super::session::{Session, Sessions};
use super::sign_in::BACK;

/// The largest form, in bytes.
const LARGEST: usize = 32 << 20;

/// The largest form, in bytes, at an address that needs no session, such as the one for signing in.
const SMALL: usize = 8 << 10;

/// How long a form may take to arrive. Without a limit, a stranger's could hold a connection for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// The content security policy: what a page may load, and where its forms may go. Only the console's own scripts run,
/// and they cannot make elements or scripts from text.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns the policy of a page that may also have `style` elements with this nonce.
pub fn policy(nonce: &str) -> String {
    POLICY.replacen("style-src 'self'", &format!("style-src 'self' 'nonce-{nonce}'"), 1)
}

/// The headers of every answer. An editor page has a [`policy`] of its own, and a script whose address has its hash may be
/// kept.
const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The fields of a posted form that passed the checks.
#[derive(Clone)]
pub struct Posted(pub Fields);

/// Returns the `Host` of a request, including the port, if it names the console. This stops DNS rebinding: browsers
/// send the host name of the attacking page, even if that name points to this machine.
fn own_host<'r>(sessions: &Sessions, request: &'r Request) -> Option<&'r str> {
    let is_own = |authority: &str| {
        let host = authority.rsplit_once(':').map_or(authority, |(host, port)| match port.parse::<u16>() {
            Ok(_) => host,
            Err(_) => authority,
        });
        sessions.is_own_host(host)
    };
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok().filter(|host| is_own(host))?;
    let target = request.uri().authority().is_none_or(|target| target.as_str() == host);
    (target && hosts.next().is_none()).then_some(host)
}

/// Returns the request if it passes all checks, or the refusal. After signing in, the browser goes to `to`.
async fn admit(console: &Arc<Console>, request: Request, to: String) -> Result<Request, Response> {
    match checked(&console.sessions, request).await {
        Ok(request) => of_person(console, request).await,
        Err((StatusCode::UNAUTHORIZED, _)) => Err(passkey::signed_out(Arc::clone(console), to).await),
        Err((status, why)) => Err(page::refused(status, why)),
    }
}

/// Checks the access rules if the request is from a person who signed in with the issuer.
async fn of_person(console: &Arc<Console>, mut request: Request) -> Result<Request, Response> {
    let Some(session) = request.extensions().get::<Session>().filter(|session| session.person().is_some()) else {
        return Ok(request);
    };
    let (asking, asked) = (Arc::clone(console), session.clone());
    match tokio::task::spawn_blocking(move || asking.admitted(asked)).await {
        Ok(Ok(admitted)) => {
            request.extensions_mut().insert(admitted);
            Ok(request)
        }
        Ok(Err(Refused::Rules(why))) => Err(issuer::ended(console, session, &why)),
        Ok(Err(Refused::Error(error))) => Err(page::refused(StatusCode::SERVICE_UNAVAILABLE, &error.to_string())),
        Err(_) => Err(page::refused(StatusCode::INTERNAL_SERVER_ERROR, "The console crashed.")),
    }
}

/// Returns the request if it passes the checks that do not depend on the access rules, or the status and the reason of the
/// refusal.
async fn checked(sessions: &Sessions, mut request: Request) -> Result<Request, (StatusCode, &'static str)> {
    let Some(host) = own_host(sessions, &request).map(str::to_owned) else {
        return Err((StatusCode::FORBIDDEN, "This is not a host name of the console."));
    };
    let is_post = request.method() == Method::POST;
    if !is_post && !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "The console answers GET and POST only."));
    }
    if is_post && !is_from_own_page(request.headers(), &sessions.origin(&host)) {
        return Err((StatusCode::FORBIDDEN, "This form does not come from a page of the console."));
    }
    let is_open = matches!(request.uri().path(), "/login" | BACK | "/passkey" | "/passkey.js" | "/style.css");
    let session = sessions.session(request.headers());
    if session.is_none() && !is_open {
        return Err((StatusCode::UNAUTHORIZED, "This browser is not signed in."));
    }
    if is_post {
        let is_form = |value: &HeaderValue| value.as_bytes().starts_with(b"application/x-www-form-urlencoded");
        if !request.headers().get(CONTENT_TYPE).is_some_and(is_form) {
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "The console takes forms only."));
        }
        let body = std::mem::replace(request.body_mut(), Body::empty());
        let reading = timeout(PATIENCE, to_bytes(body, if is_open { SMALL } else { LARGEST }));
        let Ok(body) = reading.await else {
            return Err((StatusCode::REQUEST_TIMEOUT, "This form took too long to arrive."));
        };
        let Ok(body) = body else {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, "This form is too large for the console."));
        };
        let fields = Fields::parse(&body);
        // Comparing hashes takes the same time however much of the secret is right, so timing reveals nothing about it.
        let is_own = |session: &Session| sha256::hex(fields.get("secret")) == sha256::hex(&session.secret);
        if !is_open && !session.as_ref().is_some_and(is_own) {
            return Err((StatusCode::FORBIDDEN, "This form is not from your session. Open the page again."));
        }
        request.extensions_mut().insert(Posted(fields));
    }
    if let Some(session) = session.filter(|_| !is_open) {
        request.extensions_mut().insert(session);
    }
    Ok(request)
}

/// Returns whether a page of the origin `own` sent a form. The browser sets the headers `Origin` and `Sec-Fetch-Site`;
/// pages cannot change them.
fn is_from_own_page(headers: &HeaderMap, own: &str) -> bool {
    let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
    let is_own = origin == Some(own.as_bytes());
    match headers.get("sec-fetch-site") {
        // Because of `referrer-policy: no-referrer`, browsers send `Origin: null` with the console's own forms.
        Some(site) => site == "same-origin" && (is_own || matches!(origin, None | Some(b"null"))),
        None => is_own,
    }
}

/// Checks a request, and adds the headers of every answer.
pub async fn guard(State(console): State<Arc<Console>>, request: Request, next: Next) -> Response {
    // The page to open after signing in.
    let to = (request.method() == Method::GET).then(|| request.uri().to_string());
    let mut response = match admit(&console, request, to.unwrap_or_default()).await {
        Ok(request) => {
            let person = request.extensions().get::<Session>().and_then(Session::person).map(str::to_owned);
            let mut response = next.run(request).await;
            if let Some(person) = person {
                response.extensions_mut().insert(By(person));
            }
            response
        }
        Err(refusal) => refusal,
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use mcpkg_base::clock::Clock;

    use super::*;

    #[test]
    fn a_form_comes_from_the_same_scheme_host_and_port() {
        let is_own = |site: Option<&str>, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            let mut add = |name: &'static str, value: Option<&str>| {
                value.map(|value| headers.insert(name, value.parse().expect("a header")));
            };
            add("sec-fetch-site", site);
            add("origin", origin);
            is_from_own_page(&headers, "http://mcpkg-1.localhost:4000")
        };
        let own = Some("http://mcpkg-1.localhost:4000");
        for origin in [own, Some("null"), None] {
            assert!(is_own(Some("same-origin"), origin), "{origin:?}");
            for site in ["same-site", "cross-site", "none", ""] {
                assert!(!is_own(Some(site), origin), "{site} {origin:?}");
            }
        }
        assert!(is_own(None, own) && !is_own(None, None) && !is_own(None, Some("null")));
        for origin in [
            "",
            "http://mcpkg-1.localhost",
            "http://mcpkg-1.localhost:4001",
            "https://mcpkg-1.localhost:4000",
            "http://127.0.0.1:4000",
            "http://evil.example",
        ] {
            assert!(!is_own(None, Some(origin)) && !is_own(Some("same-origin"), Some(origin)), "{origin}");
        }
    }

    #[test]
    fn only_the_consoles_hosts_are_answered() {
        let sessions = Sessions::new(Clock::system(), 4000).expect("sessions");
        let is_own = |uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(uri);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            own_host(&sessions, &request.body(Body::empty()).expect("a request")).is_some()
        };
        let host = format!("{}:4000", sessions.host);
        assert!(is_own("/", &[&host]) && is_own("/", &["127.0.0.1:4000"]) && is_own("/", &[&sessions.host]));
        assert!(is_own(&format!("http://{host}/"), &[&host]));
        assert!(!is_own("/", &[]) && !is_own("/", &[&host, &host]));
        assert!(!is_own("http://evil.example/", &[&host]));
        for host in ["localhost:4000", "evil.example", "mcpkg-1.localhost", "127.0.0.1.evil.example", "x@127.0.0.1", ""]
        {
            assert!(!is_own("/", &[host]), "{host}");
        }
    }
}
