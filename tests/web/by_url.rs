//! Tests that an agent's client opens the page of the very request (elicitation by URL, SEP-1036), and that opening it
//! decides nothing.

use serde_json::{Value, json};

use super::{ground, opened, text};
use crate::support::http::{self, Http, modern};
use crate::support::{CAPABILITIES, Client};
use crate::workflow::runs::{Ground, approve, code, create};

/// The client's answer that the page was opened. It also claims consent, which must not count.
fn accepted() -> Value {
    json!({ "action": "accept", "content": { "approve": true } })
}

fn hello(capabilities: &Value) -> Value {
    let info = json!({ "name": "codex", "version": "1" });
    json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": capabilities }, "clientInfo": info })
}

fn call(name: &str) -> Value {
    let mut arguments = create();
    arguments["args"]["name"] = json!(name);
    arguments["wait_s"] = json!(20);
    json!({ "name": "execute", "arguments": arguments })
}

/// Starts an agent over stdio whose client opens pages and shows forms.
fn agent(ground: &Ground) -> Client {
    let mut client = Client::start(&ground.scratch, &[]);
    client.result("initialize", hello(&json!({ "form": {}, "url": {} })));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client
}

/// Returns the only waiting request.
fn waiting(ground: &Ground) -> String {
    let listed = ground.scratch.json(&["consent", "list"]);
    let waiting: Vec<&str> =
        listed["consents"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(waiting.len(), 1, "{listed}");
    waiting[0].to_owned()
}

fn approved(ground: &Ground, id: &str) {
    approve(&ground.scratch, &json!({ "error": { "details": { "consent": id } } }));
}

#[test]
fn a_client_on_this_machine_opens_the_request_on_the_console_there() {
    let (ground, _client) = ground();
    let Some(mut browser) = opened(&ground, &[]) else { return };
    // A read-only console, and a console of another database, are not opened.
    let Some(_reading) = opened(&ground, &["--read-only"]) else { return };
    let (other, _) = super::ground();
    let Some(_other) = opened(&other, &[]) else { return };
    let mut client = agent(&ground);
    let asking = client.post("tools/call", call("web"));
    let question = client.notification("elicitation/create");
    let (params, id) = (&question["params"], waiting(&ground));
    assert_eq!((&params["mode"], &params["elicitationId"]), (&json!("url"), &json!(id)), "{question}");
    let page = format!("/request?id={id}");
    assert_eq!(params["url"], format!("http://{}{page}", browser.host));
    let message = params["message"].as_str().expect("a message");
    assert!(message.contains("Run hosting:apps:create"), "{message}");
    assert_eq!(
        browser.send(&browser.request("GET", &page).without("Cookie")).status,
        401,
        "the address gives no rights"
    );
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": accepted() }));
    // Other calls are answered while the person decides.
    client.result("tools/list", json!({}));
    assert_eq!(ground.scratch.json(&["consent", "show", &id])["state"], "pending", "opening the page decides nothing");
    let question = browser.pressed(&browser.page(&page), "Approve", &[]);
    assert!(text(&browser.pressed(&question, "Yes", &[])).contains("Approved once"));
    let complete = client.notification("notifications/elicitation/complete");
    assert_eq!(complete["params"], json!({ "elicitationId": id }));
    let done = client.answer(&json!(asking))["result"]["structuredContent"].take();
    assert_eq!(code(&done), "ok", "{done}");
    assert_eq!(ground.changes(), 1);
    // A person denies the request, and a client does not open the page.
    for (name, answer, expected) in [
        ("a", accepted(), "E_CONSENT_DENIED"),
        ("b", json!({ "action": "decline" }), "E_CONSENT_DENIED"),
        ("c", json!({ "action": "cancel" }), "E_CONSENT_REQUIRED"),
    ] {
        let asking = client.post("tools/call", call(name));
        let question = client.notification("elicitation/create");
        client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
        if name == "a" {
            let id = question["params"]["elicitationId"].as_str().expect("an id");
            ground.scratch.ok(&["consent", "deny", id]);
            client.notification("notifications/elicitation/complete");
        }
        let refused = client.answer(&json!(asking))["result"]["structuredContent"].take();
        assert_eq!(code(&refused), expected, "{name}: {refused}");
    }
    assert!(!client.seen.iter().any(|line| line["method"] == "notifications/elicitation/complete"), "nobody decided");
    // Without a console, the client shows a form.
    browser.terminal().keys("\u{3}");
    browser.screen.take().expect("a terminal").end();
    let asking = client.post("tools/call", call("d"));
    let question = client.notification("elicitation/create");
    assert!(question["params"]["requestedSchema"].is_object(), "{question}");
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": accepted() }));
    let done = client.answer(&json!(asking))["result"]["structuredContent"].take();
    assert_eq!(code(&done), "ok", "{done}");
    client.finish();
}

#[test]
fn a_client_of_a_server_opens_the_request_on_its_console() {
    let (ground, _client) = ground();
    let server = Http::start(&ground.scratch, &["--console", "--public-url", "https://mcp.example.com/"]);
    // In a session, the server asks during the call.
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello(&json!({ "url": {} })) });
    let session = server.send(&http::message("/mcp", &hello)).header("mcp-session-id").expect("a session").to_owned();
    let send = |message: &Value| http::message("/mcp", message).with("Mcp-Session-Id", &session);
    server.send(&send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })));
    let events =
        server.open(&send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("web") })));
    let question = events.message();
    let id = waiting(&ground);
    assert_eq!(question["params"]["url"], format!("https://mcp.example.com/request?id={id}"), "{question}");
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": accepted() });
    assert_eq!(server.send(&send(&answer)).status, 202);
    assert_eq!(ground.scratch.json(&["consent", "show", &id])["state"], "pending");
    approved(&ground, &id);
    let done = std::iter::repeat_with(|| events.message()).find(|message| message["id"] == 1).expect("an answer");
    assert_eq!(code(&done["result"]["structuredContent"]), "ok", "{done}");
    // In the newest revision, the client calls again.
    let post = |more: Value| {
        let mut params = call("other");
        params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let request = modern("/mcp", "tools/call", params);
        request.edited(|message| message["params"]["_meta"][CAPABILITIES] = json!({ "elicitation": { "url": {} } }))
    };
    let asked = server.send(&post(json!({}))).message()["result"].take();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (params, id) = (asked["inputRequests"]["consent"]["params"].clone(), waiting(&ground));
    assert_eq!(params["url"], format!("https://mcp.example.com/request?id={id}"), "{asked}");
    let with =
        |answer: Value| json!({ "requestState": asked["requestState"], "inputResponses": { "consent": answer } });
    let cancelled = server.send(&post(with(json!({ "action": "cancel" })))).message();
    assert_eq!(code(&cancelled["result"]["structuredContent"]), "E_CONSENT_PENDING", "{cancelled}");
    // The call waits for the person.
    let done = std::thread::scope(|scope| {
        let calling = scope.spawn(|| server.send(&post(with(accepted()))).message());
        server.wait_for_requests(1);
        assert_eq!(ground.scratch.json(&["consent", "show", &id])["state"], "pending");
        approved(&ground, &id);
        calling.join().expect("an answer")
    });
    assert_eq!(done["result"]["structuredContent"]["state"], "succeeded", "{done}");
    assert_eq!(ground.changes(), 2);
}

#[test]
fn a_server_without_an_address_for_people_asks_as_before() {
    let (ground, _client) = ground();
    for (arguments, expected) in [(&["--console"][..], "input_required"), (&[], "")] {
        let server = Http::start(&ground.scratch, arguments);
        let request = modern("/mcp", "tools/call", call("web"));
        let request = request
            .edited(|message| message["params"]["_meta"][CAPABILITIES] = json!({ "elicitation": { "url": {} } }));
        let asked = server.send(&request).message()["result"].take();
        assert_eq!(asked["resultType"].as_str().unwrap_or_default().replace("complete", ""), expected, "{asked}");
        if !expected.is_empty() {
            let url = asked["inputRequests"]["consent"]["params"]["url"].as_str().expect("an address");
            assert!(url.starts_with(&format!("http://localhost:{}/request?", server.address.port())), "{url}");
        }
    }
    let ran = ground.scratch.run(&["serve", "--http", "--public-url", "https://mcp.example.com"]);
    assert!(ran.status == 2 && ran.stderr.contains("--public-url needs --oauth-issuer or --console"), "{ran}");
}
