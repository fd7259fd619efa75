//! Runs a server over HTTP, and sends it requests exactly as a test defines them, byte for byte.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{DEADLINE, Scratch, eventually, modern_meta};

/// The `Accept` header of an MCP client.
pub const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

/// A server that listens on a port of its own.
pub struct Http {
    child: Child,
    pub address: SocketAddr,
}

/// A response. Its body is complete, except that the head of an [`Events`] has an empty body.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A request to send.
#[derive(Clone)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// An event stream that is read while it arrives.
pub struct Events {
    pub head: Response,
    events: Receiver<String>,
    stream: TcpStream,
}

impl Http {
    /// Starts `mcpkg serve --http --sse` on a free port.
    pub fn start(scratch: &Scratch, arguments: &[&str]) -> Self {
        Self::spawn(scratch.command().args(["--json", "serve", "--http", "--sse", "--port", "0"]).args(arguments))
    }

    /// Starts `command`, which must print its address as JSON.
    pub fn spawn(command: &mut Command) -> Self {
        Self::spawn_with(command, Stdio::null())
    }

    /// Starts `command`, whose standard error goes to `log`.
    pub fn spawn_with(command: &mut Command, log: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("a server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a standard output")).read_line(&mut line).expect("a line");
        let told: Value = serde_json::from_str(&line).expect("the server says where it listens");
        let address = told["address"].as_str().and_then(|address| address.parse().ok()).expect("an address");
        Self { child, address }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server takes a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        stream.set_nodelay(true).expect("no delay");
        stream
    }

    /// Sends a request on a connection of its own.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Response {
        answer(self.post(request))
    }

    /// Sends a request on a connection of its own, whose response [`answer`] reads.
    #[track_caller]
    pub fn post(&self, request: &Request) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(&request.bytes()).expect("the server takes the request");
        stream
    }

    /// Runs `act` while the server's process is stopped.
    pub fn paused<T>(&self, act: impl FnOnce() -> T) -> T {
        super::signal(self.child.id(), "STOP");
        let done = act();
        super::signal(self.child.id(), "CONT");
        done
    }

    /// Sends a request and reads the event stream in its response while it arrives.
    #[track_caller]
    pub fn open(&self, request: &Request) -> Events {
        let stream = self.post(request);
        stream.set_read_timeout(None).expect("no deadline");
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        let head = read_head(&mut reader).expect("a response");
        let (sender, events) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            while let Ok(Some(piece)) = read_chunk(&mut reader) {
                text.push_str(&String::from_utf8_lossy(&piece));
                while let Some(end) = text.find("\n\n") {
                    let event = text[..end].to_owned();
                    text.drain(..end + 2);
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            }
        });
        Events { head, events, stream }
    }

    /// Sends a message in MCP's revision 2026-07-28 to `path` and returns the answer.
    #[track_caller]
    pub fn modern(&self, path: &str, method: &str, params: Value) -> Value {
        self.send(&modern(path, method, params)).message()
    }

    /// Begins a session in MCP's revision `version` at `path` and returns the session's id.
    #[track_caller]
    pub fn session(&self, path: &str, version: &str) -> String {
        let response = self.send(&message(path, &hello(version)));
        assert_eq!(response.message()["result"]["protocolVersion"], version);
        let id = response.header("mcp-session-id").expect("a session id").to_owned();
        let told = message(path, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(self.send(&told.with("Mcp-Session-Id", &id)).status, 202);
        id
    }

    /// Waits until this many requests are in flight.
    #[track_caller]
    pub fn wait_for_requests(&self, count: u64) {
        // The request for the metrics counts as well.
        self.wait_for_gauge("mcpkg_requests_in_flight", count + 1);
    }

    /// Waits until the gauge `name` in the metrics has this value.
    #[track_caller]
    pub fn wait_for_gauge(&self, name: &str, value: u64) {
        eventually(name, || {
            let metrics = self.send(&Request::new("GET", "/metrics")).text();
            let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let found = line.and_then(|found| found.parse::<u64>().ok()).expect("a gauge");
            (found == value).then_some(())
        });
    }

    /// Waits until the server no longer accepts connections.
    #[track_caller]
    pub fn wait_until_it_ends(&self) {
        eventually("no connection is taken", || TcpStream::connect(self.address).is_err().then_some(()));
    }

    /// Asks the server to end with SIGTERM, as a service manager does.
    pub fn end(&self) {
        super::signal(self.child.id(), "TERM");
    }

    /// Returns the server's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        eventually("the server ends", || self.child.try_wait().expect("a child can be waited for"))
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Request {
    pub fn new(method: &str, path: &str) -> Self {
        let headers = vec![("Host".to_owned(), "localhost".to_owned())];
        Self { method: method.to_owned(), path: path.to_owned(), headers, body: Vec::new() }.with(ACCEPT.0, ACCEPT.1)
    }

    /// Sets a header. Replaces an existing header of the same name.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header, even if there already is one of the same name.
    #[must_use]
    pub fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Edits the message in the request's body.
    #[must_use]
    pub fn edited(mut self, edit: impl FnOnce(&mut Value)) -> Self {
        let mut message = serde_json::from_slice(&self.body).expect("the body is a message");
        edit(&mut message);
        self.body = message.to_string().into();
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Returns the request `initialize`, which begins a session in MCP's revision `version`.
pub fn hello(version: &str) -> Value {
    let client = json!({ "name": "test-client", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

/// Returns a POST of one message.
pub fn message(path: &str, message: &Value) -> Request {
    Request::new("POST", path).with("Content-Type", "application/json").body(message.to_string())
}

/// Returns a POST of one request in MCP's revision 2026-07-28, with the headers that this revision requires.
pub fn modern(path: &str, method: &str, mut params: Value) -> Request {
    let name = ["name", "uri", "taskId"].iter().find_map(|key| params[key].as_str()).map(str::to_owned);
    params["_meta"] = modern_meta();
    let request = message(path, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", method);
    match name {
        Some(name) => request.with("Mcp-Name", &name),
        None => request,
    }
}

/// Returns a POST of one request in a session.
pub fn in_session(path: &str, session: &str, method: &str, params: Value) -> Request {
    message(path, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
        .with("Mcp-Session-Id", session)
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the messages of an event stream.
    pub fn messages(&self) -> Vec<Value> {
        let data = self.text().split("\n\n").filter_map(data).filter(|data| !data.is_empty()).collect::<Vec<_>>();
        data.iter().map(|data| serde_json::from_str(data).expect("JSON")).collect()
    }

    /// Returns the JSON-RPC message: the body, or the last event of a stream.
    #[track_caller]
    pub fn message(&self) -> Value {
        let text = self.text();
        let json = match self.header("content-type") {
            Some(kind) if kind.starts_with("text/event-stream") => {
                let data = text.split("\n\n").filter_map(data).filter(|data| !data.is_empty());
                data.last().unwrap_or_default()
            }
            _ => text.clone(),
        };
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {} {text}", self.status))
    }
}

/// Returns the data of an event.
fn data(event: &str) -> Option<String> {
    let lines: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim_start).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

impl Events {
    /// Returns the next event unchanged, even if it is only a comment; `None` at the end of the stream.
    pub fn raw(&self) -> Option<String> {
        match self.events.recv_timeout(DEADLINE) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the stream says nothing"),
        }
    }

    /// Returns the data of the next event that has data.
    #[track_caller]
    pub fn data(&self) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < deadline, "the stream says nothing but that it lives");
            let event = self.raw().expect("the stream goes on");
            if let Some(data) = data(&event).filter(|data| !data.is_empty()) {
                return data;
            }
        }
    }

    /// Returns the next message.
    #[track_caller]
    pub fn message(&self) -> Value {
        serde_json::from_str(&self.data()).expect("JSON")
    }

    /// Returns the messages that arrive within `time`.
    pub fn messages(&self, time: Duration) -> Vec<Value> {
        let end = Instant::now() + time;
        let mut messages = Vec::new();
        while let Ok(event) = self.events.recv_timeout(end.saturating_duration_since(Instant::now())) {
            messages.extend(data(&event).and_then(|data| serde_json::from_str::<Value>(&data).ok()));
        }
        messages
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

/// Reads the response to a request that was sent on this connection.
#[track_caller]
pub fn answer(stream: TcpStream) -> Response {
    read_response(&mut BufReader::new(stream)).expect("a response")
}

fn read_head(reader: &mut impl BufRead) -> std::io::Result<Response> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let Some(status) = status else { return Err(std::io::Error::other(format!("no status: {line:?}"))) };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
            None => return Ok(Response { status, headers, body: Vec::new() }),
        }
    }
}

/// Reads a complete response, even if it arrives in chunks.
pub fn read_response(reader: &mut impl BufRead) -> std::io::Result<Response> {
    let mut response = read_head(reader)?;
    if response.header("transfer-encoding") == Some("chunked") {
        while let Some(piece) = read_chunk(reader)? {
            response.body.extend(piece);
        }
    } else {
        let length = response.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        response.body = vec![0; length];
        reader.read_exact(&mut response.body)?;
    }
    Ok(response)
}

fn read_chunk(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let length = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
    let mut piece = vec![0; length + 2];
    reader.read_exact(&mut piece)?;
    piece.truncate(length);
    Ok((length > 0).then_some(piece))
}
