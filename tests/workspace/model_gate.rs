//! Runs a model gate over HTTP for tests: one that stores models and routes, or one with answers that a test chooses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// The answer to a request, after which the connection is closed.
#[derive(Clone)]
pub enum Sent {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes, followed by more without an end.
    Endless(Vec<u8>),
    /// No answer, for as long as the client waits.
    Nothing,
}

/// A request that was received.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub head: String,
    pub body: Vec<u8>,
}

/// A gate on a port of its own.
pub struct ModelGate {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ModelGate {
    /// Starts a gate that answers each request with `answer`.
    pub fn answering(answer: impl Fn(&Asked) -> Sent + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || converse(stream, &kept, &*answer));
            }
        });
        Self { url, asked }
    }

    /// Starts a gate that works correctly.
    pub fn start() -> Self {
        let kept: Mutex<(Vec<Value>, Vec<Value>)> = Mutex::default();
        Self::answering(move |asked| {
            let (models, routes) = &mut *kept.lock().expect("nobody panicked");
            answered(asked, models, routes)
        })
    }

    /// Returns the requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

fn answered(asked: &Asked, models: &mut Vec<Value>, routes: &mut Vec<Value>) -> Sent {
    let named = |name: &str| models.iter().position(|model| model["name"] == name);
    let gone = || with("404 Not Found", "", br#"{"error":"no such model"}"#);
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/health") => ok(&json!({
            "status": "healthy", "version": "1.2.3", "uptime_secs": 42, "model_count": models.len(), "more": [1],
        })),
        ("GET", "/api/v1/models") => ok(&json!(models)),
        ("POST", "/api/v1/models") => {
            let (name, file) = form(asked);
            let at = "2026-11-01T00:00:00Z";
            let size = file.len();
            let model =
                json!({ "name": name, "format": "onnx", "size_bytes": size, "registered_at": at, "status": "loaded" });
            models.push(model.clone());
            with("201 Created", "Content-Type: application/json\r\n", model.to_string().as_bytes())
        }
        ("GET", "/api/v1/routes") => ok(&json!({ "routes": routes })),
        ("PUT", "/api/v1/routes") => {
            let mut route: Value = serde_json::from_slice(&asked.body).expect("JSON");
            if named(route["model"].as_str().expect("a model")).is_none() {
                return gone();
            }
            route["request_count"] = json!(7);
            routes.push(route.clone());
            ok(&route)
        }
        ("GET", "/api/v1/logs") => {
            let lines = b"event: log\ndata: one\n\n: silence\ndata: two\n\ndata: three\n";
            with("200 OK", "Content-Type: text/event-stream\r\n", lines)
        }
        (method, path) => match (method, path.strip_prefix("/api/v1/models/"), path.strip_prefix("/api/v1/inference/"))
        {
            ("DELETE", Some(name), _) => match named(name) {
                Some(at) => {
                    models.remove(at);
                    with("204 No Content", "", b"")
                }
                None => gone(),
            },
            ("POST", _, Some(name)) if named(name).is_some() => {
                let given: Value = serde_json::from_slice(&asked.body).expect("JSON");
                ok(&json!({ "model": name, "output": { "given": given }, "latency_ms": 1.5 }))
            }
            _ => gone(),
        },
    }
}

/// Returns the name and the file in a form.
fn form(asked: &Asked) -> (String, Vec<u8>) {
    let boundary = asked.head.split("boundary=").nth(1).and_then(|rest| rest.lines().next()).expect("a boundary");
    let boundary = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut rest = asked.body.as_slice();
    while let Some(at) = find(rest, boundary.as_bytes()) {
        parts.push(&rest[..at]);
        rest = &rest[at + boundary.len()..];
    }
    assert_eq!((parts.len(), rest), (3, &b"--\r\n"[..]), "a form of two parts");
    let value = |part: &[u8]| {
        let at = find(part, b"\r\n\r\n").expect("a part's head");
        part[at + 4..part.len() - 2].to_vec()
    };
    (String::from_utf8(value(parts[1])).expect("a name"), value(parts[2]))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn converse(mut stream: TcpStream, kept: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked) -> Sent) -> Option<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let size =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; size.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let mut words = head.split(' ').map(str::to_owned);
    let asked = Asked { method: words.next()?, path: words.next()?, head, body };
    kept.lock().ok()?.push(asked.clone());
    match answer(&asked) {
        Sent::Bytes(bytes) => stream.write_all(&bytes).ok(),
        Sent::Endless(bytes) => {
            stream.write_all(&bytes).ok()?;
            while stream.write_all(&[b'x'; 65536]).is_ok() {}
            None
        }
        Sent::Nothing => {
            stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
            stream.read(&mut [0]).ok().map(drop)
        }
    }
}

/// Returns an answer with a status, headers and a body.
pub fn with(status: &str, headers: &str, body: &[u8]) -> Sent {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    Sent::Bytes([head.as_bytes(), body].concat())
}

fn ok(body: &Value) -> Sent {
    with("200 OK", "Content-Type: application/json\r\n", body.to_string().as_bytes())
}
