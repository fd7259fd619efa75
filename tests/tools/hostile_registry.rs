//! Tests the real binary with malicious registries. Nothing is installed, the error has a clear code, and time and
//! memory are limited.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpkg_base::hex;
use mcpkg_registry::package::archive;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::trust::folder;
use crate::support::Scratch;
use crate::support::fuzz::{Cases, bounded};

const TOOL: &str = "alice/weather";

/// The path of the tool's only version.
const VERSION: &str = "/tools/alice/weather/versions/1.0.0";

/// The memory in MiB that a response may cost, in addition to what the program needs anyway. An archive may have 50
/// MiB, in a buffer that grows.
const MIB: u64 = 192;

/// The time limit for a command, unless it has to wait for a timeout.
const SOON: Duration = Duration::from_secs(20);

/// A response. Afterwards the server closes the connection.
#[derive(Clone)]
enum Sent {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes, followed by endless others.
    Endless(Vec<u8>),
    /// These bytes, followed by one byte after another with a pause before each.
    Slowly(Vec<u8>),
}

/// A registry on its own port.
struct Registry {
    url: String,
    /// The heads of the requests.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    fn start(answer: impl Fn(&str) -> Sent + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || converse(stream, &kept, &*answer));
            }
        });
        Self { url, asked }
    }

    /// Starts a correct registry, except for paths that `odd` answers.
    fn sound(archive: &[u8], odd: impl Fn(&str) -> Option<Sent> + Send + Sync + 'static) -> Self {
        let archive = archive.to_vec();
        Self::start(move |path| odd(path).unwrap_or_else(|| answered(path, &archive)))
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panicked").clone()
    }

    /// Returns the number of requests that contained the token.
    fn tokens(&self) -> usize {
        self.asked().iter().filter(|head| head.to_lowercase().contains("authorization:")).count()
    }
}

fn converse(mut stream: TcpStream, asked: &Mutex<Vec<String>>, answer: &dyn Fn(&str) -> Sent) -> Option<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let path = head.split(' ').nth(1)?.to_owned();
    asked.lock().ok()?.push(head);
    match answer(&path) {
        Sent::Bytes(bytes) => stream.write_all(&bytes).ok(),
        Sent::Endless(bytes) => {
            stream.write_all(&bytes).ok()?;
            while stream.write_all(&[b'x'; 65536]).is_ok() {}
            None
        }
        Sent::Slowly(bytes) => {
            stream.write_all(&bytes).ok()?;
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(100));
            }
            None
        }
    }
}

fn with(status: &str, headers: &str, body: &[u8]) -> Sent {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    Sent::Bytes([head.as_bytes(), body].concat())
}

fn ok(body: &Value) -> Sent {
    with("200 OK", "Content-Type: application/json\r\n", body.to_string().as_bytes())
}

fn hash(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(&Sha256::digest(bytes)))
}

/// Returns a correct description of the version with this archive.
fn version(archive: &[u8]) -> Value {
    json!({
        "name": TOOL, "version": "1.0.0", "bundle": { "hash": hash(archive), "size": archive.len() },
        "published_at": "2026-01-01T00:00:00Z", "yanked": false,
    })
}

/// Returns the response of a correct registry.
fn answered(path: &str, archive: &[u8]) -> Sent {
    match path.split('?').next().unwrap_or_default().strip_prefix("/tools/alice/weather") {
        Some("") => ok(&json!({ "name": TOOL, "description": "x", "versions": [{ "version": "1.0.0" }] })),
        Some("/versions/1.0.0") => ok(&version(archive)),
        Some("/versions/1.0.0/download") => with("200 OK", "", archive),
        Some("/versions/1.0.0/attestations") => ok(&json!({ "attestations": [] })),
        _ => with("404 Not Found", "", br#"{"error":{"code":"NOT_FOUND","message":"no"}}"#),
    }
}

/// Returns a valid archive.
fn archive() -> Vec<u8> {
    let scratch = Scratch::new();
    archive::pack(&folder(&scratch, TOOL, "Sun"))
        .expect("an archive")
        .opened
        .content
        .bytes()
        .expect("its bytes")
        .into_owned()
}

/// Returns a home that has this registry as `host`, with a token.
fn home(registry: &Registry) -> Scratch {
    let home = Scratch::with_database();
    home.ok(&["registry", "add", "host", &registry.url, "--token", "env:HOST_TOKEN"]);
    home
}

/// Installs the tool, which must fail. Checks that nothing was stored, and returns the error code.
#[track_caller]
fn installs(home: &Scratch, deadline: Duration) -> String {
    let mut command = home.command();
    command.env("HOST_TOKEN", "s3cret-token").args(["--json", "tool", "install", TOOL]);
    let outcome = bounded(&mut command, b"", MIB, deadline);
    let said: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{outcome:?}"));
    let code = said["error"]["code"].as_str().unwrap_or_else(|| panic!("{outcome:?}")).to_owned();
    assert_ne!(code, "E_INTERNAL", "{outcome:?}");
    for text in [&outcome.stdout, &outcome.stderr] {
        assert!(!text.contains("s3cret-token") && !text.contains('\u{1b}'), "{text}");
    }
    assert_eq!(home.json(&["tool", "list"])["tools"], json!([]));
    let trees = home.path().join(".cache/mcpkg/tools");
    assert!(std::fs::read_dir(trees).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound));
    code
}

/// Installs from a registry that is correct, except that paths with this end get the response `sent`.
#[track_caller]
fn installs_from(end: &'static str, sent: Sent) -> String {
    let registry = Registry::sound(&archive(), move |path| path.ends_with(end).then(|| sent.clone()));
    installs(&home(&registry), SOON)
}

#[test]
fn an_unsigned_tool_of_a_correct_registry_needs_consent() {
    let registry = Registry::sound(&archive(), |_| None);
    assert_eq!(installs(&home(&registry), SOON), "E_CONSENT_REQUIRED");
    assert_eq!(registry.tokens(), registry.asked().len());
}

#[test]
fn invalid_responses_are_refused() {
    let html = with("200 OK", "Content-Type: text/html\r\n", b"<html><body>Sign in to the Wi-Fi</body></html>");
    let deep = with("200 OK", "", "[".repeat(1 << 20).as_bytes());
    let other = ok(&json!({ "name": "alice/other", "version": "1.0.0", "bundle": { "hash": hash(b"x") } }));
    let shell =
        with("403 Forbidden", "", br#"{"error":{"code":"\u001b[2J","message":"\u001b]0;owned\u0007 no\nway"}}"#);
    for (end, sent, expected) in [
        ("/weather", html.clone(), "E_REGISTRY_ANSWER"),
        ("/1.0.0", html.clone(), "E_REGISTRY_ANSWER"),
        ("/download", html.clone(), "E_DIGEST_MISMATCH"),
        ("/weather", deep.clone(), "E_REGISTRY_ANSWER"),
        ("/1.0.0", deep, "E_REGISTRY_ANSWER"),
        ("/1.0.0", other, "E_REGISTRY_ANSWER"),
        ("/weather", shell, "E_REGISTRY_REFUSED"),
        ("/weather", Sent::Bytes(b"220 mail.example ESMTP\r\n".to_vec()), "E_REGISTRY_ANSWER"),
        ("/weather", Sent::Bytes(Vec::new()), "E_REGISTRY_UNREACHABLE"),
        ("/download", with("200 OK", "", b""), "E_DIGEST_MISMATCH"),
        ("/download", with("500 Oops", "", b"no"), "E_REGISTRY_REFUSED"),
        // If attestations cannot be fetched, the tool counts as unsigned.
        ("/attestations?limit=100", html, "E_CONSENT_REQUIRED"),
    ] {
        assert_eq!(installs_from(end, sent), expected, "{end}");
    }
}

#[test]
fn truncated_and_endless_responses_are_aborted() {
    let cut = |body: &str| Sent::Bytes(format!("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{body}").into_bytes());
    let endless = || Sent::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
    let chunks = || Sent::Endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n".to_vec());
    let headers = || Sent::Endless(b"HTTP/1.1 200 OK\r\nX-Long: ".to_vec());
    for (end, sent, expected) in [
        ("/weather", cut("{"), "E_REGISTRY_UNREACHABLE"),
        ("/download", cut("x"), "E_REGISTRY_UNREACHABLE"),
        ("/weather", endless(), "E_REGISTRY_ANSWER"),
        ("/download", endless(), "E_REGISTRY_ANSWER"),
        ("/download", chunks(), "E_REGISTRY_ANSWER"),
        ("/attestations?limit=100", endless(), "E_CONSENT_REQUIRED"),
    ] {
        assert_eq!(installs_from(end, sent), expected, "{end}");
    }
    let code = installs_from("/weather", headers());
    assert!(["E_REGISTRY_ANSWER", "E_REGISTRY_UNREACHABLE"].contains(&code.as_str()), "{code}");
}

#[test]
fn slow_responses_time_out() {
    let registry = Registry::sound(&archive(), |path| {
        path.ends_with("/weather").then(|| Sent::Slowly(b"HTTP/1.1 200 OK\r\n\r\n{".to_vec()))
    });
    // The timeout is 30 seconds, even if bytes arrive until then.
    assert_eq!(installs(&home(&registry), Duration::from_secs(50)), "E_REGISTRY_UNREACHABLE");
}

#[test]
fn a_bomb_is_not_unpacked() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    // More than the memory that an installation may take.
    for _ in 0..256 {
        packed.write_all(&[0; 1 << 20]).expect("compressed");
    }
    let bomb = packed.finish().expect("compressed");
    assert!(bomb.len() < 1 << 20);
    // Send the bomb once as an archive with the right digest, and once as a compressed response.
    let registry = Registry::sound(&bomb, |_| None);
    assert_eq!(installs(&home(&registry), SOON), "E_ARCHIVE_INVALID");
    let encoded = with("200 OK", "Content-Encoding: gzip\r\n", &bomb);
    assert_eq!(installs_from("/weather", encoded.clone()), "E_REGISTRY_ANSWER");
    assert_eq!(installs_from("/download", encoded), "E_DIGEST_MISMATCH");
}

#[test]
fn false_lengths_and_etags_change_nothing() {
    let (good, evil) = (archive(), b"evil".as_slice());
    let tag = format!("ETag: \"{}\"\r\n", hash(&good));
    let long = |length: u64| Sent::Bytes(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nx").into_bytes());
    for (sent, expected) in [
        (with("200 OK", &tag, evil), "E_DIGEST_MISMATCH"),
        (with("304 Not Modified", &tag, b""), "E_REGISTRY_REFUSED"),
        (long(99_999_999_999), "E_REGISTRY_ANSWER"),
        (Sent::Bytes([b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", good.as_slice()].concat()), "E_DIGEST_MISMATCH"),
        (Sent::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx".to_vec()), "E_REGISTRY_ANSWER"),
    ] {
        assert_eq!(installs_from("/download", sent), expected);
    }
}

#[test]
fn redirects_lead_to_no_file_and_to_no_other_scheme_and_take_no_token_along() {
    let to = |location: &str| with("302 Found", &format!("Location: {location}\r\n"), b"");
    for location in [
        "file:///etc/passwd",
        "https://127.0.0.1:1/x",
        "ftp://127.0.0.1/x",
        "http://user:pass@127.0.0.1:1/x",
        "data:application/gzip,x",
        "",
        "/tools/alice/weather/versions/1.0.0/download",
    ] {
        assert_eq!(installs_from("/download", to(location)), "E_REGISTRY_ANSWER", "{location}");
    }
    let elsewhere = Registry::sound(&archive(), |_| None);
    let away = to(&format!("{}{VERSION}/download", elsewhere.url));
    let registry = Registry::sound(&archive(), move |path| path.ends_with("/download").then(|| away.clone()));
    assert_eq!(installs(&home(&registry), SOON), "E_CONSENT_REQUIRED");
    assert_eq!((elsewhere.asked().len(), elsewhere.tokens()), (1, 0), "{:?}", elsewhere.asked());
    assert_eq!(registry.tokens(), registry.asked().len());
}

#[test]
fn a_new_digest_for_an_old_version_is_refused_for_good() {
    let times = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&times);
    let registry = Registry::sound(&archive(), move |path| {
        let changed = path.ends_with("/1.0.0") && count.fetch_add(1, Ordering::SeqCst) > 0;
        changed.then(|| ok(&version(b"evil")))
    });
    let home = home(&registry);
    assert_eq!(installs(&home, SOON), "E_CONSENT_REQUIRED");
    assert_eq!(installs(&home, SOON), "E_DIGEST_CHANGED");
    assert_eq!(installs(&home, SOON), "E_DIGEST_CHANGED");
    assert!(times.load(Ordering::SeqCst) >= 3);
}

#[test]
fn hostile_answers_with_random_changes_install_nothing() {
    let good = archive();
    let mut cases = Cases::new("hostile_registry", 12);
    while cases.more() {
        let ends = ["/weather", "/1.0.0", "/download", "/attestations?limit=100"];
        let end = ends[cases.random.below(ends.len())];
        let Sent::Bytes(mut bytes) = answered(&format!("/tools/alice/weather{}", path_of(end)), &good) else {
            continue;
        };
        for _ in 0..1 + cases.random.below(6) {
            let at = cases.random.below(bytes.len());
            match cases.random.below(3) {
                0 => bytes[at] = cases.random.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => drop(bytes.splice(at..at, [b'"', b'{', 0, 0xff])),
            }
        }
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let registry = Registry::sound(&good, move |path| path.ends_with(end).then(|| Sent::Bytes(bytes.clone())));
        let code = installs(&home(&registry), Duration::from_secs(50));
        assert!(code.starts_with("E_"), "{shown}");
    }
}

fn path_of(end: &str) -> &str {
    match end {
        "/weather" => "",
        "/1.0.0" => "/versions/1.0.0",
        "/download" => "/versions/1.0.0/download",
        _ => "/versions/1.0.0/attestations",
    }
}
