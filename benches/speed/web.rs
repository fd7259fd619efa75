//! Starts an HTTP server, and implements a minimal client that uses one connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::peer::{cpu, mcpkg, resident};

/// The maximum time for an answer. Only a server that hangs takes that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that listens on a port of its own.
pub struct Web {
    child: Child,
    address: SocketAddr,
}

impl Web {
    /// Starts `mcpkg serve --http` on `database`.
    pub fn serve(database: &Path) -> Self {
        Self::serve_with(database, &[])
    }

    /// Starts `mcpkg serve --http` on `database` with further arguments.
    pub fn serve_with(database: &Path, arguments: &[&str]) -> Self {
        let mut command = mcpkg(database);
        command.args(["--json", "serve", "--http", "--port", "0"]).args(arguments);
        Self::start(command)
    }

    /// Starts a server that prints its address.
    pub fn start(mut command: Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("the server starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("the server has an output");
        BufReader::new(output).read_line(&mut line).expect("the server says something");
        let told: Json = serde_json::from_str(&line).expect("the server says where it listens");
        let address = told["address"].as_str().and_then(|address| address.parse().ok()).expect("an address");
        Self { child, address }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects to the server.
    pub fn connect(&self) -> Connection {
        self.try_connect().expect("the server takes a connection")
    }

    /// Connects to the server, if it is running.
    pub fn try_connect(&self) -> io::Result<Connection> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Connection { stream, buffer: vec![0; 4096], unread: 0..0, whole: Vec::new() })
    }

    /// Kills the server at once, even in the middle of its work.
    pub fn kill(&self) {
        let killed = Command::new("kill").args(["-9", &self.child.id().to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()), "the server is killed");
    }

    /// Returns the CPU time of all threads of the server so far.
    pub fn cpu(&self) -> Duration {
        cpu(self.child.id())
    }

    /// Returns the size of the server's resident memory in bytes.
    pub fn resident(&self) -> u64 {
        resident(self.child.id())
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that is used for several requests.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The part of the buffer that was read from the server but not returned yet.
    unread: Range<usize>,
    /// The complete body of an answer that arrived in chunks.
    whole: Vec<u8>,
}

pub struct Answer<'a> {
    pub status: u16,
    pub head: &'a str,
    pub body: &'a [u8],
}

impl Connection {
    /// Sends a request and returns its answer.
    pub fn ask(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.tell(request)?;
        self.answer()
    }

    /// Sends a request.
    pub fn tell(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request)
    }

    /// Returns the complete answer to the previous request.
    pub fn answer(&mut self) -> io::Result<Answer<'_>> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.start > 0 {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        let head = 0..self.find(b"\r\n\r\n", 0)?;
        let text = str::from_utf8(&self.buffer[head.clone()]).map_err(io::Error::other)?;
        let status = text.get(9..12).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("this is not an answer"))?;
        let length = header(text, "content-length").and_then(|length| length.parse::<usize>().ok());
        let start = head.end + 4;
        let body = match length {
            Some(length) => {
                while self.unread.end < start + length {
                    self.more()?;
                }
                self.unread.start = start + length;
                &self.buffer[start..start + length]
            }
            None if header(text, "transfer-encoding") == Some("chunked") => {
                self.chunks(start)?;
                &self.whole
            }
            None => {
                self.unread.start = start;
                &[]
            }
        };
        let head = str::from_utf8(&self.buffer[head]).map_err(io::Error::other)?;
        Ok(Answer { status, head, body })
    }

    /// Begins a session in MCP's revision 2025-11-25 and returns its id.
    pub fn session(&mut self) -> String {
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        let answer = self.ask(&in_session("", "initialize", hello)).expect("an answer to initialize");
        let session = header(answer.head, "mcp-session-id").expect("a session").to_owned();
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let told = post(&format!("Mcp-Session-Id: {session}\r\n"), &told);
        assert_eq!(self.ask(&told).expect("an answer").status, 202, "the handshake ends");
        session
    }

    /// Opens a stream with a notification for each change to the list of prompts.
    pub fn listen(self) -> Listener {
        let filter = json!({ "notifications": { "promptsListChanged": true } });
        let mut listener = self.stream(&stateless("subscriptions/listen", filter));
        listener.hear("notifications/subscriptions/acknowledged");
        listener
    }

    /// Sends a request whose answer is an event stream.
    pub fn stream(mut self, request: &[u8]) -> Listener {
        self.tell(request).expect("the server takes a request");
        Listener(self)
    }

    /// Reads the chunks of a body, from position `at` to the last one.
    fn chunks(&mut self, mut at: usize) -> io::Result<()> {
        self.whole.clear();
        loop {
            let line = self.find(b"\r\n", at)?;
            let length = str::from_utf8(&self.buffer[at..line]).ok();
            let length = length.and_then(|length| usize::from_str_radix(length, 16).ok());
            let length = length.ok_or_else(|| io::Error::other("this is not a chunk"))?;
            at = line + 2;
            while self.unread.end < at + length + 2 {
                self.more()?;
            }
            self.whole.extend_from_slice(&self.buffer[at..at + length]);
            at += length + 2;
            if length == 0 {
                self.unread.start = at;
                return Ok(());
            }
        }
    }

    /// Returns the position of `mark`, searching from `at`. Reads more from the server if necessary.
    fn find(&mut self, mark: &[u8], mut at: usize) -> io::Result<usize> {
        loop {
            if let Some(found) = memchr::memmem::find(&self.buffer[at..self.unread.end], mark) {
                return Ok(at + found);
            }
            at = at.max((self.unread.end + 1).saturating_sub(mark.len()));
            self.more()?;
        }
    }

    fn more(&mut self) -> io::Result<()> {
        if self.unread.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        match self.stream.read(&mut self.buffer[self.unread.end..])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.unread.end += read;
                Ok(())
            }
        }
    }
}

/// An open event stream.
pub struct Listener(Connection);

impl Listener {
    /// Waits for an event that contains this text, such as the method of a notification.
    pub fn hear(&mut self, text: &str) {
        let found = self.0.find(text.as_bytes(), self.0.unread.start).expect("the stream goes on");
        // Skip the rest of the event and everything before it.
        self.0.find(b"\n\n", found).expect("the event is whole");
        self.0.unread = 0..0;
    }
}

/// Returns the value of a header.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Returns a request in MCP's revision 2026-07-28.
pub fn stateless(method: &str, mut parameters: Json) -> Vec<u8> {
    let name = parameters["name"].as_str().or(parameters["uri"].as_str());
    let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    for (key, value) in [
        ("protocolVersion", json!("2026-07-28")),
        ("clientCapabilities", json!({})),
        ("clientInfo", json!({ "name": "bench", "version": "1" })),
    ] {
        parameters["_meta"][format!("io.modelcontextprotocol/{key}")] = value;
    }
    post(
        &format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"),
        &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters }),
    )
}

/// Returns a request for a session in MCP's revision 2025-11-25. An empty `session` means that there is none yet.
pub fn in_session(session: &str, method: &str, parameters: Json) -> Vec<u8> {
    let headers = match session {
        "" => String::new(),
        session => format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n"),
    };
    post(&headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters }))
}

fn post(headers: &str, message: &Json) -> Vec<u8> {
    let body = message.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
