//! Tests the scopes of installs. A client sees the installs of its session or key, of the project, and of everybody.

use std::time::Duration;

use serde_json::{Value, json};

use super::installed::{data, extract, listed, no_sandbox, signed, with_extract};
use crate::support::{Client, Http, Request, Scratch, eventually, http};

const TOOL: &str = "alice/pdf/extract";
const PROJECTED: &str = "alice__pdf__extract";

/// The time to wait for notifications that must not arrive.
const QUIET: Duration = Duration::from_millis(300);

/// A client over HTTP, optionally with a key or a session.
#[derive(Clone)]
struct Tenant<'s> {
    server: &'s Http,
    key: Option<String>,
    session: Option<String>,
}

impl<'s> Tenant<'s> {
    fn nobody(server: &'s Http) -> Self {
        Self { server, key: None, session: None }
    }

    fn with_key(server: &'s Http, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..Self::nobody(server) }
    }

    /// Starts a session for this client.
    fn in_session(self) -> Self {
        let begun = self.server.send(&self.keyed(http::message("/mcp", &http::hello("2025-11-25"))));
        let id = begun.header("mcp-session-id").expect("a session id").to_owned();
        let told = http::message("/mcp", &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(self.server.send(&self.keyed(told.with("Mcp-Session-Id", &id))).status, 202);
        Self { session: Some(id), ..self }
    }

    fn keyed(&self, request: Request) -> Request {
        match &self.key {
            Some(key) => request.with("Authorization", &format!("Bearer {key}")),
            None => request,
        }
    }

    fn request(&self, method: &str, params: Value) -> Request {
        self.keyed(match &self.session {
            Some(id) => http::in_session("/mcp", id, method, params),
            None => http::modern("/mcp", method, params),
        })
    }

    fn answer(&self, method: &str, params: Value) -> Value {
        self.server.send(&self.request(method, params)).message()
    }

    /// Calls a tool and returns its data.
    fn data(&self, tool: &str, arguments: Value) -> Value {
        self.answer("tools/call", json!({ "name": tool, "arguments": arguments }))["result"]["structuredContent"].take()
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        self.answer("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    fn install(&self) -> Value {
        self.data("enact__install", json!({ "tool": TOOL }))
    }

    /// Returns whether the client sees the tool.
    fn sees(&self) -> bool {
        self.answer("tools/list", json!({}))["result"]["tools"].to_string().contains(PROJECTED)
    }

    /// Opens the client's stream of notifications.
    fn stream(&self) -> http::Events {
        match &self.session {
            Some(id) => self.server.open(&self.keyed(Request::new("GET", "/mcp").with("Mcp-Session-Id", id))),
            None => {
                let params = json!({ "notifications": { "toolsListChanged": true } });
                let stream = self.server.open(&self.request("subscriptions/listen", params));
                stream.message();
                stream
            }
        }
    }
}

fn key(scratch: &Scratch, arguments: &[&str]) -> String {
    let made = scratch.json(&[&["access", "create"], arguments].concat());
    made["key"].as_str().expect("a key").to_owned()
}

/// Returns for each stream whether it reported a change of the tools. Checks that there were no other messages.
fn told(streams: &[&http::Events]) -> Vec<bool> {
    let told = |stream: &&http::Events| {
        let messages = stream.messages(QUIET);
        let changed = |message: &&Value| message["method"] == "notifications/tools/list_changed";
        assert_eq!(messages.iter().filter(changed).count(), messages.len(), "{messages:?}");
        !messages.is_empty()
    };
    streams.iter().map(told).collect()
}

#[test]
fn an_install_of_a_session_is_its_own_and_ends_with_it() {
    let scratch = with_extract();
    let server = Http::start(&scratch, &["--as", "enact"]);
    let [one, two] = [(), ()].map(|()| Tenant::nobody(&server).in_session());
    let newest = Tenant::nobody(&server);
    let streams = [one.stream(), two.stream(), newest.stream()];
    let installed = one.install();
    assert_eq!((&installed["scope"], &installed["exposed"]), (&json!("session"), &json!(true)), "{installed}");
    // Only clients whose list changed are notified.
    assert_eq!(told(&streams.each_ref()), [true, false, false]);
    assert_eq!([one.sees(), two.sees(), newest.sees()], [true, false, false]);
    assert_eq!(one.data("enact__list", json!({}))["tools"][0]["scope"], "session");
    for other in [&two, &newest] {
        assert_eq!(other.data("enact__list", json!({}))["tools"], json!([]));
        assert_eq!(other.call(PROJECTED, json!({ "file": "x" }))["error"]["code"], -32602);
        assert_eq!(other.data("enact__uninstall", json!({ "tool": TOOL }))["error"]["code"], "E_TOOL_NOT_FOUND");
    }
    let called = one.call(PROJECTED, json!({ "file": "x" }));
    if !no_sandbox(&called) {
        assert_eq!(called["result"]["structuredContent"], json!({ "text": "x" }), "{called}");
    }
    // The install exists only in memory, but the audit trail contains an event.
    assert_eq!(scratch.json(&["tool", "list"])["tools"], json!([]));
    assert!(scratch.json(&["events"]).to_string().contains("tool.install"));
    // The other session's install of the same tool is independent.
    two.install();
    let gone = one.data("enact__uninstall", json!({ "tool": TOOL }));
    assert_eq!(gone["versions"], json!(["1.2.0"]), "{gone}");
    assert_eq!([one.sees(), two.sees()], [false, true]);
    let end = Request::new("DELETE", "/mcp").with("Mcp-Session-Id", two.session.as_deref().expect("a session"));
    assert_eq!(server.send(&end).status, 204);
    assert!(!Tenant::nobody(&server).in_session().sees());
}

#[test]
fn a_client_over_sse_has_a_session_too() {
    let scratch = with_extract();
    let server = Http::start(&scratch, &["--as", "enact"]);
    let connect = || {
        let events = server.open(&Request::new("GET", "/sse"));
        let address = events.data();
        let say = |message: &Value| assert_eq!(server.send(&http::message(&address, message)).status, 202);
        say(&http::hello("2024-11-05"));
        events.message();
        say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        (events, address)
    };
    let (one, two) = (connect(), connect());
    let ask = |(events, address): &(http::Events, String), method: &str, params: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        assert_eq!(server.send(&http::message(address, &message)).status, 202);
        loop {
            let mut message = events.message();
            if message["id"] == 7 {
                return message["result"].take();
            }
        }
    };
    let install = json!({ "name": "enact__install", "arguments": { "tool": TOOL } });
    assert_eq!(ask(&one, "tools/call", install)["structuredContent"]["scope"], "session");
    assert!(ask(&one, "tools/list", json!({})).to_string().contains(PROJECTED));
    assert!(!ask(&two, "tools/list", json!({})).to_string().contains(PROJECTED));
}

#[test]
fn the_installs_of_a_key_are_removed_when_it_is_revoked() {
    let scratch = with_extract();
    let (one, two) = (key(&scratch, &["one"]), key(&scratch, &["two"]));
    let server = Http::start(&scratch, &["--as", "enact"]);
    let [one, two] = [one, two].map(|key| Tenant::with_key(&server, &key));
    // With a key, an install belongs to the key and not to the session, so that later sessions have it too.
    let session = one.clone().in_session();
    let streams = [one.stream(), two.stream(), session.stream()];
    assert_eq!(session.install()["scope"], "key");
    assert_eq!(told(&streams.each_ref()), [true, false, true]);
    assert_eq!([one.sees(), two.sees(), session.sees()], [true, false, true]);
    let kept = || {
        let scopes = mcpkg_store::tools::installs::Scope::Key("one".to_owned());
        scratch.store().read(|db| mcpkg_store::tools::installs::of_scope(db, &scopes)).expect("read").len()
    };
    assert_eq!(kept(), 1);
    scratch.ok(&["access", "revoke", "one", "--yes"]);
    assert_eq!(kept(), 0);
    assert_eq!(server.send(&one.request("tools/list", json!({}))).status, 401);
}

#[test]
fn the_install_in_the_nearest_scope_is_visible() {
    let scratch = with_extract();
    extract(&scratch, TOOL, "1.3.0");
    extract(&scratch, TOOL, "1.4.0");
    signed(&scratch, "alice/pdf/extract@1.3.0");
    signed(&scratch, "alice/pdf/extract@1.4.0");
    scratch.ok(&["project", "create", "p"]);
    let server = Http::start(&scratch, &["--as", "enact"]);
    let one = Tenant::nobody(&server).in_session();
    let two = Tenant::nobody(&server).in_session();
    let version = |tenant: &Tenant<'_>| {
        let tools = tenant.answer("tools/list", json!({}))["result"]["tools"].take();
        let tool = tools.as_array().expect("tools").iter().find(|tool| tool["name"] == PROJECTED).cloned();
        tool.map(|tool| tool["_meta"]["mcpkg/tool"]["version"].as_str().expect("a version").to_owned())
    };
    assert_eq!(version(&one), None);
    scratch.ok(&["tool", "install", "alice/pdf/extract@1.2.0"]);
    assert_eq!([version(&one), version(&two)], [Some("1.2.0".to_owned()), Some("1.2.0".to_owned())]);
    scratch.ok(&["tool", "install", "alice/pdf/extract@1.3.0", "--for-project"]);
    assert_eq!(version(&one).as_deref(), Some("1.3.0"));
    one.data("enact__install", json!({ "tool": "alice/pdf/extract@1.4.0" }));
    assert_eq!([version(&one).as_deref(), version(&two).as_deref()], [Some("1.4.0"), Some("1.3.0")]);
    // The first client has its own install, which hides the project's. So only the second client is notified.
    let streams = [one.stream(), two.stream()];
    // A session's stream begins with earlier notifications. Read them first.
    told(&streams.each_ref());
    scratch.ok(&["tool", "uninstall", TOOL, "--for-project"]);
    assert_eq!(told(&streams.each_ref()), [false, true]);
    assert_eq!([version(&one).as_deref(), version(&two).as_deref()], [Some("1.4.0"), Some("1.2.0")]);
    one.data("enact__uninstall", json!({ "tool": TOOL }));
    assert_eq!(version(&one).as_deref(), Some("1.2.0"));
    // Deleting a project removes its installs.
    scratch.ok(&["tool", "install", "alice/pdf/extract@1.3.0", "--for-project"]);
    scratch.ok(&["project", "delete", "p", "--yes"]);
    assert_eq!(scratch.json(&["tool", "list"])["tools"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_install_scope_of_a_server_can_be_set() {
    let scratch = with_extract();
    let key = key(&scratch, &["one"]);
    {
        let server = Http::start(&scratch, &["--install-scope", "global"]);
        let one = Tenant::with_key(&server, &key);
        assert_eq!(one.install()["scope"], "global");
        scratch.ok(&["tool", "uninstall", TOOL]);
    }
    {
        let server = Http::start(&scratch, &["--install-scope", "session"]);
        let one = Tenant::with_key(&server, &key);
        // The newest revision has no sessions.
        assert_eq!(one.install()["error"]["code"], "E_INVALID_ARGUMENT");
        let session = one.clone().in_session();
        assert_eq!(session.install()["scope"], "session");
        assert_eq!([session.sees(), one.sees()], [true, false]);
    }
    // Over stdio, the whole process is one session.
    let mut command = scratch.command();
    command.args(["serve", "--as", "enact", "--install-scope", "session"]);
    let mut client = Client::spawn(&mut command).shake_hands("2025-06-18");
    assert_eq!(data(&mut client, "enact__install", json!({ "tool": TOOL }))["scope"], "session");
    client.notification("notifications/tools/list_changed");
    assert!(listed(&mut client).contains(&PROJECTED.to_owned()));
    assert_eq!(scratch.json(&["tool", "list"])["tools"], json!([]));
    client.finish();
    let mut command = scratch.command();
    command.args(["serve", "--as", "enact", "--install-scope", "key"]);
    let mut client = Client::spawn(&mut command).shake_hands("2025-06-18");
    let refused = data(&mut client, "enact__install", json!({ "tool": TOOL }));
    assert_eq!(refused["error"]["code"], "E_INVALID_ARGUMENT", "{refused}");
    client.finish();
}

#[test]
fn a_key_that_may_read_searches_learns_and_lists_and_no_more() {
    let scratch = with_extract();
    scratch.ok(&["tool", "install", TOOL]);
    let (reads, of_project) = (key(&scratch, &["reader", "--read-only"]), {
        scratch.ok(&["project", "create", "p"]);
        key(&scratch, &["of-p", "--project", "p"])
    });
    let server = Http::start(&scratch, &[]);
    let reader = Tenant::with_key(&server, &reads);
    let names = |tenant: &Tenant<'_>| {
        let tools = tenant.answer("tools/list", json!({}))["result"]["tools"].take();
        let names = tools.as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned));
        names.filter(|name| name.starts_with("enact__") || name == PROJECTED).collect::<Vec<_>>()
    };
    let mut listed = names(&reader);
    listed.sort();
    assert_eq!(listed, ["enact__learn", "enact__list", "enact__search"]);
    assert_eq!(reader.data("enact__search", json!({ "query": "pdf" }))["results"][0]["name"], TOOL);
    assert_eq!(reader.data("enact__learn", json!({ "tool": TOOL }))["verification"]["status"], "verified");
    assert_eq!(reader.data("enact__list", json!({}))["tools"][0]["name"], TOOL);
    for tool in ["enact__install", "enact__uninstall", "enact__run"] {
        let call = json!({ "name": tool, "arguments": { "tool": TOOL } });
        assert_eq!(server.send(&reader.request("tools/call", call)).status, 403, "{tool}");
    }
    assert_eq!(reader.call(PROJECTED, json!({ "file": "x" }))["error"]["code"], -32602);
    // Unsigned tools are not shown, and a read-only key causes no consent request.
    extract(&scratch, "bob/other", "1.0.0");
    let refused = reader.data("enact__learn", json!({ "tool": "bob/other" }));
    assert_eq!(refused["error"]["code"], "E_TRUST_REQUIRED", "{refused}");
    assert_eq!(scratch.json(&["consent", "list"])["consents"], json!([]));

    // A key that is limited to one project cannot use the tools.
    let of_project = Tenant::with_key(&server, &of_project);
    assert_eq!(names(&of_project), [""; 0]);
    for tool in ["enact__search", "enact__learn", "enact__list", "enact__install", "enact__run", PROJECTED] {
        let refused = of_project.call(tool, json!({ "tool": TOOL, "query": "pdf", "file": "x" }));
        assert_eq!(refused["error"]["code"], -32602, "{tool}: {refused}");
    }
}

#[test]
fn installs_of_a_session_without_their_package_are_ignored() {
    let scratch = with_extract();
    let server = Http::start(&scratch, &["--as", "enact"]);
    let one = Tenant::nobody(&server).in_session();
    one.install();
    // After a restore, the database may lack the packages of installs in memory.
    let empty = Scratch::new();
    empty.ok(&["project", "create", "p"]);
    let backup = scratch.path().join("empty.db").display().to_string();
    empty.ok(&["backup", &backup]);
    scratch.ok(&["restore", &backup, "--yes", "--while-serving"]);
    eventually("the list is of the other database", || (!one.sees()).then_some(()));
    assert_eq!(one.call(PROJECTED, json!({ "file": "x" }))["error"]["code"], -32602);
}
