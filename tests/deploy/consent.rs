//! Tests how a person consents: in the shell, through the client over stdio with and without a handshake, and over HTTP
//! with a key that may consent.

use serde_json::{Value, json};

use crate::deploy::answers::{checked, tool_refused, word};
use crate::deploy::place::Place;
use crate::support::{Client, Http, Wait, at_a_terminal, http, modern_meta, skipped};

/// Returns a place whose deploy is known only from the database, as if another user had deployed there.
fn foreign() -> Place {
    let place = Place::with_project();
    place.deploy(&[]);
    std::fs::remove_dir_all(place.scratch.state().join("mcpkg/approved/roots")).expect("this user's records");
    place
}

fn rollback() -> Value {
    json!({ "name": "rollback", "arguments": { "to": "pristine", "yes": true } })
}

/// Starts a server over stdio for a client that shakes hands and supports forms.
fn with_forms(place: &Place) -> Client {
    let mut client = Client::spawn(place.command().arg("serve"));
    let info = json!({ "name": "test-client", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": { "form": {} } }, "clientInfo": info });
    client.result("initialize", hello);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client
}

/// Adds to a call's parameters what a client of protocol 2026-07-28 sends if it supports forms.
fn modern(mut params: Value) -> Value {
    params["_meta"] = modern_meta();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "form": {} } });
    params
}

fn consents(place: &Place, state: &str) -> usize {
    let data = place.scratch.json(&["consent", "list", "--all"]);
    data["consents"].as_array().expect("consents").iter().filter(|consent| consent["state"] == state).count()
}

#[test]
fn a_request_is_listed_approved_at_a_terminal_and_used_once() {
    let place = foreign();
    let before = place.tree();
    let mut client = place.server(&[]);
    let error = tool_refused(&mut client, "rollback", rollback()["arguments"].clone(), "E_CONSENT_REQUIRED");
    assert_eq!(place.tree(), before);
    let id = word(&error["details"]["consent"]).to_owned();
    assert_eq!(error["details"]["command"], format!("mcpkg consent approve {id}"), "{error:#}");
    let listed = place.ok(&["consent", "list"]);
    assert!(listed.contains(&id[id.len() - 12..]) && listed.contains("mcp:test-client"), "{listed}");
    let shown = place.ok(&["consent", "show", &id[id.len() - 8..]]);
    assert!(shown.contains("delete ") && shown.contains(".claude/commands/review.md"), "{shown}");
    // Without a terminal nobody can consent, not even with --yes.
    for arguments in [&["consent", "approve", &id][..], &["consent", "approve", &id, "--yes"]] {
        let ran = place.run(arguments);
        assert!(ran.status == 1 && ran.stderr.contains("Only a person at a terminal can consent"), "{ran}");
    }
    let approve = |typed: &str, more: &[&str]| {
        let mut command = place.command();
        command.args(["consent", "approve", &id]).args(more);
        at_a_terminal(&command, typed)
    };
    let Some((said, ok)) = approve("n\n", &[]) else { return skipped("there is no script(1)") };
    assert!(!ok && said.contains("Consent to it?") && said.contains("review.md"), "{said}");
    let (said, ok) = approve("y\n", &["--yes"]).expect("script");
    assert!(!ok && said.contains("Only a person at a terminal can consent"), "{said}");
    tool_refused(&mut client, "rollback", rollback()["arguments"].clone(), "E_CONSENT_REQUIRED");
    let (said, ok) = approve("y\n", &[]).expect("script");
    assert!(ok && said.contains("Approved: "), "{said}");
    let result = client.result("tools/call", rollback());
    assert_eq!(checked("rollback", &result)["ok"], true, "{result:#}");
    assert_ne!(place.tree(), before);
    assert_eq!((consents(&place, "consumed"), consents(&place, "pending")), (1, 0));
    let (said, ok) = approve("y\n", &[]).expect("script");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!ok && said.contains("was already used"), "{said}");
    client.finish();
}

#[test]
fn a_denied_request_stays_denied() {
    let place = foreign();
    let before = place.tree();
    let mut client = place.server(&[]);
    let error = tool_refused(&mut client, "rollback", rollback()["arguments"].clone(), "E_CONSENT_REQUIRED");
    place.ok(&["consent", "deny", word(&error["details"]["consent"])]);
    tool_refused(&mut client, "rollback", rollback()["arguments"].clone(), "E_CONSENT_DENIED");
    assert_eq!(place.tree(), before);
    client.finish();
}

#[test]
fn a_client_with_a_handshake_asks_its_user_within_the_call() {
    for (answer, code) in [
        (json!({ "action": "decline" }), Some("E_CONSENT_DENIED")),
        (json!({ "action": "cancel" }), Some("E_CONSENT_REQUIRED")),
        (json!({ "action": "accept", "content": { "approve": true } }), None),
    ] {
        let place = foreign();
        let before = place.tree();
        let mut client = with_forms(&place);
        let id = client.post("tools/call", rollback());
        let question = client.notification("elicitation/create");
        let message = word(&question["params"]["message"]);
        assert!(message.contains("Roll back to pristine") && message.contains("review.md"), "{message}");
        assert_eq!(question["params"]["requestedSchema"]["required"], json!(["approve"]), "{question:#}");
        // While the person thinks, the client's other calls are answered.
        client.result("prompts/list", json!({}));
        assert_eq!(place.tree(), before);
        client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
        let answered = client.answer(&json!(id));
        let envelope = checked("rollback", &answered["result"]);
        match code {
            Some(code) => {
                assert_eq!(envelope["errors"][0]["code"], code, "{envelope:#}");
                assert_eq!(place.tree(), before);
            }
            None => assert_eq!(envelope["ok"], true, "{envelope:#}"),
        }
        client.finish();
    }
}

#[test]
fn a_client_without_a_handshake_calls_again_with_its_users_answer() {
    let place = foreign();
    let before = place.tree();
    let mut client = Client::spawn(place.command().arg("serve"));
    let asked = client.result("tools/call", modern(rollback()));
    assert_eq!(asked["resultType"], "input_required", "{asked:#}");
    let question = &asked["inputRequests"]["consent"];
    assert_eq!(question["method"], "elicitation/create", "{asked:#}");
    assert!(word(&question["params"]["message"]).contains("review.md"), "{asked:#}");
    let answered = |state: &Value, answer: Value| {
        let mut params = modern(rollback());
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({ "consent": answer });
        params
    };
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    let (id, _) = word(&asked["requestState"]).split_once('.').expect("an id and a hash");
    let strange = [
        "nonsense".to_owned(),
        "0199c0de-7d1c-7b3a-9d5e-3f2a1b4c5d6e".to_owned(),
        id.to_owned(),
        format!("{id}.{}", "0".repeat(64)),
    ];
    for state in strange {
        client.error("tools/call", answered(&json!(state), yes.clone()));
    }
    assert_eq!((consents(&place, "approved"), place.tree()), (0, before.clone()));
    // If the user closes the form, the same call does not ask again.
    let closed = client.result("tools/call", answered(&asked["requestState"], json!({ "action": "cancel" })));
    assert_eq!(checked("rollback", &closed)["errors"][0]["code"], "E_CONSENT_REQUIRED");
    assert_eq!(place.tree(), before);
    let done = client.result("tools/call", answered(&asked["requestState"], yes.clone()));
    assert_eq!(checked("rollback", &done)["ok"], true, "{done:#}");
    assert_ne!(place.tree(), before);
    // The answer can be used only once.
    client.error("tools/call", answered(&asked["requestState"], yes));
    client.finish();
}

#[test]
fn a_yes_in_a_form_approves_the_request_that_the_form_showed() {
    let place = foreign();
    let before = place.tree();
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    let mut client = Client::spawn(place.command().arg("serve"));
    let asked = client.result("tools/call", modern(rollback()));
    place.scratch.change("UPDATE consent SET summary = 'Another'");
    let mut params = modern(rollback());
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ "consent": yes });
    let error = client.error("tools/call", params);
    assert!(word(&error["message"]).contains("has changed since it was shown"), "{error:#}");
    client.finish();
    // A client with a handshake is asked again, because the first request does not show what the rollback does.
    let mut client = with_forms(&place);
    let id = client.post("tools/call", rollback());
    let question = client.notification("elicitation/create");
    assert!(word(&question["params"]["message"]).contains("Roll back"), "{question:#}");
    place.scratch.change("UPDATE consent SET summary = 'Another'");
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes }));
    let error = client.answer(&json!(id));
    assert!(word(&error["error"]["message"]).contains("has changed since it was shown"), "{error:#}");
    client.finish();
    assert_eq!((consents(&place, "approved"), place.tree()), (0, before));
}

#[test]
fn an_apply_without_a_token_asks_the_user_if_the_client_supports_it() {
    let place = Place::with_project();
    let before = place.tree();
    let apply = json!({ "name": "deploy_apply", "arguments": { "yes": true } });
    let mut client = with_forms(&place);
    let id = client.post("tools/call", apply.clone());
    let question = client.notification("elicitation/create");
    assert!(word(&question["params"]["message"]).contains("create "), "{question:#}");
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes }));
    let envelope = checked("deploy_apply", &client.answer(&json!(id))["result"]);
    assert_eq!(envelope["data"]["applied"], true, "{envelope:#}");
    assert_ne!(place.tree(), before);
    // The deploy contract (000) requires `yes`. Without it, the call is refused before anybody is asked.
    let refused = client.result("tools/call", json!({ "name": "deploy_apply", "arguments": {} }));
    assert_eq!(checked("deploy_apply", &refused)["errors"][0]["code"], "E_CONFIRM_REQUIRED");
    client.finish();
    // A client that does not support forms gets the usual error.
    let mut client = place.server(&[]);
    tool_refused(&mut client, "deploy_apply", json!({ "yes": true }), "E_CONFIRM_TOKEN_REQUIRED");
    assert_eq!(client.wait(std::time::Duration::ZERO), Wait::Nothing);
    client.finish();
}

#[test]
fn over_http_only_a_key_that_may_consent_can_answer() {
    let place = foreign();
    let before = place.tree();
    let key = |more: &[&str]| place.ok(&[&["access", "create"], more].concat()).trim().to_owned();
    let (plain, trusted) = (key(&["plain"]), key(&["desk", "--consent"]));
    let ran = place.run(&["access", "create", "x", "--consent", "--read-only"]);
    assert_eq!(ran.status, 2, "{ran}");
    // The state that the client sends back works with every server of the database.
    let serve = || Http::spawn(place.command().args(["--json", "serve", "--http", "--port", "0"]));
    let (servers, turn) = ([serve(), serve()], std::cell::Cell::new(0));
    let call = |key: &str, more: Value| {
        turn.set(1 - turn.get());
        let server = &servers[turn.get()];
        let mut params = rollback();
        for (name, value) in more.as_object().expect("members") {
            params[name] = value.clone();
        }
        let request = http::modern("/mcp", "tools/call", params)
            .edited(|message| message["params"] = modern(message["params"].take()))
            .with("Authorization", &format!("Bearer {key}"));
        server.send(&request).message()
    };
    let yes = json!({ "consent": { "action": "accept", "content": { "approve": true } } });
    let refused = call(&plain, json!({}));
    let error = checked("rollback", &refused["result"])["errors"][0].clone();
    assert_eq!(error["code"], "E_CONSENT_REQUIRED", "{refused:#}");
    let id = error["details"]["consent"].clone();
    // An answer is ignored if the key may not consent. It is refused if the request belongs to another key.
    let posted = call(&plain, json!({ "requestState": id, "inputResponses": yes }));
    assert_eq!(checked("rollback", &posted["result"])["errors"][0]["code"], "E_CONSENT_REQUIRED", "{posted:#}");
    let other = format!("{}.{}", word(&id), "0".repeat(64));
    let posted = call(&trusted, json!({ "requestState": other, "inputResponses": yes }));
    assert!(word(&posted["error"]["message"]).contains("does not exist"), "{posted:#}");
    assert_eq!((consents(&place, "approved"), place.tree()), (0, before.clone()));
    let asked = call(&trusted, json!({}));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked:#}");
    let state = asked["result"]["requestState"].clone();
    let done = call(&trusted, json!({ "requestState": state, "inputResponses": yes }));
    assert_eq!(checked("rollback", &done["result"])["ok"], true, "{done:#}");
    assert_ne!(place.tree(), before);
}

#[test]
fn a_read_only_key_sees_the_plan_but_gets_no_token() {
    let place = Place::with_project();
    let key = place.ok(&["access", "create", "eyes", "--read-only"]).trim().to_owned();
    let server = Http::spawn(place.command().args(["--json", "serve", "--http", "--port", "0"]));
    let call = http::modern("/mcp", "tools/call", json!({ "name": "deploy", "arguments": {} }));
    let answer = server.send(&call.with("Authorization", &format!("Bearer {key}"))).message();
    let envelope = checked("deploy", &answer["result"]);
    assert_eq!(envelope["ok"], true, "{envelope:#}");
    assert!(envelope["data"]["changes"].as_array().is_some_and(|changes| !changes.is_empty()), "{envelope:#}");
    assert!(envelope["data"].get("confirm_token").is_none(), "{envelope:#}");
}
