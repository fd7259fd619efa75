//! Tests the client against registries that misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::backend::search::search;
use crate::backend::tests::Ground;
use crate::backend::{Known, download};
use mcpkg_base::sha256;
use mcpkg_store::tools::packages::Visibility;
use mcpkg_store::tools::registries::Kind;

/// The default lifetime of a cached response.
const HOLDS: Millis = 3_600_000;

/// A request that the server received.
#[derive(Clone, Debug)]
struct Asked {
    line: String,
    headers: String,
    body: Vec<u8>,
}

/// The response of the server. After sending it, the server closes the connection, stays silent for a while, or sends
/// more bytes without end.
enum Sent {
    Bytes(Vec<u8>),
    AndSilence(Vec<u8>),
    Endless(Vec<u8>),
}

/// A test server. A function chooses each response from the request and the number of requests before it.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    fn start(answer: impl Fn(usize, &Asked) -> Sent + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &kept, &*answer));
            }
        });
        Self { url, asked }
    }

    fn lines(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|asked| asked.line.clone()).collect()
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, kept: &Mutex<Vec<Asked>>, answer: &dyn Fn(usize, &Asked) -> Sent) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut line, mut headers) = (String::new(), String::new());
    reader.read_line(&mut line).ok()?;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? <= 2 {
            break;
        }
        headers += &header.to_lowercase();
    }
    let length = headers.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let asked = Asked { line, headers, body };
    let before = {
        let mut kept = kept.lock().unwrap();
        kept.push(asked.clone());
        kept.len() - 1
    };
    let mut stream = stream;
    match answer(before, &asked) {
        Sent::Bytes(bytes) => stream.write_all(&bytes).ok()?,
        Sent::AndSilence(bytes) => {
            stream.write_all(&bytes).ok()?;
            std::thread::sleep(Duration::from_secs(20));
        }
        Sent::Endless(bytes) => {
            stream.write_all(&bytes).ok()?;
            while stream.write_all(&[b'x'; 65536]).is_ok() {}
        }
    }
    Some(())
}

fn with(status: &str, headers: &str, body: &[u8]) -> Sent {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    Sent::Bytes([head.as_bytes(), body].concat())
}

fn ok(body: &Value) -> Sent {
    with("200 OK", "ETag: \"1\"\r\n", body.to_string().as_bytes())
}

/// Returns the valid details of `a/one@1.0.0` with this archive.
fn version(archive: &[u8]) -> Value {
    let hash = format!("sha256:{}", sha256::hex(archive));
    json!({
        "name": "a/one", "version": "1.0.0", "bundle": { "hash": hash, "size": archive.len() },
        "published_at": "2026-01-01T00:00:00Z", "published_by": { "username": "alice" }, "yanked": false,
    })
}

fn tool() -> Value {
    json!({ "name": "a/one", "description": "x", "versions": [{ "version": "1.0.0" }, { "version": "0.9.0" }] })
}

/// Starts a registry that behaves correctly, except for the requests that `odd` answers.
fn sound(archive: &'static [u8], odd: impl Fn(usize, &Asked) -> Option<Sent> + Send + Sync + 'static) -> Server {
    Server::start(move |before, asked| {
        odd(before, asked).unwrap_or_else(|| match asked.line.split('?').next().unwrap_or_default() {
            "GET /tools/a/one" => ok(&tool()),
            "GET /tools/a/one/versions/1.0.0" => ok(&version(archive)),
            "GET /tools/a/one/versions/1.0.0/download" => with("200 OK", "", archive),
            "GET /tools/a/one/versions/1.0.0/attestations" => {
                ok(&json!({ "attestations": [{ "bundle": { "a": 1 } }, { "auditor": "bob" }] }))
            }
            "GET /tools/a/one/versions/1.0.0/trust/attestations/bob" => ok(&json!({ "b": 2 })),
            _ => with("404 Not Found", "", br#"{"error":{"code":"NOT_FOUND","message":"no"}}"#),
        })
    })
}

fn ground(server: &Server) -> Ground {
    let ground = Ground::new();
    ground.add("host", Kind::Http, &server.url, None);
    ground
}

fn fails_with(server: &Server) -> Code {
    let ground = ground(server);
    let resolved = ground.resolve("a/one").and_then(|resolved| download(&ground.context, &resolved));
    resolved.expect_err("a failure").code()
}

fn on(part: &'static str, sent: impl Fn() -> Sent + Send + Sync + 'static) -> Server {
    sound(b"good", move |_, asked| asked.line.contains(part).then(&sent))
}

fn query(text: &str, offline: bool) -> Query {
    Query { text: text.to_owned(), tags: vec!["t".to_owned()], limit: 5, offline, refresh: false }
}

#[test]
fn requests_use_the_paths_of_enacts_registry() {
    let server = sound(b"good", |_, _| None);
    let ground = ground(&server);
    let resolved = ground.resolve("a/one").unwrap();
    assert_eq!(resolved.version.publisher.as_deref(), Some("alice"));
    let good = download(&ground.context, &resolved).unwrap();
    assert_eq!(&*good.bytes().unwrap(), b"good");
    assert_eq!(ground.claims(&resolved), [r#"{"a":1}"#, r#"{"b":2}"#]);
    assert_eq!(ground.resolved("a/two"), Err(Code::ToolNotFound));
    assert_eq!(ground.resolved("a/one@3.0.0"), Err(Code::VersionNotFound));
    assert!(server.lines().contains(&"GET /tools/a/one/versions/1.0.0/download".to_owned()), "{:?}", server.lines());
}

#[test]
fn invalid_responses_are_refused() {
    let html = || with("200 OK", "Content-Type: text/html\r\n", b"<html>Sign in</html>");
    let other = || ok(&json!({ "name": "a/other", "version": "1.0.0", "bundle": { "hash": "sha256:00" } }));
    for (part, sent, expected) in [
        ("GET /tools/a/one", html as fn() -> Sent, Code::RegistryAnswer),
        ("versions/1.0.0", html, Code::RegistryAnswer),
        ("versions/1.0.0", other, Code::RegistryAnswer),
        ("/download", html, Code::DigestMismatch),
        ("/download", || with("200 OK", "", b"goo"), Code::DigestMismatch),
        ("/download", || with("200 OK", "", b"evil"), Code::DigestMismatch),
        ("/download", || with("401 Unauthorized", "", b"no"), Code::RegistryRefused),
        ("/download", || Sent::Bytes(b"220 mail.example\r\n".to_vec()), Code::RegistryAnswer),
        // The server announces more bytes than it sends, then closes the connection.
        (
            "/download",
            || Sent::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ngood".to_vec()),
            Code::RegistryUnreachable,
        ),
        (
            "/download",
            || Sent::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec()),
            Code::RegistryAnswer,
        ),
        ("/download", || Sent::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Code::RegistryAnswer),
        ("GET /tools/a/one", || Sent::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Code::RegistryAnswer),
        ("GET /tools/a/one", || with("500 Oops", "", b""), Code::RegistryRefused),
    ] {
        assert_eq!(fails_with(&on(part, sent)), expected, "{part}");
    }
}

#[test]
fn x3_an_etag_does_not_replace_the_digest_check() {
    let digest = format!("ETag: \"sha256:{}\"\r\n", sha256::hex(b"good"));
    let server =
        sound(b"good", move |_, asked| asked.line.ends_with("/download").then(|| with("200 OK", &digest, b"evil")));
    assert_eq!(fails_with(&server), Code::DigestMismatch);
    let server = on("/download", || with("304 Not Modified", "", b""));
    assert_eq!(fails_with(&server), Code::RegistryRefused);
}

#[test]
fn a_new_digest_for_an_old_version_is_refused() {
    let server = sound(b"good", |before, asked| {
        (before > 2 && asked.line.ends_with("versions/1.0.0")).then(|| ok(&version(b"evil")))
    });
    let ground = ground(&server);
    assert_eq!(ground.resolved("a/one"), Ok("host:1.0.0".to_owned()));
    assert_eq!(ground.resolved("a/one@1.0.0"), Ok("host:1.0.0".to_owned()));
    assert_eq!(ground.resolved("a/one@1.0.0"), Err(Code::DigestChanged));
}

#[test]
fn redirects_stay_on_their_scheme_and_the_token_at_its_origin() {
    let elsewhere = sound(b"good", |_, _| None);
    let to = |location: String| move || with("302 Found", &format!("Location: {location}\r\n"), b"");
    let away = format!("{}/tools/a/one/versions/1.0.0/download", elsewhere.url);
    let server = on("/download", to(away));
    let ground = Ground::new();
    ground.add("host", Kind::Http, &server.url, Some("env:HOME"));
    let resolved = ground.resolve("a/one").unwrap();
    assert_eq!(download(&ground.context, &resolved).unwrap(), b"good".to_vec().into());
    let tokens =
        |server: &Server| server.asked().iter().filter(|asked| asked.headers.contains("authorization: bearer")).count();
    assert_eq!(tokens(&server), server.lines().len());
    assert_eq!((elsewhere.lines().len(), tokens(&elsewhere)), (1, 0));
    for location in ["file:///etc/passwd", "https://127.0.0.1:1/", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/", ""] {
        let server = on("/download", to(location.to_owned()));
        assert_eq!(fails_with(&server), Code::RegistryAnswer, "{location}");
    }
    let server = on("/download", to("/tools/a/one/versions/1.0.0/download".to_owned()));
    assert_eq!(fails_with(&server), Code::RegistryAnswer);
    assert_eq!(server.lines().iter().filter(|line| line.ends_with("/download")).count(), 6);
}

#[test]
fn temporary_failures_are_retried_and_permanent_ones_are_not() {
    let counted = |server: &Server| server.lines().iter().filter(|line| *line == "GET /tools/a/one").count();
    let first = |times: usize, sent: fn() -> Sent| sound(b"good", move |before, _| (before < times).then(sent));
    for sent in [
        (|| with("503 Busy", "Retry-After: 0\r\n", b"")) as fn() -> Sent,
        || with("429 Slow", "", b""),
        || Sent::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_vec()),
    ] {
        let server = first(2, sent);
        assert_eq!(ground(&server).resolved("a/one"), Ok("host:1.0.0".to_owned()));
        assert_eq!(counted(&server), 3);
    }
    let server = first(99, || with("502 Bad", "Retry-After: 0\r\n", b""));
    assert_eq!(ground(&server).resolved("a/one"), Err(Code::RegistryUnreachable));
    assert_eq!(counted(&server), 4);
    // The client does not wait if `Retry-After` is beyond the deadline.
    for sent in [(|| with("503 Busy", "Retry-After: 86400\r\n", b"")) as fn() -> Sent, || {
        with("429 Slow", "Retry-After: 18446744073709551615\r\n", b"")
    }] {
        let server = first(99, sent);
        let begun = Instant::now();
        assert_eq!(ground(&server).resolved("a/one"), Err(Code::RegistryUnreachable));
        assert!(begun.elapsed() < Duration::from_secs(20) && counted(&server) == 1);
    }
    let server = first(99, || with("403 Forbidden", "", b""));
    assert_eq!((ground(&server).resolved("a/one"), counted(&server)), (Err(Code::RegistryRefused), 1));
}

#[test]
fn a_silent_registry_times_out_and_a_cancelled_call_ends_at_once() {
    for sent in [b"".as_slice(), b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"] {
        let server = on("GET /tools/a/one", move || Sent::AndSilence(sent.to_vec()));
        let ground = ground(&server);
        let place = Known::named(&ground.context, "host").unwrap().place.unwrap();
        let http = Http::new(&ground.context, &place).unwrap();
        let bounds = Bounds { time: Duration::from_millis(300), ..Bounds::METADATA };
        let error = http.client.get("tools/a/one", &[], None, bounds).unwrap_err();
        assert_eq!(error.code(), Code::RegistryUnreachable);
        let (begun, cancelled) = (Instant::now(), ground.context.cancelled.clone());
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            cancelled.cancel();
        });
        assert_eq!(ground.resolved("a/one"), Err(Code::Cancelled));
        assert!(begun.elapsed() < Duration::from_secs(10));
        canceller.join().unwrap();
    }
}

#[test]
fn search_responses_are_cached_for_an_hour_and_used_later_if_the_registry_fails() {
    let up = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let switch = Arc::clone(&up);
    let server = sound(b"good", move |_, asked| {
        asked.line.starts_with("GET /tools/search").then(|| match switch.load(std::sync::atomic::Ordering::SeqCst) {
            _ if asked.headers.contains("if-none-match: \"7\"") => with("304 Not Modified", "", b""),
            true => {
                let tools =
                    json!({ "tools": [{ "name": "a/one", "version": "1.0.0", "description": "d" }], "total": 3 });
                with("200 OK", "ETag: \"7\"\r\n", tools.to_string().as_bytes())
            }
            false => with("503 Busy", "Retry-After: 86400\r\n", b""),
        })
    });
    let ground = ground(&server);
    let look = |offline| {
        let found = search(&ground.context, &query("one & two", offline), None).unwrap();
        (found.hits.len(), found.total, found.asked[1].state.word(), found.asked[1].checked_at)
    };
    let now = ground.context.clock.now();
    assert_eq!(look(true).2, "unreachable", "nothing is kept yet");
    assert_eq!(look(false), (1, 3, "ok", Some(now)));
    assert_eq!(server.lines(), ["GET /tools/search?q=one+%26+two&limit=5&tags=t"]);
    assert_eq!(look(false), (1, 3, "ok", Some(now)));
    assert_eq!(server.lines().len(), 1, "it holds for an hour");
    ground.context.clock.advance(2 * HOLDS);
    assert_eq!(look(true), (1, 3, "stale", Some(now)));
    assert_eq!(look(false), (1, 3, "ok", Some(now + 2 * HOLDS)), "304");
    assert_eq!(server.lines().len(), 2);
    let again = Query { refresh: true, ..query("one & two", false) };
    assert_eq!(search(&ground.context, &again, None).unwrap().total, 3);
    assert_eq!(server.lines().len(), 3, "it is asked again within the hour");
}

#[test]
fn a_search_skips_a_registry_that_is_gone() {
    let server = Server::start(|before, _| match before {
        0 => ok(&json!({ "tools": [{ "name": "a/one", "version": "1.0.0", "description": "d" }], "total": 1 })),
        _ => with("503 Busy", "Retry-After: 86400\r\n", b""),
    });
    let ground = ground(&server);
    let look = |text| {
        let found = search(&ground.context, &query(text, false), None).unwrap();
        (found.hits.len(), found.asked[1].state.word())
    };
    assert_eq!(look("one"), (1, "ok"));
    ground.context.clock.advance(2 * HOLDS);
    assert_eq!(look("one"), (1, "stale"));
    assert_eq!(look("two"), (0, "unreachable"));
}

#[test]
fn a_version_is_published_yanked_and_attested() {
    let server = sound(b"good", |_, asked| {
        let hash = format!("sha256:{}", sha256::hex(b"good"));
        match asked.line.as_str() {
            "POST /tools/a/one/versions" => {
                Some(with("201 Created", "", json!({ "bundle_hash": hash }).to_string().as_bytes()))
            }
            "POST /tools/a/one/versions/1.0.0/attestations" => Some(with("201 Created", "", b"{}")),
            "POST /tools/a/one/versions/1.0.0/yank" => Some(ok(&json!({ "yanked": true }))),
            "POST /tools/a/one/versions/1.0.0/unyank" => {
                Some(with("403 Forbidden", "", br#"{"error":{"code":"NAMESPACE_MISMATCH","message":"not\nyours"}}"#))
            }
            _ => None,
        }
    });
    let ground = ground(&server);
    let registry = Known::named(&ground.context, "host").unwrap().open(&ground.context).unwrap();
    let (name, one) = (Name::parse("a/one").unwrap(), Version::new(1, 0, 0));
    let publication = Publication {
        name: &name,
        version: &one,
        archive: &b"good".to_vec().into(),
        sha256: &sha256::of(b"good"),
        manifest: &json!({ "name": "a/one" }),
        raw_manifest: "name: a/one\n",
        visibility: Visibility::Unlisted,
        attestations: &["{\"x\":1}".to_owned()],
    };
    assert!(registry.publish(&publication).unwrap());
    let posted = server.asked().into_iter().find(|asked| asked.line == "POST /tools/a/one/versions").unwrap();
    let boundary = posted.headers.split("boundary=").nth(1).unwrap().lines().next().unwrap().to_owned();
    let body = String::from_utf8(posted.body).unwrap();
    for part in [
        "name=\"manifest\"; filename=\"manifest.json\"\r\nContent-Type: application/json\r\n\r\n{\"name\":\"a/one\"}\r\n",
        "name=\"raw_manifest\"\r\n\r\nname: a/one\n\r\n",
        "name=\"visibility\"\r\n\r\nunlisted\r\n",
        "name=\"bundle\"; filename=\"bundle.tar.gz\"\r\nContent-Type: application/gzip\r\n\r\ngood\r\n",
    ] {
        assert!(body.contains(&format!("--{boundary}\r\nContent-Disposition: form-data; {part}")), "{body}");
    }
    assert!(body.ends_with(&format!("--{boundary}--\r\n")));
    // The hash that the server reports is not the one that the client expects.
    let error = registry.publish(&Publication { sha256: &sha256::of(b"other"), ..publication }).unwrap_err();
    assert_eq!(error.code(), Code::RegistryAnswer);
    let yank = Yank { at: 0, reason: Some("bad".to_owned()), replacement: None };
    registry.yank(&name, &one, Some(&yank)).unwrap();
    let error = registry.yank(&name, &one, None).unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Code::NamespaceMismatch, "Registry 'host' refused the request: not yours")
    );
}

#[test]
fn urls_that_others_could_read_are_refused() {
    for bad in ["http://example.com", "ftp://a", "https://user:pass@example.com", "example.com", "file:///tmp"] {
        assert_eq!(address(bad).unwrap_err().code(), Code::InvalidArgument, "{bad}");
    }
    assert!(
        !address("https://user:hunter2@example.com").unwrap_err().message().contains("hunter2"),
        "no password is shown"
    );
    for good in ["https://example.com/registry", "http://127.0.0.1:8080", "http://localhost"] {
        assert!(address(good).is_ok(), "{good}");
    }
}
