//! Runs `mcpkg serve` as a child process and exchanges lines with it. Every wait has a deadline.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::{DEADLINE, Scratch, eventually};

/// The protocol revisions that begin with a handshake.
pub const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A server as a child process, and the client's side of its pipes.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Lines that arrived while the client waited for another line.
    pub seen: Vec<Value>,
    next: i64,
    modern: bool,
    /// The capabilities that the client declares.
    capabilities: Value,
}

/// The way in which a wait for a line ended.
#[derive(Debug, PartialEq)]
pub enum Wait {
    Line(Value),
    Nothing,
    Closed,
}

impl Client {
    /// Starts a server and sends nothing.
    pub fn start(scratch: &Scratch, arguments: &[&str]) -> Self {
        Self::spawn(scratch.command().arg("serve").args(arguments))
    }

    /// Starts `command` as a server.
    pub fn spawn(command: &mut Command) -> Self {
        Self::spawn_logging(command, Stdio::null())
    }

    /// Starts `command` as a server whose log goes to `log`.
    pub fn spawn_logging(command: &mut Command, log: Stdio) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().expect("a server starts");
        let stdout = child.stdout.take().expect("a standard output");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, seen: Vec::new(), next: 1, modern: false, capabilities: json!({}) }
    }

    /// Starts a server and does the handshake of MCP's revision `version`.
    pub fn legacy(scratch: &Scratch, version: &str) -> Self {
        Self::start(scratch, &[]).shake_hands(version)
    }

    /// Starts a server and uses MCP's revision 2026-07-28, in which every request carries the client's metadata.
    pub fn modern(scratch: &Scratch) -> Self {
        let mut client = Self::start(scratch, &[]);
        client.modern = true;
        client
    }

    /// Starts `command` as a server and uses MCP's revision 2026-07-28, as a client with these capabilities.
    pub fn modern_with(command: &mut Command, capabilities: Value) -> Self {
        let mut client = Self::spawn(command);
        client.modern = true;
        client.capabilities = capabilities;
        client
    }

    /// Does the handshake of MCP's revision `version`.
    pub fn shake_hands(self, version: &str) -> Self {
        self.shake_hands_as("test-client", version)
    }

    /// Like [`Client::shake_hands`], for a client with the name `name`.
    pub fn shake_hands_as(mut self, name: &str, version: &str) -> Self {
        let hello = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": name, "version": "1" },
        });
        let answer = self.request("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        self
    }

    /// Does the handshake with a server that may be unable to start. Returns whether the handshake succeeded.
    pub fn try_shake_hands(&mut self, version: &str) -> bool {
        let info = json!({ "name": "test-client", "version": "1" });
        self.post("initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info }));
        let answered = matches!(self.wait(DEADLINE), Wait::Line(answer) if answer["result"].is_object());
        if answered {
            self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        answered
    }

    /// Sends a request and returns its answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.post(method, params);
        self.answer(&json!(id))
    }

    /// Sends a request and returns the result of its answer.
    #[track_caller]
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("result").is_some(), "{method} failed: {answer}");
        answer["result"].take()
    }

    /// Sends a request and returns the error of its answer.
    #[track_caller]
    pub fn error(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("error").is_some(), "{method} succeeded: {answer}");
        answer["error"].take()
    }

    /// Calls a tool and returns its text and isError.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let result = self.result("tools/call", json!({ "name": tool, "arguments": arguments }));
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        (text, result["isError"].as_bool().expect("isError is always there"))
    }

    /// Sends a request without waiting and returns its id.
    pub fn post(&mut self, method: &str, mut params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        if self.modern {
            params["_meta"] = modern_meta();
            params["_meta"][CAPABILITIES] = self.capabilities.clone();
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Sends bytes. Ignores the failure if the server has already ended.
    pub fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    /// Returns the answer with `id`; other lines are kept in `seen`.
    #[track_caller]
    pub fn answer(&mut self, id: &Value) -> Value {
        if let Some(at) = self.seen.iter().position(|line| &line["id"] == id && line.get("method").is_none()) {
            return self.seen.remove(at);
        }
        loop {
            match self.wait(DEADLINE) {
                Wait::Line(line) if &line["id"] == id && line.get("method").is_none() => return line,
                Wait::Line(line) => self.seen.push(line),
                end => panic!("no answer to {id}: {end:?}; seen {:?}", self.seen),
            }
        }
    }

    /// Returns the notification `method`; other lines are kept in `seen`.
    #[track_caller]
    pub fn notification(&mut self, method: &str) -> Value {
        if let Some(at) = self.seen.iter().position(|line| line["method"] == method) {
            return self.seen.remove(at);
        }
        loop {
            match self.wait(DEADLINE) {
                Wait::Line(line) if line["method"] == method => return line,
                Wait::Line(line) => self.seen.push(line),
                end => panic!("no {method}: {end:?}"),
            }
        }
    }

    /// Waits for the next line; every line must be JSON-RPC.
    pub fn wait(&mut self, time: Duration) -> Wait {
        match self.lines.recv_timeout(time) {
            Ok(line) => {
                let value: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                let is_batch = value.is_array();
                assert!(is_batch || value["jsonrpc"] == "2.0", "not JSON-RPC: {line}");
                Wait::Line(value)
            }
            Err(RecvTimeoutError::Timeout) => Wait::Nothing,
            Err(RecvTimeoutError::Disconnected) => Wait::Closed,
        }
    }

    /// Returns the server's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server as `kill -9` does.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Closes the server's input. Its output can still be read.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits until the server has ended.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        eventually("the server ends", || self.child.try_wait().expect("a child can be waited for"))
    }

    /// Closes the input and waits until the server has ended successfully.
    #[track_caller]
    pub fn finish(mut self) {
        self.close_input();
        let status = self.ended();
        assert!(status.success(), "the server ended with {status}");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The key of the metadata in which a client declares its capabilities in MCP's revision 2026-07-28.
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Returns the metadata that a request of 2026-07-28 carries.
pub fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test-client", "version": "1" },
    })
}
