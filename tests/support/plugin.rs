//! Plays an MCP server that mcpkg runs as a plugin. The server is this test program, and a file tells it how to behave
//! or misbehave.

#![expect(clippy::disallowed_methods, reason = "what is played ends as programs do, in the middle of things too")]

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

/// The variable with the path of the file that defines the plugin's behavior.
const PLAY: &str = "MCPKG_TEST_PLUGIN";

/// The behavior of a plugin, and the log of its actions.
pub struct Play {
    file: PathBuf,
}

impl Play {
    /// Defines the plugin's behavior in a new file in `folder`.
    pub fn new(folder: &Path, what: &Value) -> Self {
        let play = Self { file: folder.join("play.json") };
        play.now(what);
        play
    }

    /// Changes the plugin's behavior, starting with the next message.
    pub fn now(&self, what: &Value) {
        let beside = self.file.with_extension("new");
        std::fs::write(&beside, what.to_string()).expect("a file");
        std::fs::rename(beside, &self.file).expect("a file");
    }

    /// Returns the arguments with which `mcpkg plugin add` adds the plugin.
    pub fn given(&self) -> Value {
        let program = std::env::current_exe().expect("a program");
        let test = concat!(module_path!(), "::plays_when_it_is_told_to");
        let test = test.split_once("::").expect("a path").1;
        json!({
            "command": [program, "--exact", test, "--nocapture"],
            "env": [format!("{PLAY}={}", self.file.display())],
            "keep_env": [PLAY],
        })
    }

    /// Returns the lines of the plugin's log, such as `started PID` and `called TOOL`.
    pub fn log(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.file.with_extension("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// Returns the numbers after `word` in the plugin's log.
    pub fn logged(&self, word: &str) -> Vec<u32> {
        self.log().iter().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok()).collect()
    }

    /// Returns whether all processes of the plugin and all their children have ended.
    pub fn is_over(&self) -> bool {
        [self.logged("started"), self.logged("child")].concat().iter().all(|id| !runs(*id))
    }
}

/// Returns whether a process is running. A zombie process is not.
fn runs(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Returns a tool's definition in the form of `tools/list`.
pub fn tool(name: &str, description: &str, properties: Value) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object", "properties": properties } })
}

/// This is not a test. mcpkg starts the plugin as this "test" of the test program.
#[test]
fn plays_when_it_is_told_to() {
    if let Some(file) = std::env::var_os(PLAY) {
        Player { file: PathBuf::from(file) }.play();
        std::process::exit(0);
    }
}

struct Player {
    file: PathBuf,
}

impl Player {
    fn what(&self) -> Value {
        serde_json::from_slice(&std::fs::read(&self.file).expect("what is played")).expect("JSON")
    }

    fn note(&self, line: &str) {
        let mut log = std::fs::OpenOptions::new();
        let mut log = log.create(true).append(true).open(self.file.with_extension("log")).expect("a log");
        log.write_all(format!("{line}\n").as_bytes()).expect("a line");
    }

    fn say(&self, message: &Value) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(format!("{message}\n").as_bytes()).and_then(|()| out.flush());
    }

    fn play(&self) {
        self.note(&format!("started {}", std::process::id()));
        if let Some(value) = std::env::var_os("TOKEN") {
            self.note(&format!("token of {} bytes", value.len()));
        }
        if self.what()["start"] == "die" {
            eprintln!("I never start");
            std::process::exit(3);
        }
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            self.hear(&message);
        }
    }

    fn hear(&self, message: &Value) {
        let what = self.what();
        let answer = |result: Value| self.say(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        let refuse = |code: i32, why: &str| {
            self.say(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": { "code": code, "message": why } }));
        };
        match message["method"].as_str() {
            None => self.note(&format!(
                "answered {}",
                message["error"]["code"]
                    .as_i64()
                    .map_or_else(|| message["result"].to_string(), |code| code.to_string(),)
            )),
            Some(_) if what["start"] == "silent" => {}
            Some("server/discover") if what["era"] == "modern" => answer(json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                "ttlMs": 0, "cacheScope": "private",
                "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "toy", "version": "1" } },
            })),
            Some("initialize") if what["era"] != "modern" => answer(json!({
                "protocolVersion": "2025-11-25", "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "toy", "version": "1" },
            })),
            Some("tools/list") => {
                // A tool's definition may contain the token, so that a test sees whether the plugin received it.
                let token = Value::from(std::env::var("TOKEN").unwrap_or_default()).to_string();
                let tools = what["tools"].to_string().replace("$TOKEN", token.trim_matches('"'));
                let tools: Value = serde_json::from_str(&tools).expect("JSON");
                answer(json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" }));
            }
            Some("tools/call") => self.called(&what, message, &answer),
            Some("notifications/cancelled") => self.note("cancelled"),
            Some(method) if message.get("id").is_some() => refuse(-32601, method),
            Some(_) => {}
        }
    }

    fn called(&self, what: &Value, message: &Value, answer: &dyn Fn(Value)) {
        let text = |text: &str| json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] });
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        self.note(&format!("called {tool}"));
        match what["call"].as_str().unwrap_or_default() {
            "die" => {
                eprintln!("no more of this; the token was {}", std::env::var("TOKEN").unwrap_or_default());
                std::process::exit(9);
            }
            "silent" => {}
            "repeat" => answer(text(&format!("the token is {}", std::env::var("TOKEN").unwrap_or_default()))),
            "fail" => {
                let mut failed = text("it cannot be done");
                failed["isError"] = json!(true);
                answer(failed);
            }
            "line" => self.flood(b"x"),
            "flood" => self.flood(b"xxxxxxx\n"),
            "fork" => {
                let child = std::process::Command::new("sleep").arg("600").spawn().expect("a child");
                self.note(&format!("child {}", child.id()));
                std::process::exit(0);
            }
            "ask" => {
                for (id, method) in [("a", "roots/list"), ("b", "sampling/createMessage"), ("c", "elicitation/create")]
                {
                    let params = match method {
                        "roots/list" => json!({}),
                        "elicitation/create" => {
                            json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } })
                        }
                        _ => json!({ "messages": [], "maxTokens": 1 }),
                    };
                    self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
                }
                answer(text("asked"));
            }
            "tell" => {
                self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                answer(text("told"));
            }
            "slow" => {
                std::thread::sleep(Duration::from_secs(600));
            }
            _ => match &what["data"] {
                Value::Null => answer(text(&format!("{tool}: {}", message["params"]["arguments"]))),
                data => answer(json!({ "resultType": "complete", "content": [], "structuredContent": data })),
            },
        }
    }

    /// Writes `piece` repeatedly, about 100 MiB in total.
    fn flood(&self, piece: &[u8]) {
        let block = piece.repeat((1 << 20) / piece.len());
        let mut out = std::io::stdout().lock();
        for _ in 0..100 {
            if out.write_all(&block).is_err() {
                return;
            }
        }
    }
}
