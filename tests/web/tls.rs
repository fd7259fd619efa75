//! Tests the console of a server that speaks TLS: its cookies, its passkeys, and what happens without TLS.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcpkg_base::sha256;
use regex::Regex;
use serde_json::json;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::chromium::Chromium;
use super::{ground, text};
use crate::support::http::{Http, Response, read_response};
use crate::support::{DEADLINE, Request, Scratch, Screen, skipped};
use crate::workflow::runs::{Ground, code, create, execute, with_nonce};

/// A server with a certificate for `localhost`, and a client that trusts the certificate.
struct Place {
    server: Http,
    client: Arc<ClientConfig>,
    /// The argument that makes Chromium trust the certificate.
    trusts: String,
}

impl Place {
    fn new(scratch: &Scratch) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
        let certificate = scratch.file("certificate.pem", made.cert.pem()).display().to_string();
        let key = scratch.file("key.pem", made.signing_key.serialize_pem()).display().to_string();
        let server = Http::start(scratch, &["--console", "--tls-cert", &certificate, "--tls-key", &key]);
        let hash = STANDARD.encode(sha256::of(rcgen::PublicKeyData::subject_public_key_info(&made.signing_key)));
        let trusts = format!("--ignore-certificate-errors-spki-list={hash}");
        Self { server, client: Arc::new(trusting(made.cert.der())), trusts }
    }

    fn origin(&self) -> String {
        format!("https://localhost:{}", self.server.address.port())
    }

    fn request(&self, method: &str, path: &str) -> Request {
        Request::new(method, path).with("Host", &format!("localhost:{}", self.server.address.port()))
    }

    #[track_caller]
    fn send(&self, request: &Request) -> Response {
        let stream = TcpStream::connect(self.server.address).expect("the server takes a connection");
        stream.set_read_timeout(Some(DEADLINE * 6)).expect("a deadline");
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(Arc::clone(&self.client), name).expect("a client");
        let mut stream = StreamOwned::new(client, stream);
        stream.write_all(&request.bytes()).expect("the server takes the request");
        read_response(&mut BufReader::new(stream)).expect("a response")
    }
}

/// Returns the token of a new link to the console at `origin`, from a terminal. `None` without a terminal.
fn link(scratch: &Scratch, origin: &str) -> Option<(Screen, String)> {
    let mut command = scratch.command();
    command.env("TERM", "xterm-256color").args(["console", &format!("--link={origin}")]);
    let Some(terminal) = Screen::start((220, 40), &command) else {
        skipped(super::NO_SCRIPT);
        return None;
    };
    let link = Regex::new(r"/login\?token=([0-9a-f]{64})\b").expect("a pattern");
    let shown = terminal.wait_until(|text| link.is_match(text), "a link");
    assert!(shown.contains(&format!("{origin}/login?")), "{shown}");
    let token = link.captures(&shown).expect("a link")[1].to_owned();
    Some((terminal, token))
}

fn trusting(certificate: &CertificateDer<'static>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a root");
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

#[test]
fn a_cookie_over_tls_is_for_this_host_alone() {
    let (ground, _client) = ground();
    let place = Place::new(&ground.scratch);
    let Some((_terminal, token)) = link(&ground.scratch, &place.origin()) else { return };
    let opened = place.send(&place.request("GET", &format!("/login?token={token}")));
    assert_eq!(opened.status, 200);
    let form = place
        .request("POST", "/login")
        .with("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("token={token}"));
    // Forms from the same host without TLS are refused too.
    for origin in [place.origin().replace("https", "http"), "https://evil.example".to_owned()] {
        assert_eq!(place.send(&form.clone().with("Origin", &origin)).status, 403, "{origin}");
    }
    let signed_in = place.send(&form.with("Origin", &place.origin()));
    assert_eq!((signed_in.status, signed_in.header("location")), (303, Some("/inbox")), "{}", signed_in.text());
    let cookie = signed_in.header("set-cookie").expect("a cookie");
    let pattern = "^__Host-mcpkg-[0-9a-f]{8}=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict; Secure$";
    assert!(Regex::new(pattern).expect("a pattern").is_match(cookie), "{cookie}");
    let pair = cookie.split(';').next().expect("a pair");
    let inbox = place.send(&place.request("GET", "/inbox").with("Cookie", pair));
    assert!(inbox.status == 200 && text(&inbox.text()).contains("nothing waits for you"), "{}", inbox.text());
    // This header would count for all ports of the host, also for servers without TLS.
    assert_eq!(inbox.header("strict-transport-security"), None);
    // A cookie without the prefix, which a server without TLS can set, is not accepted.
    let plain = pair.trim_start_matches("__Host-");
    assert_eq!(place.send(&place.request("GET", "/inbox").with("Cookie", plain)).status, 401);
}

#[test]
fn behind_a_proxy_with_tls_the_cookie_is_secure_too() {
    let (ground, _client) = ground();
    let server = Http::start(&ground.scratch, &["--console", "--public-url", "https://mcp.example.com"]);
    let Some((_terminal, token)) = link(&ground.scratch, "https://mcp.example.com") else { return };
    // An old browser, which does not say whose page sent the form.
    let form = Request::new("POST", "/login")
        .with("Host", "mcp.example.com")
        .with("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("token={token}"));
    assert_eq!(server.send(&form.clone().with("Origin", "http://mcp.example.com")).status, 403);
    let signed_in = server.send(&form.with("Origin", "https://mcp.example.com"));
    assert_eq!(signed_in.status, 303, "{}", signed_in.text());
    let cookie = signed_in.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-mcpkg-") && cookie.ends_with("; Secure"), "{cookie}");
}

#[test]
fn without_tls_nothing_is_answered() {
    let (ground, _client) = ground();
    let place = Place::new(&ground.scratch);
    let mut stream = place.server.connect();
    stream.write_all(&place.request("GET", "/inbox").bytes()).expect("the server takes the request");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&answer));
    // On a network address, the console does not start without TLS, whatever the address is.
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        let ran = ground.scratch.run(&["serve", "--http", "--console", "--host", host, "--port", "0"]);
        assert!(ran.status == 2 && ran.stderr.contains("--console needs TLS"), "{ran}");
    }
}

#[test]
fn a_browser_signs_in_and_approves_over_tls() {
    let (ground, mut client) = ground();
    let place = Place::new(&ground.scratch);
    let Some(mut chromium) = Chromium::launch_with(&[&place.trusts]) else { return };
    let Some((_terminal, token)) = link(&ground.scratch, &place.origin()) else { return };
    chromium.visit(&place.origin());
    chromium.open(&format!("/login?token={token}"));
    chromium.press("Open the console");
    chromium.wait("nothing waits for you");
    assert_eq!(chromium.run("return isSecureContext && document.cookie"), "");
    let kept = chromium.tool("Network.getCookies", json!({ "urls": [place.origin()] }))["cookies"].clone();
    let cookie = &kept[0];
    let is_host = cookie["name"].as_str().is_some_and(|name| name.starts_with("__Host-mcpkg-"));
    assert!(is_host && cookie["secure"] == true && cookie["httpOnly"] == true, "{kept}");
    assert_eq!((&cookie["sameSite"], &cookie["domain"]), (&json!("Strict"), &json!("localhost")), "{kept}");
    // The page stays current over TLS.
    let asked = execute(&mut client, create());
    chromium.wait("Run hosting:apps:create");
    approve_with_a_passkey(&ground, &chromium, &place.origin());
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "ok");
    let reports = chromium.reports();
    assert!(!reports.iter().any(|report| report.contains("Content Security Policy")), "{reports:#?}");
}

/// Registers a passkey, signs in with it, and approves the only request.
fn approve_with_a_passkey(ground: &Ground, chromium: &Chromium, origin: &str) {
    chromium.add_authenticator();
    let Some((_terminal, token)) = super::passkeys::invited(&ground.scratch, "laptop", origin, None) else { return };
    chromium.press("Sign out");
    chromium.wait("Not signed in");
    chromium.open(&format!("/passkey?token={token}"));
    chromium.press("Make a passkey");
    chromium.wait("is registered");
    chromium.open("/inbox");
    chromium.press("Sign in with a passkey");
    chromium.wait("1 waits for you");
    chromium.press("Approve");
    chromium.wait("Consent to it?");
    chromium.press("Yes");
    chromium.wait("Approved once");
}
