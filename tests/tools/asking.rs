//! Tests unsigned tools: the client asks its user, or a person consents in a shell. A consent covers one archive.

use serde_json::{Value, json};

use super::installed::{extract, no_sandbox, signed, with_extract};
use crate::support::{CAPABILITIES, Client, Http, Request, Scratch, Wait, at_a_terminal, http, modern_meta, skipped};

const TOOL: &str = "alice/pdf/extract";

fn yes() -> Value {
    json!({ "action": "accept", "content": { "approve": true } })
}

/// Returns a scratch folder with an installed tool whose signer is no longer trusted.
fn distrusted() -> Scratch {
    let scratch = with_extract();
    scratch.ok(&["tool", "install", TOOL]);
    let listed = scratch.json(&["tool", "trust", "list"]);
    let identity = listed["trusted"][0]["identity"].as_str().expect("an identity").to_owned();
    scratch.ok(&["tool", "trust", "remove", &identity, "--yes"]);
    scratch
}

fn call() -> Value {
    json!({ "name": "alice__pdf__extract", "arguments": { "file": "doc.pdf" } })
}

fn verb(tool: &str, version: &str) -> Value {
    let mut arguments = json!({ "tool": format!("{TOOL}@{version}") });
    if tool == "enact__run" {
        arguments["args"] = json!({ "file": "doc.pdf" });
    }
    json!({ "name": tool, "arguments": arguments })
}

/// Starts a server over stdio. Its client does the handshake and supports forms.
fn with_forms(scratch: &Scratch) -> Client {
    let mut client = Client::start(scratch, &["--as", "enact"]);
    let info = json!({ "name": "test-client", "version": "1" });
    let capabilities = json!({ "elicitation": { "form": {} } });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info });
    client.result("initialize", hello);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client
}

/// Calls a tool, answers the question, and returns the result.
fn answered(client: &mut Client, params: Value, answer: Value) -> Value {
    let id = client.post("tools/call", params);
    let question = client.notification("elicitation/create");
    let message = question["params"]["message"].as_str().expect("a message");
    assert!(message.contains("which is not verified") && message.contains("SHA-256"), "{question}");
    // While a person decides, other calls of the client are answered.
    client.result("tools/list", json!({}));
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    client.answer(&json!(id))["result"].take()
}

fn code(result: &Value) -> &str {
    let failed = [&result["structuredContent"]["error"]["code"], &result["_meta"]["mcpkg/error"]["code"]];
    failed.into_iter().find_map(Value::as_str).unwrap_or("ok")
}

#[test]
fn a_client_with_a_handshake_asks_its_user_before_a_tool_is_called() {
    let scratch = distrusted();
    let mut client = with_forms(&scratch);
    for (answer, expected) in
        [(json!({ "action": "cancel" }), "E_CONSENT_REQUIRED"), (json!({ "action": "decline" }), "E_CONSENT_DENIED")]
    {
        let refused = answered(&mut client, call(), answer);
        assert_eq!(code(&refused), expected, "{refused}");
    }
    // After a client declined, it is not asked again. A person can still decide at a terminal.
    let again = client.result("tools/call", call());
    assert_eq!(code(&again), "E_CONSENT_REQUIRED", "{again}");
    assert!(!client.seen.iter().any(|line| line["method"] == "elicitation/create"));
    let id = again["_meta"]["mcpkg/error"]["details"]["consent"].as_str().expect("a request");
    scratch.ok(&["consent", "deny", id]);
    assert_eq!(code(&client.result("tools/call", call())), "E_CONSENT_DENIED");
    client.finish();

    let scratch = distrusted();
    let mut client = with_forms(&scratch);
    let called = answered(&mut client, call(), yes());
    if !no_sandbox(&called) {
        assert_eq!(called["structuredContent"], json!({ "text": "doc.pdf" }), "{called}");
        assert_eq!(called["_meta"]["mcpkg/run"]["verification"]["status"], "approved", "{called}");
    }
    // The consent covers this archive, for `enact__run` and `enact__learn` too.
    assert_ne!(code(&client.result("tools/call", verb("enact__run", "1.2.0"))), "E_CONSENT_REQUIRED");
    assert_eq!(code(&client.result("tools/call", verb("enact__learn", "1.2.0"))), "ok");
    assert!(!client.seen.iter().any(|line| line["method"] == "elicitation/create"));
    client.finish();
}

#[test]
fn each_verb_asks_and_another_archive_asks_again() {
    let scratch = Scratch::new();
    for (number, tool) in ["enact__learn", "enact__install", "enact__run"].into_iter().enumerate() {
        let version = format!("1.{number}.0");
        extract(&scratch, TOOL, &version);
        let mut client = with_forms(&scratch);
        let done = answered(&mut client, verb(tool, &version), yes());
        if !no_sandbox(&done) {
            assert_eq!(code(&done), "ok", "{tool}: {done}");
        }
        // The second call does not ask.
        assert_ne!(code(&client.result("tools/call", verb(tool, &version))), "E_CONSENT_REQUIRED", "{tool}");
        assert!(!client.seen.iter().any(|line| line["method"] == "elicitation/create"));
        client.finish();
    }
}

#[test]
fn a_client_of_the_newest_revision_calls_again_with_the_answer() {
    let scratch = distrusted();
    let mut command = scratch.command();
    command.args(["serve", "--as", "enact"]);
    let mut client = Client::modern_with(&mut command, json!({ "elicitation": { "form": {} } }));
    let asked = client.result("tools/call", call());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(asked["inputRequests"]["consent"]["method"], "elicitation/create", "{asked}");
    let with = |answer: Value, state: &Value| {
        let mut params = call();
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({ "consent": answer });
        params
    };
    // A consent to a call does not cover an install.
    extract(&scratch, "bob/other", "1.0.0");
    let other = client.result("tools/call", json!({ "name": "enact__install", "arguments": { "tool": "bob/other" } }));
    client.error("tools/call", with(yes(), &other["requestState"]));
    let called = client.result("tools/call", with(yes(), &asked["requestState"]));
    if !no_sandbox(&called) {
        assert_eq!(called["structuredContent"], json!({ "text": "doc.pdf" }), "{called}");
    }
    client.kill();
}

#[test]
fn a_client_without_forms_gets_the_command_for_a_person() {
    let scratch = distrusted();
    let mut client = Client::start(&scratch, &["--as", "enact"]).shake_hands("2025-06-18");
    let refused = client.result("tools/call", call());
    let error = &refused["_meta"]["mcpkg/error"];
    assert_eq!(error["code"], "E_CONSENT_REQUIRED", "{refused}");
    assert!(refused.get("structuredContent").is_none(), "an outputSchema is of what it puts out: {refused}");
    let id = error["details"]["consent"].as_str().expect("an id").to_owned();
    assert!(refused["content"][0]["text"].as_str().is_some_and(|text| text.contains(&id)), "{refused}");
    // A second call gets the same consent request.
    let again = client.result("tools/call", call());
    assert_eq!(again["_meta"]["mcpkg/error"]["details"]["consent"], id);
    assert_eq!(client.wait(std::time::Duration::ZERO), Wait::Nothing);
    let mut command = scratch.command();
    command.args(["consent", "approve", &id]);
    let Some((shown, done)) = at_a_terminal(&command, "y\n") else {
        return skipped("there is no script of util-linux");
    };
    assert!(done && shown.contains("alice/pdf/extract@1.2.0"), "{shown}");
    let called = client.result("tools/call", call());
    if !no_sandbox(&called) {
        assert_eq!(called["structuredContent"], json!({ "text": "doc.pdf" }), "{called}");
    }
    // A new archive needs a new consent.
    extract(&scratch, TOOL, "1.3.0");
    let refused = client.result("tools/call", verb("enact__learn", "1.3.0"));
    assert_eq!(code(&refused), "E_CONSENT_REQUIRED", "{refused}");
    assert_ne!(refused["structuredContent"]["error"]["details"]["consent"], id);
    client.finish();
}

#[test]
fn over_http_only_a_key_that_may_consent_can_answer() {
    let scratch = with_extract();
    let key = |more: &[&str]| scratch.ok(&[&["access", "create"], more].concat()).trim().to_owned();
    let (plain, desk) = (key(&["plain"]), key(&["desk", "--consent"]));
    let server = Http::start(&scratch, &["--as", "enact"]);
    let ask = |key: &str, params: Value| {
        let mut meta = modern_meta();
        meta[CAPABILITIES] = json!({ "elicitation": { "form": {} } });
        let request = http::modern("/mcp", "tools/call", params)
            .edited(|message| message["params"]["_meta"] = meta)
            .with("Authorization", &format!("Bearer {key}"));
        server.send(&request).message()["result"].take()
    };
    for key in [&plain, &desk] {
        assert_eq!(ask(key, verb("enact__install", "1.2.0"))["structuredContent"]["scope"], "key");
    }
    let listed = scratch.json(&["tool", "trust", "list"]);
    let identity = listed["trusted"][0]["identity"].as_str().expect("an identity").to_owned();
    scratch.ok(&["tool", "trust", "remove", &identity, "--yes"]);
    let refused = ask(&plain, call());
    let id = refused["_meta"]["mcpkg/error"]["details"]["consent"].clone();
    assert_eq!((code(&refused), id.is_string()), ("E_CONSENT_REQUIRED", true), "{refused}");
    // This key may not consent, so the server ignores an answer that comes with it.
    let with = |state: &Value| {
        let mut params = call();
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({ "consent": yes() });
        params
    };
    assert_eq!(code(&ask(&plain, with(&id))), "E_CONSENT_REQUIRED");
    let asked = ask(&desk, call());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let called = ask(&desk, with(&asked["requestState"]));
    if !no_sandbox(&called) {
        assert_eq!(called["structuredContent"], json!({ "text": "doc.pdf" }), "{called}");
    }
    // The consent covers the archive, whoever requested it.
    assert_ne!(code(&ask(&plain, call())), "E_CONSENT_REQUIRED");
}

#[test]
fn in_a_session_over_http_the_question_comes_in_the_stream_of_the_call() {
    let scratch = with_extract();
    let key = scratch.ok(&["access", "create", "desk", "--consent"]).trim().to_owned();
    let server = Http::start(&scratch, &["--as", "enact"]);
    let keyed = |request: Request| request.with("Authorization", &format!("Bearer {key}"));
    let hello = http::message("/mcp", &http::hello("2025-11-25"))
        .edited(|message| message["params"]["capabilities"] = json!({ "elicitation": { "form": {} } }));
    let begun = server.send(&keyed(hello));
    let id = begun.header("mcp-session-id").expect("a session").to_owned();
    let say = |message: &Value| keyed(http::message("/mcp", message).with("Mcp-Session-Id", &id));
    assert_eq!(server.send(&say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))).status, 202);
    let ask = |params: Value| keyed(http::in_session("/mcp", &id, "tools/call", params));
    let installed = server.send(&ask(verb("enact__install", "1.2.0"))).message();
    assert_eq!(installed["result"]["structuredContent"]["scope"], "key", "{installed}");
    let listed = scratch.json(&["tool", "trust", "list"]);
    let identity = listed["trusted"][0]["identity"].as_str().expect("an identity").to_owned();
    scratch.ok(&["tool", "trust", "remove", &identity, "--yes"]);
    let stream = server.open(&ask(call()));
    let question = stream.message();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes() });
    assert_eq!(server.send(&say(&answer)).status, 202);
    let called = stream.message()["result"].take();
    if !no_sandbox(&called) {
        assert_eq!(called["structuredContent"], json!({ "text": "doc.pdf" }), "{called}");
    }
}

#[test]
fn a_veto_refuses_a_call_under_every_policy() {
    for policy in ["require_attestation", "prompt", "allow"] {
        let scratch = with_extract();
        scratch.ok(&["tool", "install", TOOL]);
        match policy {
            "allow" => super::lists::allow(&scratch),
            policy => drop(scratch.ok(&["tool", "trust", "policy", policy])),
        }
        signed(&scratch, TOOL);
        scratch.ok(&["tool", "audit", TOOL, "--result", "failed"]);
        let mut client = with_forms(&scratch);
        for params in
            [call(), verb("enact__run", "1.2.0"), verb("enact__learn", "1.2.0"), verb("enact__install", "1.2.0")]
        {
            let refused = client.result("tools/call", params.clone());
            assert_eq!(code(&refused), "E_TRUST_FAILED", "{policy}: {params}: {refused}");
        }
        let listed = client.result("tools/call", json!({ "name": "enact__list", "arguments": {} }));
        assert_eq!(listed["structuredContent"]["tools"][0]["status"], "refused", "{listed}");
        client.finish();
    }
}
