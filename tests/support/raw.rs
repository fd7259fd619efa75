//! Runs a server whose pipes the test controls: the test may let them fill up, close them, or kill the server in the
//! middle of a line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

use super::{Scratch, eventually};

/// A server, its pipes, and the file with its standard error.
pub struct Raw {
    child: Child,
    pub input: Option<ChildStdin>,
    pub output: Option<BufReader<ChildStdout>>,
    stderr: PathBuf,
}

impl Raw {
    /// Starts `command` as a server and sends nothing.
    pub fn spawn(scratch: &Scratch, command: &mut Command) -> Self {
        let stderr = tempfile::Builder::new().prefix("stderr-").tempfile_in(scratch.path()).expect("a file");
        let stderr = stderr.into_temp_path().keep().expect("a file that stays");
        let log = File::create(&stderr).expect("a file for stderr");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().expect("the server starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Self { child, input, output, stderr }
    }

    /// Starts a server and does the handshake.
    pub fn start(scratch: &Scratch, arguments: &[&str]) -> Self {
        let mut raw = Self::spawn(scratch, scratch.command().arg("serve").args(arguments));
        raw.shake_hands();
        raw
    }

    /// Does the handshake.
    pub fn shake_hands(&mut self) {
        self.write(handshake());
        let answer = self.answer();
        assert!(answer["result"].is_object(), "{answer}");
    }

    /// Writes to the server. Ignores the failure if the server has already ended.
    pub fn write(&mut self, text: impl AsRef<[u8]>) {
        let input = self.input.as_mut().expect("the input is open");
        let _ = input.write_all(text.as_ref()).and_then(|()| input.flush());
    }

    /// Returns the next line from the server; `None` at the end of its output.
    pub fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.output.as_mut().expect("the output is open").read_line(&mut line).expect("UTF-8");
        (read > 0).then(|| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Returns the next answer from the server. Skips notifications before it.
    #[track_caller]
    pub fn answer(&mut self) -> Value {
        loop {
            let line = self.line().expect("an answer");
            if line.get("method").is_none() {
                return line;
            }
        }
    }

    /// Waits until the server closes its output. Returns the complete lines that were not read yet, without a last line
    /// that is incomplete.
    pub fn rest(&mut self) -> Vec<Value> {
        let mut bytes = Vec::new();
        self.output.as_mut().expect("the output is open").read_to_end(&mut bytes).expect("a readable pipe");
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes[..whole]
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).expect("JSON"))
            .collect()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server as `kill -9` does.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Writes `text` to the server repeatedly until the server has ended.
    #[track_caller]
    pub fn write_until_it_ends(&mut self, text: &str) {
        eventually("the server ends", || {
            self.write(text);
            self.child.try_wait().expect("a child can be waited for").map(drop)
        });
    }

    /// Waits until the server has ended.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        eventually("the server ends", || self.child.try_wait().expect("a child can be waited for"))
    }

    /// Returns the server's standard error, which would contain a panic.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    #[track_caller]
    pub fn assert_no_panic(&self) {
        let stderr = self.stderr();
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the client's messages of a handshake as lines. The request's id is "hello".
pub fn handshake() -> String {
    let client = json!({ "name": "raw", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello });
    format!("{hello}\n{}\n", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
}

/// Returns a request as a line.
pub fn request(id: i64, method: &str, params: &Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Returns a tool call as a line.
pub fn call(id: i64, tool: &str, arguments: &Value) -> String {
    request(id, "tools/call", &json!({ "name": tool, "arguments": arguments }))
}
