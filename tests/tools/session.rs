//! Tests the example session of contract 002 on every transport, with and without a handshake.

use serde_json::{Value, json};

use super::installed::{META, no_sandbox, signed};
use crate::support::{Client, Http, Request, Scratch, http};

/// Returns a scratch folder with the tool of the example, which reads one of the user's files. The folder `work` is a
/// git repository, so agents may name files in it.
fn ground() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("work/.git/HEAD", "ref: refs/heads/main\n");
    scratch.file("work/doc.pdf", "Extracted text from PDF...");
    let front = "---\nname: alice/pdf/extract\nversion: 1.2.0\ndescription: Text extraction from PDF files\n\
        scripts:\n  main: [sh, run.sh, '{{file}}']\n\
        inputSchema:\n  type: object\n  properties:\n    file: {type: string, format: path}\n  required: [file]\n\
        outputSchema:\n  type: object\n  properties:\n    text: {type: string}\n  required: [text]\n---\n# PDF Extract\n\n...\n";
    scratch.file("extract/SKILL.md", front);
    scratch.file("extract/run.sh", "printf '{\"text\":\"%s\"}' \"$(cat \"$1\")\"\n");
    let folder = scratch.path().join("extract").display().to_string();
    scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
    signed(&scratch, "alice/pdf/extract");
    scratch
}

/// A client on any transport. It sends requests, and waits for changes of its list of tools.
trait Agent {
    fn ask(&mut self, method: &str, params: Value) -> Value;
    fn hears_of_tools(&mut self);
    /// Returns whether requests may name files of this machine.
    fn is_local(&self) -> bool;

    fn data(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))["structuredContent"].take()
    }

    fn names(&mut self) -> Vec<String> {
        let tools = self.ask("tools/list", json!({}))["tools"].take();
        tools.as_array().expect("tools").iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }
}

/// Runs the contract's session step by step.
fn session(agent: &mut impl Agent, file: &str) {
    let mut names = agent.names();
    names.sort();
    let mut six = META.map(str::to_owned).to_vec();
    six.sort();
    assert_eq!(names, six);

    let found = agent.data("enact__search", json!({ "query": "pdf extraction" }));
    assert_eq!(found["results"][0]["name"], "alice/pdf/extract", "{found}");
    assert_eq!(found["results"][0]["description"], "Text extraction from PDF files");
    let learned = agent.data("enact__learn", json!({ "tool": "alice/pdf/extract" }));
    assert_eq!(learned["documentation"], "# PDF Extract\n\n...", "{learned}");
    let installed = agent.data("enact__install", json!({ "tool": "alice/pdf/extract" }));
    assert_eq!(
        (&installed["success"], &installed["message"]),
        (&json!(true), &json!("Installed alice/pdf/extract@1.2.0")),
        "{installed}"
    );
    agent.hears_of_tools();
    assert_eq!(agent.names().len(), META.len() + 1);
    let called = agent.ask("tools/call", json!({ "name": "alice__pdf__extract", "arguments": { "file": file } }));
    if agent.is_local() {
        if !no_sandbox(&called) {
            assert_eq!(called["structuredContent"], json!({ "text": "Extracted text from PDF..." }), "{called}");
        }
    } else {
        // Over a network, a client cannot name files of this machine.
        assert_eq!(called["_meta"]["mcpkg/error"]["code"], "E_TOOL_INPUT", "{called}");
    }
    let gone = agent.data("enact__uninstall", json!({ "tool": "alice/pdf/extract" }));
    assert_eq!(gone["message"], "Uninstalled alice/pdf/extract@1.2.0");
    agent.hears_of_tools();
    assert_eq!(agent.names().len(), META.len());
}

impl Agent for Client {
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.result(method, params)
    }

    fn hears_of_tools(&mut self) {
        self.notification("notifications/tools/list_changed");
    }

    fn is_local(&self) -> bool {
        true
    }
}

#[test]
fn the_contracts_session_word_for_word_over_stdio() {
    let scratch = ground();
    let file = scratch.path().join("work/doc.pdf").display().to_string();
    for version in crate::support::LEGACY {
        let mut command = scratch.command();
        command.args(["serve", "--as", "enact"]).current_dir(scratch.path().join("work"));
        let mut client = Client::spawn(&mut command).shake_hands(version);
        session(&mut client, &file);
        client.finish();
    }
}

#[test]
fn the_contracts_session_in_the_newest_revision_over_stdio() {
    let scratch = ground();
    let mut command = scratch.command();
    command.args(["serve", "--as", "enact"]).current_dir(scratch.path().join("work"));
    let mut client = Client::modern_with(&mut command, json!({}));
    let told = client.result("server/discover", json!({}));
    let server = &told["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], "enact-mcp-server", "{told}");
    assert_eq!(told["capabilities"], json!({ "tools": { "listChanged": true } }), "{told}");
    client.post("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    client.notification("notifications/subscriptions/acknowledged");
    session(&mut client, "doc.pdf");
    client.kill();
}

/// A client over HTTP with its stream of notifications.
struct Web<'s> {
    server: &'s Http,
    stream: http::Events,
    how: How,
}

enum How {
    Modern,
    InSession(String),
    Sse { address: String, next: i64 },
}

impl<'s> Web<'s> {
    fn modern(server: &'s Http) -> Self {
        let params = json!({ "notifications": { "toolsListChanged": true } });
        let stream = server.open(&http::modern("/mcp", "subscriptions/listen", params));
        assert_eq!(stream.message()["method"], "notifications/subscriptions/acknowledged");
        Self { server, stream, how: How::Modern }
    }

    fn in_session(server: &'s Http, version: &str) -> Self {
        let id = server.session("/mcp", version);
        let stream = server.open(&Request::new("GET", "/mcp").with("Mcp-Session-Id", &id));
        Self { server, stream, how: How::InSession(id) }
    }

    fn sse(server: &'s Http) -> Self {
        let stream = server.open(&Request::new("GET", "/sse"));
        let address = stream.data();
        let mut web = Self { server, stream, how: How::Sse { address: address.clone(), next: 1 } };
        let hello = http::hello("2024-11-05")["params"].clone();
        let told = web.ask("initialize", hello);
        assert_eq!(told["serverInfo"]["name"], "enact-mcp-server", "{told}");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(server.send(&http::message(&address, &ready)).status, 202);
        web
    }
}

impl Agent for Web<'_> {
    fn ask(&mut self, method: &str, params: Value) -> Value {
        match &mut self.how {
            How::Modern => self.server.modern("/mcp", method, params)["result"].take(),
            How::InSession(id) => {
                self.server.send(&http::in_session("/mcp", id, method, params)).message()["result"].take()
            }
            How::Sse { address, next } => {
                *next += 1;
                let id = *next;
                let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
                assert_eq!(self.server.send(&http::message(address, &asked)).status, 202);
                loop {
                    let mut message = self.stream.message();
                    if message["id"] == id && message.get("method").is_none() {
                        return message["result"].take();
                    }
                }
            }
        }
    }

    fn hears_of_tools(&mut self) {
        // Over SSE, the notification may have come before an answer that was already read.
        if !matches!(self.how, How::Sse { .. }) {
            assert_eq!(self.stream.message()["method"], "notifications/tools/list_changed");
        }
    }

    fn is_local(&self) -> bool {
        false
    }
}

#[test]
fn the_contracts_session_over_http_in_both_eras_and_sse() {
    let scratch = ground();
    let mut command = scratch.command();
    command.args(["--json", "serve", "--as", "enact", "--http", "--sse", "--port", "0"]);
    let server = Http::spawn(command.current_dir(scratch.path().join("work")));
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        session(&mut Web::in_session(&server, version), "doc.pdf");
    }
    session(&mut Web::sse(&server), "doc.pdf");
    session(&mut Web::modern(&server), "doc.pdf");
}

#[test]
fn an_agent_cannot_pass_a_file_from_outside_the_deploy_root() {
    let scratch = ground();
    scratch.file("id_ed25519", "a secret");
    std::os::unix::fs::symlink(scratch.path().join("id_ed25519"), scratch.path().join("work/link")).expect("a link");
    scratch.ok(&["tool", "install", "alice/pdf/extract"]);
    let mut command = scratch.command();
    command.args(["serve", "--as", "enact"]).current_dir(scratch.path().join("work"));
    let mut client = Client::spawn(&mut command).shake_hands("2025-06-18");
    std::os::unix::fs::symlink("../none", scratch.path().join("work/dangling")).expect("a link");
    // The error must not reveal whether a file outside exists.
    let why = |file: &str| match file {
        "nowhere.pdf" => "which does not exist",
        _ => "which is neither below the deploy root nor in a folder that the tool is allowed to use",
    };
    for file in ["../id_ed25519", "../none", "link", "dangling", "/etc/passwd", "/etc/none", "nowhere.pdf"] {
        let call = json!({ "name": "alice__pdf__extract", "arguments": { "file": file } });
        let refused = client.result("tools/call", call);
        assert_eq!(refused["_meta"]["mcpkg/error"]["code"], "E_TOOL_INPUT", "{file}: {refused}");
        assert!(!refused.to_string().contains("a secret"), "{refused}");
        assert!(refused.to_string().contains(&format!("names `{file}`, {}", why(file))), "{refused}");
        let run = json!({ "tool": "alice/pdf/extract", "args": { "file": file } });
        let refused = client.data("enact__run", run);
        assert_eq!(refused["error"]["code"], "E_TOOL_INPUT", "{file}: {refused}");
    }
    client.finish();
}

#[test]
fn a_server_with_as_enact_shows_only_the_contracts_tools() {
    let scratch = ground();
    let (enact, mcpkg) = (Http::start(&scratch, &["--as", "enact"]), Http::start(&scratch, &[]));
    let health = |server: &Http, path: &str| server.send(&Request::new("GET", path)).status;
    assert_eq!((health(&enact, "/health"), health(&enact, "/healthz")), (200, 200));
    assert_eq!((health(&mcpkg, "/health"), health(&mcpkg, "/healthz")), (404, 200));
    let told = enact.send(&http::message("/mcp", &http::hello("2025-06-18"))).message()["result"].take();
    assert_eq!(told["serverInfo"]["name"], "enact-mcp-server");
    assert_eq!(told["capabilities"], json!({ "tools": { "listChanged": true } }));
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        assert_eq!(enact.modern("/mcp", method, json!({}))["error"]["code"], -32601, "{method}");
    }
    let list = http::modern("/mcp", "tools/list", json!({}));
    // With `--as enact`, the list contains annotations and output schemas of the six tools.
    let tools = enact.send(&list).message()["result"]["tools"].take();
    assert_eq!(tools.as_array().map(Vec::len), Some(META.len()));
    for tool in tools.as_array().expect("tools") {
        assert!(tool["outputSchema"]["properties"]["error"].is_object(), "{tool}");
        assert!(tool["outputSchema"].get("required").is_none(), "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
    }
    // By default, the list is short, because it takes up context of every client.
    let short = mcpkg.send(&http::modern("/mcp", "tools/list", json!({}))).message()["result"]["tools"].take();
    let six =
        short.as_array().expect("tools").iter().filter(|tool| META.contains(&tool["name"].as_str().expect("a name")));
    assert!(six.clone().count() == META.len() && six.clone().all(|tool| tool.get("outputSchema").is_none()), "{short}");
}
