//! Tests with HTTP requests from strangers: the server still answers others, uses little memory, and reports no fault
//! of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::fuzz::Cases;
use crate::support::{Http, Random, Scratch, http, memory};

/// The number of requests in a case. [`AT_ONCE`] of them are sent at the same time.
const REQUESTS: usize = 48;
const AT_ONCE: usize = 8;

/// The maximum time that an honest client waits for its answer.
const DEADLINE: Duration = Duration::from_secs(20);

/// How long the test waits for more of an answer to a hostile request.
const LOOK: Duration = Duration::from_millis(60);

/// The maximum memory of the server in MiB, including 2,048 sessions of strangers.
const MIB: u64 = 256;

const METHODS: [&str; 8] = ["POST", "GET", "DELETE", "PUT", "OPTIONS", "HEAD", "post", "BREW"];
const TARGETS: [&str; 22] = [
    "/mcp",
    "/projects/p/mcp",
    "/projects/nope/mcp",
    "/projects/%2e%2e/mcp",
    "/projects//mcp",
    "/sse",
    "/messages?sessionId=x",
    "/messages",
    "/healthz",
    "/readyz",
    "/metrics",
    "//mcp",
    "/mcp?x=y#z",
    "*",
    "",
    "mcp",
    "http://localhost/mcp",
    "http://evil.example/mcp",
    "http://user@localhost:1/mcp",
    "https://[::1]:99999/mcp",
    "/.well-known/oauth-protected-resource",
    "/%00\u{fc}",
];
const VERSIONS: [&str; 6] = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP"];
const NAMES: [&str; 26] = [
    "Host",
    "Origin",
    "Authorization",
    "Accept",
    "Accept-Encoding",
    "Content-Type",
    "Content-Length",
    "Content-Encoding",
    "Transfer-Encoding",
    "Connection",
    "Upgrade",
    "Expect",
    "Range",
    "Cookie",
    "Trailer",
    "TE",
    "Access-Control-Request-Method",
    "Mcp-Session-Id",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
    "Mcp-Param-x",
    "Last-Event-ID",
    "X-Forwarded-For",
    "",
    "a b",
];
const VALUES: [&str; 30] = [
    "",
    "localhost",
    "[::1]:x",
    "null",
    "http://localhost:1",
    "http://a@localhost",
    "Bearer mcpkg_x",
    "Bearer",
    "application/json",
    "application/json; charset=utf-16",
    "text/event-stream",
    "application/json, text/event-stream;q=0",
    "gzip;q=0.0",
    "identity",
    "chunked",
    "gzip, chunked",
    "chunked, identity",
    "100-continue",
    "close, keep-alive, upgrade",
    "h2c",
    "-1",
    "0x10",
    "18446744073709551616",
    "5, 5",
    "bytes=0-",
    "2026-07-28",
    "2025-11-25",
    "1999-01-01",
    "x:common/18446744073709551615",
    "\u{fc}\t\u{7f}",
];
const CALLS: [&str; 20] = [
    "initialize",
    "notifications/initialized",
    "notifications/cancelled",
    "ping",
    "server/discover",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "tools/list",
    "tools/call",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "skills/list",
    "tasks/get",
    "",
    "\u{0}",
];
const ATOMS: [&str; 19] = [
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "\"greet\"",
    "\"file:///a\"",
    "\"mcpkg://events\"",
    "\"2025-11-25\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "[]",
    "{}",
    "[[]]",
    "{\"a\":1,\"a\":2}",
    "tru",
];
const KEYS: [&str; 14] = [
    "name",
    "uri",
    "cursor",
    "arguments",
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "notifications",
    "requestId",
    "level",
    "ref",
    "_meta",
    "query",
    "",
];

/// Returns fewer than `most` random bytes.
fn noise(random: &mut Random, most: usize) -> Vec<u8> {
    let length = random.below(most);
    random.bytes(length)
}

fn one<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len())]
}

/// Returns a JSON value with few levels, usually well-formed.
fn value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0..=5 => one(random, &ATOMS).to_owned(),
        6 => format!("[{},{}]", value(random, depth - 1), value(random, depth - 1)),
        _ => {
            let members: Vec<String> = (0..random.below(4))
                .map(|_| format!("{:?}:{}", one(random, &KEYS), value(random, depth - 1)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

/// Returns a JSON-RPC message in which any part may be odd.
fn message(random: &mut Random) -> String {
    let mut members = vec![r#""jsonrpc":"2.0""#.to_owned()];
    if random.below(12) == 0 {
        members[0] = format!("\"jsonrpc\":{}", one(random, &ATOMS));
    }
    if random.below(5) > 0 {
        let id = if random.below(3) > 0 { random.below(4).to_string() } else { one(random, &ATOMS).to_owned() };
        members.push(format!("\"id\":{id}"));
    }
    match random.below(10) {
        0 => members.push(format!("\"result\":{}", value(random, 2))),
        1 => members.push(format!("\"method\":{}", one(random, &ATOMS))),
        _ => members.push(format!("\"method\":{}", json!(one(random, &CALLS)))),
    }
    let params = match random.below(6) {
        0 => None,
        1 => Some(value(random, 3)),
        2 => Some(http::hello(one(random, &["2024-11-05", "2025-03-26", "2025-11-25", "x"]))["params"].to_string()),
        3 => Some(json!({ "name": "greet", "uri": "file:///a", "_meta": crate::support::modern_meta() }).to_string()),
        4 => Some(json!({ "name": "search_content", "arguments": { "query": "a" } }).to_string()),
        _ => Some(format!("{{\"_meta\":{},\"name\":{}}}", value(random, 2), one(random, &ATOMS))),
    };
    members.extend(params.map(|params| format!("\"params\":{params}")));
    format!("{{{}}}", members.join(","))
}

fn body(random: &mut Random) -> Vec<u8> {
    let text = match random.below(14) {
        0 => String::new(),
        1 => format!("[{}]", (0..random.below(6)).map(|_| message(random)).collect::<Vec<_>>().join(",")),
        2 => format!("[{}]", vec![message(random); 200].join(",")),
        3 => {
            let (open, close) = if random.below(2) == 0 { ("[", "]") } else { ("{\"a\":", "}") };
            let depth = 1 + random.below(20_000);
            format!("{}1{}", open.repeat(depth), close.repeat(depth))
        }
        4 => format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":\"{}\"}}}}",
            "y".repeat(random.below(1 << 19))
        ),
        5 => return noise(random, 200),
        _ => message(random),
    };
    let mut bytes = text.into_bytes();
    match random.below(10) {
        0 => bytes.truncate(random.below(bytes.len() + 1)),
        1 if !bytes.is_empty() => {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        _ => {}
    }
    bytes
}

/// Returns the bytes of a request. `sessions` are the open sessions.
fn request(random: &mut Random, sessions: &[String]) -> Vec<u8> {
    let method = if random.below(3) > 0 { "POST" } else { one(random, &METHODS) };
    let target = match random.below(30) {
        0 => format!("/{}", "a".repeat(random.below(40_000))),
        1..=18 => "/mcp".to_owned(),
        _ => one(random, &TARGETS).to_owned(),
    };
    let body = body(random);
    let mut headers: Vec<(String, Vec<u8>)> = [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ]
    .map(|(name, value)| (name.to_owned(), value.into()))
    .to_vec();
    match random.below(3) {
        0 => {
            headers.push(("MCP-Protocol-Version".to_owned(), "2026-07-28".into()));
            headers.push(("Mcp-Method".to_owned(), one(random, &CALLS[3..12]).into()));
        }
        1 => headers.push(("Mcp-Session-Id".to_owned(), sessions[random.below(sessions.len())].clone().into())),
        _ => {}
    }
    let chunked = random.below(6) == 0;
    headers.push(match chunked {
        true => ("Transfer-Encoding".to_owned(), "chunked".into()),
        false => ("Content-Length".to_owned(), body.len().to_string().into()),
    });
    for _ in 0..random.below(4) {
        let at = random.below(headers.len());
        match random.below(5) {
            0 => drop(headers.remove(at)),
            1 => headers.push(headers[at].clone()),
            2 => headers[at].1 = one(random, &VALUES).into(),
            3 => headers.push((one(random, &NAMES).to_owned(), one(random, &VALUES).into())),
            _ => headers.push((one(random, &NAMES).to_owned(), noise(random, 3000))),
        }
        if headers.is_empty() {
            break;
        }
    }
    if random.below(40) == 0 {
        headers.extend((0..random.below(400)).map(|n| (format!("X-{n}"), b"y".to_vec())));
    }
    let mut bytes = format!("{method} {target} {}\r\n", one(random, &VERSIONS)).into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(&value);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    if chunked {
        for piece in body.chunks(1 + random.below(body.len() + 1)) {
            let length =
                if random.below(30) == 0 { "fffffffffffffffff".to_owned() } else { format!("{:x}", piece.len()) };
            bytes.extend_from_slice(format!("{length}{}\r\n", one(random, &["", "", ";x=y", " "])).as_bytes());
            bytes.extend_from_slice(piece);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(one(random, &["0\r\n\r\n", "0\r\nX: y\r\n\r\n", "", "x\r\n\r\n"]).as_bytes());
    } else {
        bytes.extend_from_slice(&body);
    }
    bytes
}

/// The way in which a request is sent.
#[derive(Clone, Copy)]
struct Manner {
    /// The offset at which the request is split into two writes.
    split: usize,
    /// Whether the client closes its sending side after the request.
    half_closed: bool,
    /// Whether the client disconnects before the answer.
    left: bool,
}

/// Sends bytes, and returns what comes back until nothing more comes for [`LOOK`]. Returns nothing if the client
/// disconnects first. The server may close the connection at any time.
fn send(address: SocketAddr, bytes: &[u8], manner: Manner) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("the server takes connections");
    stream.set_read_timeout(Some(LOOK)).expect("a deadline");
    stream.set_write_timeout(Some(DEADLINE)).expect("a deadline");
    let (first, rest) = bytes.split_at(manner.split);
    let _ = stream.write_all(first).and_then(|()| stream.write_all(rest));
    let mut answer = Vec::new();
    if manner.left {
        return answer;
    }
    if manner.half_closed {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut piece = [0; 16 << 10];
    while answer.len() < 64 << 10 {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => answer.extend_from_slice(&piece[..length]),
        }
    }
    answer
}

/// Checks that an answer, if there is one, reports no fault of the server.
#[track_caller]
fn assert_no_fault(request: &[u8], answer: &[u8]) {
    if answer.is_empty() {
        return;
    }
    let shown = || {
        (
            String::from_utf8_lossy(&request[..request.len().min(2000)]).into_owned(),
            String::from_utf8_lossy(answer).into_owned(),
        )
    };
    let status = answer.get(9..12).and_then(|status| std::str::from_utf8(status).ok()?.parse::<u16>().ok());
    assert!(answer.starts_with(b"HTTP/1."), "{:?}", shown());
    // 503 means that the server is busy, 505 that the HTTP version is not supported.
    let blames_client = status.is_some_and(|status| status < 500 || matches!(status, 503 | 505));
    assert!(blames_client, "{:?}", shown());
    assert!(!answer.windows(12).any(|text| text == b"E_INTERNAL\"," || text == b"a bug in mcp"), "{:?}", shown());
}

#[test]
fn hostile_requests_harm_nobody() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "greet", "Hello {{ name }}", "--argument", "name"]);
    scratch.ok(&["resource", "create", "a", "file:///a", "text"]);
    let log = scratch.path().join("stderr");
    let mut command = scratch.command();
    command.args(["--json", "serve", "--http", "--sse", "--port", "0", "--timeout", "2", "--max-line", "1048576"]);
    let mut server = Http::spawn_with(&mut command, Stdio::from(File::create(&log).expect("a file")));
    let sessions =
        ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"].map(|version| server.session("/mcp", version));
    let sessions = [&sessions[..], &["none".to_owned()]].concat();
    let address = server.address;
    let mut cases = Cases::new("hostile requests", 12);
    while cases.more() {
        let random = &mut cases.random;
        let requests: Vec<(Vec<u8>, Manner)> = (0..REQUESTS)
            .map(|_| {
                let mut bytes = request(random, &sessions);
                if random.below(8) == 0 {
                    // Send another request before the first is answered.
                    bytes.extend(request(random, &sessions));
                }
                let split = random.below(bytes.len() + 1);
                let (half_closed, left) = (random.below(4) == 0, random.below(8) == 0);
                (bytes, Manner { split, half_closed, left })
            })
            .collect();
        std::thread::scope(|scope| {
            for some in requests.chunks(REQUESTS / AT_ONCE) {
                scope.spawn(move || {
                    for (bytes, manner) in some {
                        assert_no_fault(bytes, &send(address, bytes, *manner));
                    }
                });
            }
        });
        let asked = Instant::now();
        let answer = server.modern("/mcp", "prompts/get", json!({ "name": "greet", "arguments": { "name": "you" } }));
        assert_eq!(answer["result"]["messages"][0]["content"]["text"], "Hello you", "{answer}");
        assert!(asked.elapsed() < DEADLINE, "an honest client waited {:?}", asked.elapsed());
    }
    let said = std::fs::read_to_string(&log).expect("what the server said");
    assert!(!said.contains("panicked") && !said.contains("a bug"), "{said}");
    let most = memory(server.pid(), "VmHWM") / 1024;
    eprintln!("hostile requests: the server took {most} MiB at most");
    assert!(most < MIB, "the server took {most} MiB");
    server.end();
    assert!(server.ended().success());
}
