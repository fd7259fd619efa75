//! Tests nonces. A nonce works only after a person approved, only once, and only for the caller and the plan that were
//! shown.

use std::sync::Arc;

use mcpkg_core::consent::nonce::{self, CallerNonce};
use mcpkg_core::consent::request::{self, Need};
use mcpkg_core::op::{Caller, Connection, Context, Effect, Identity};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

use super::{Ground, approved, code, create, execute, with_nonce};
use crate::support::{Client, Http, Request, Scratch, at_a_terminal, http, skipped};

fn kind(object: &Value) -> &str {
    object["error"]["details"]["mismatch_kind"].as_str().unwrap_or("none")
}

#[test]
fn a_nonce_is_good_once() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    let hint = asked["error"]["hint"].as_str().expect("what to do");
    assert!(hint.contains("call again with `nonce`") && !hint.contains("the same call"), "{asked}");
    ground.approve(&asked);
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "ok");
    let again = execute(&mut client, with_nonce(&create(), &asked));
    assert_eq!((code(&again), kind(&again)), ("E_CONSENT_MISMATCH", "consumed"), "{again}");
    assert_eq!(ground.changes(), 1);
    client.finish();
}

#[test]
fn a_nonce_is_bound_to_one_plan() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    ground.approve(&asked);
    let mut other = with_nonce(&create(), &asked);
    other["args"]["name"] = json!("prod");
    let refused = execute(&mut client, other);
    assert_eq!((code(&refused), kind(&refused)), ("E_CONSENT_MISMATCH", "plan_changed"), "{refused}");
    // The base URL changed, so the plan is not the approved one.
    ground.scratch.ok(&["catalog", "set", "hosting", "--base-url", "http://127.0.0.1:9/api/v1", "--yes"]);
    let moved = execute(&mut client, with_nonce(&create(), &asked));
    assert_eq!((code(&moved), kind(&moved)), ("E_CONSENT_MISMATCH", "plan_changed"), "{moved}");
    assert_eq!(ground.changes(), 0);
    client.finish();
}

#[test]
fn an_unknown_nonce_and_one_that_was_denied_or_withdrawn_run_nothing() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    let id = asked["error"]["details"]["consent"].as_str().expect("an id").to_owned();
    for wrong in ["", "x", "0.0", &id, &format!("{}.{}", id.replace('-', ""), "0".repeat(64))] {
        let refused =
            execute(&mut client, json!({ "command": "hosting:apps:create", "args": create()["args"], "nonce": wrong }));
        assert_eq!((code(&refused), kind(&refused)), ("E_CONSENT_MISMATCH", "unknown"), "{refused}");
    }
    ground.approve(&asked);
    ground.scratch.ok(&["consent", "deny", &id]);
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "E_CONSENT_DENIED");
    // mcpkg does not ask again after a denial.
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_DENIED");
    assert_eq!(ground.changes(), 0);
    client.finish();
}

#[test]
fn a_person_may_read_all_that_they_consent_to() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let name = format!("{}and-the-payload", "a".repeat(2_000));
    let asked =
        execute(&mut client, json!({ "command": "hosting:apps:create", "args": { "name": name, "region": "eu" } }));
    let details = &asked["error"]["details"];
    assert!(!details["effects"].to_string().contains("payload"), "{details}");
    let cut = details["effects"].to_string();
    assert!(cut.contains("name (2015 characters) = ") && cut.contains("… (1842 characters more)"), "{details}");
    let id = details["consent"].as_str().expect("a request");
    assert!(ground.scratch.ok(&["consent", "show", id]).contains(&name));
    let mut command = ground.scratch.command();
    command.args(["consent", "approve", id]);
    let Some((shown, done)) = at_a_terminal(&command, "n\n") else { return skipped("there is no script") };
    let before = shown.split("Consent to it?").next().expect("a beginning");
    assert!(!done && before.contains("name (2015 characters) = \"aaa") && before.contains("… (cut; "), "{shown}");
    // `v` shows the full text in a pager.
    command.env("PAGER", "cat");
    let (shown, _) = at_a_terminal(&command, "v\nn\n").expect("a terminal");
    assert!(shown.replace("\r\n↳ ", "").contains(&name), "{shown}");
    client.finish();
}

#[test]
fn a_nonce_of_another_caller_is_refused() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    ground.approve(&asked);
    let key = ground.scratch.json(&["access", "create", "ci", "--execute"])["key"].as_str().expect("a key").to_owned();
    let mut server = Http::start(&ground.scratch, &[]);
    let call = |arguments: Value| {
        let request = http::modern("/mcp", "tools/call", json!({ "name": "execute", "arguments": arguments }));
        let request: Request = request.with("authorization", &format!("Bearer {key}"));
        let answer = server.send(&request).message();
        answer["result"]["structuredContent"].clone()
    };
    let refused = call(with_nonce(&create(), &asked));
    assert_eq!((code(&refused), kind(&refused)), ("E_CONSENT_MISMATCH", "session_differs"), "{refused}");
    assert_eq!(ground.changes(), 0);
    server.kill();
    client.finish();
}

#[test]
fn a_key_runs_commands_only_where_it_was_made_for_it() {
    let ground = Ground::new();
    let key = ground.scratch.json(&["access", "create", "ci"])["key"].as_str().expect("a key").to_owned();
    let mut server = Http::start(&ground.scratch, &[]);
    let request = http::modern("/mcp", "tools/call", json!({ "name": "execute", "arguments": create() }));
    let answer = server.send(&request.with("authorization", &format!("Bearer {key}"))).message();
    assert_eq!(code(&answer["result"]["structuredContent"]), "E_EXECUTE_DENIED", "{answer}");
    server.kill();
}

/// Returns the context of a client that is connected over stdio.
fn agent(scratch: &Scratch) -> Context {
    let caller = Caller::client(Some("agent"), None, Connection::Stdio, Identity::Mcpkg);
    let context = scratch.context();
    Context { approved: scratch.approved(), ..Context::new(mcpkg::DOMAINS, caller, context.store, context.selection) }
}

fn need<'a>(inputs: &'a Value, hash: &'a str) -> Need<'a> {
    Need {
        operation: "execute",
        project: "",
        inputs,
        plan_hash: hash,
        summary: "Run it".to_owned(),
        effects: Vec::new(),
        effect: Effect::Write,
    }
}

#[test]
fn of_32_concurrent_uses_one_wins() {
    let scratch = Scratch::with_project_here();
    let agent = Arc::new(agent(&scratch));
    let inputs = json!({});
    let offered = nonce::ask(&agent, &need(&inputs, "h"), CallerNonce::Nothing).expect_err("it is asked for");
    let details = offered.details().expect("details").clone();
    let id = Uuid::parse_str(details["consent"].as_str().expect("an id")).expect("an id");
    approved(&agent, id, None);
    let nonce = details["nonce"].as_str().expect("a nonce").to_owned();
    let uses: Vec<_> = (0..32)
        .map(|_| {
            let (agent, nonce) = (Arc::clone(&agent), nonce.clone());
            std::thread::spawn(move || {
                let inputs = json!({});
                let consent = nonce::ask(&agent, &need(&inputs, "h"), CallerNonce::Nonce(&nonce, Duration::ZERO))?;
                agent.store.write(|db| consent.consume(&agent, db))
            })
        })
        .collect();
    let ended: Vec<_> = uses.into_iter().map(|used| used.join().expect("no panic")).collect();
    assert_eq!(ended.iter().filter(|used| used.is_ok()).count(), 1);
    for error in ended.into_iter().filter_map(Result::err) {
        let kind = error.details().expect("details")["mismatch_kind"].clone();
        assert_eq!((error.code().name(), &kind), ("E_CONSENT_MISMATCH", &json!("consumed")), "{error}");
    }
}

#[test]
fn a_nonce_counts_only_if_its_request_showed_what_is_done() {
    let scratch = Scratch::with_project_here();
    let (agent, inputs) = (agent(&scratch), json!({}));
    let offer = || nonce::ask(&agent, &need(&inputs, "h"), CallerNonce::Nothing).expect_err("it is asked for");
    let details = offer().details().expect("details").clone();
    let id = Uuid::parse_str(details["consent"].as_str().expect("an id")).expect("an id");
    scratch.change("UPDATE consent SET effects = '[\"GET https://example.com/\"]' WHERE needs = 'person'");
    approved(&agent, id, None);
    let held = CallerNonce::Nonce(details["nonce"].as_str().expect("a nonce"), Duration::ZERO);
    let refused = nonce::ask(&agent, &need(&inputs, "h"), held).expect_err("it shows something else");
    assert_eq!(refused.details().expect("details")["mismatch_kind"], "plan_changed", "{refused}");
    assert_ne!(offer().details().expect("details")["consent"], details["consent"]);
}

#[test]
fn a_nonce_expires_and_is_invalid_if_the_clock_goes_back() {
    let scratch = Scratch::with_project_here();
    let inputs = json!({});
    for by in [request::DECIDE_WITHIN + 1, -120_000] {
        let agent = Context { clock: mcpkg_base::clock::Clock::fixed(1_800_000_000_000), ..agent(&scratch) };
        let offered =
            nonce::ask(&agent, &need(&inputs, &by.to_string()), CallerNonce::Nothing).expect_err("it is asked for");
        let nonce = offered.details().expect("details")["nonce"].as_str().expect("a nonce").to_owned();
        agent.clock.advance(by);
        let held = CallerNonce::Nonce(&nonce, Duration::ZERO);
        let refused = nonce::ask(&agent, &need(&inputs, &by.to_string()), held).expect_err("it ran out");
        assert_eq!(refused.code().name(), "E_CONSENT_EXPIRED");
    }
}

#[test]
fn with_too_many_pending_requests_only_the_pending_ones_get_nonces() {
    let scratch = Scratch::with_project_here();
    scratch.ok(&["limit", "set", "consents", "--number", "2"]);
    let agent = agent(&scratch);
    let inputs = json!({});
    let ask = |hash: &str| nonce::ask(&agent, &need(&inputs, hash), CallerNonce::Nothing).expect_err("it is asked for");
    let details = |error: &mcpkg_base::error::Error| error.details().cloned().unwrap_or_default();
    let first = [ask("one"), ask("two")].map(|error| details(&error));
    let refused = ask("three");
    assert_eq!((refused.code().name(), &details(&refused)["nonce"]), ("E_TOO_MANY", &json!(null)), "{refused}");
    let list = scratch.json(&["consent", "list"]);
    assert_eq!(list["consents"].as_array().map(Vec::len), Some(2), "{list}");
    // A caller can always get another valid nonce for a pending request.
    for _ in 0..3 {
        let again = details(&ask("one"));
        assert_eq!(again["consent"], first[0]["consent"]);
        let nonce = again["nonce"].as_str().expect("a nonce").to_owned();
        assert_ne!(nonce, first[0]["nonce"].as_str().expect("a nonce"));
        let waits = nonce::ask(&agent, &need(&inputs, "one"), CallerNonce::Nonce(&nonce, Duration::ZERO))
            .expect_err("it waits");
        assert_eq!(waits.code().name(), "E_CONSENT_PENDING", "{waits}");
    }
}

#[test]
fn the_database_holds_no_nonce() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    let nonce = asked["error"]["details"]["nonce"].as_str().expect("a nonce").to_owned();
    let secret = nonce.split('.').nth(1).expect("a secret");
    client.finish();
    ground.scratch.ok(&["backup", "copy.db"]);
    let bytes = std::fs::read(ground.scratch.path().join("copy.db")).expect("the copy");
    assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    for shown in [&["consent", "list"][..], &["events"]] {
        assert!(!ground.scratch.ok(shown).contains(secret));
    }
}

#[test]
fn the_client_asks_its_user_in_both_eras() {
    let ground = Ground::new();
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    let mut client = Client::start(&ground.scratch, &[]);
    let info = json!({ "name": "test-client", "version": "1" });
    let capabilities = json!({ "elicitation": { "form": {} } });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info });
    client.result("initialize", hello);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let id = client.post("tools/call", json!({ "name": "execute", "arguments": create() }));
    let question = client.notification("elicitation/create");
    assert!(question["params"]["message"].as_str().is_some_and(|text| text.contains("POST http://")), "{question}");
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes }));
    let done = client.answer(&json!(id))["result"]["structuredContent"].take();
    assert_eq!(code(&done), "ok", "{done}");
    client.finish();

    let mut command = ground.scratch.command();
    command.args(["serve"]);
    let mut client = Client::modern_with(&mut command, json!({ "elicitation": { "form": {} } }));
    let mut params = json!({ "name": "execute", "arguments": create() });
    let asked = client.result("tools/call", params.clone());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ "consent": yes });
    params["arguments"]["wait_s"] = json!(20);
    let done = client.result("tools/call", params);
    assert_eq!(done["structuredContent"]["state"], "succeeded", "{done}");
    client.kill();
    assert_eq!(ground.changes(), 2);
}

#[test]
fn an_approval_without_a_record_on_this_machine_fails_at_once() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    ground.approve(&asked);
    std::fs::remove_dir_all(ground.scratch.state().join("mcpkg/approved/consents")).expect("the records");
    let began = std::time::Instant::now();
    let refused = execute(&mut client, with_nonce(&create(), &asked));
    assert_eq!(code(&refused), "E_CONSENT_EXPIRED", "{refused}");
    assert!(refused["error"]["message"].as_str().is_some_and(|why| why.contains("no record")), "{refused}");
    // A call that waits for a person takes twenty seconds.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(ground.changes(), 0);
    client.finish();
}

/// Starts a server over stdio. Its client does the handshake and supports forms.
fn with_forms(scratch: &Scratch) -> Client {
    let mut client = Client::start(scratch, &[]);
    let info = json!({ "name": "test-client", "version": "1" });
    let capabilities = json!({ "elicitation": { "form": {} } });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info });
    client.result("initialize", hello);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client
}

/// Starts a server over stdio. Its client supports forms and does no handshake.
fn modern_with_forms(scratch: &Scratch) -> Client {
    let mut command = scratch.command();
    command.args(["serve"]);
    Client::modern_with(&mut command, json!({ "elicitation": { "form": {} } }))
}

/// Calls `execute` as a client that supports forms, answers the form, and returns the result of the call.
fn answered(client: &mut Client, is_modern: bool, arguments: &Value, answer: &Value) -> Value {
    answered_after(client, is_modern, arguments, answer, || ())
}

/// Like [`answered`], but `meanwhile` happens while the question is open.
fn answered_after(
    client: &mut Client,
    is_modern: bool,
    arguments: &Value,
    answer: &Value,
    meanwhile: impl Fn(),
) -> Value {
    let mut params = json!({ "name": "execute", "arguments": arguments });
    let mut result = if is_modern {
        let asked = client.result("tools/call", params.clone());
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        meanwhile();
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({ "consent": answer });
        client.result("tools/call", params)
    } else {
        let id = client.post("tools/call", params);
        let question = client.notification("elicitation/create");
        meanwhile();
        client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
        client.answer(&json!(id))["result"].take()
    };
    result["structuredContent"].take()
}

/// Returns the id of the request, whatever its state. Fails if there is not exactly one.
#[track_caller]
fn only_request(ground: &Ground) -> String {
    let all = ground.scratch.json(&["consent", "list", "--all"]);
    let ids: Vec<&str> =
        all["consents"].as_array().expect("consents").iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids.len(), 1, "{all}");
    ids[0].to_owned()
}

/// Returns the id of the request and the nonce from the details of an error.
#[track_caller]
fn held(object: &Value) -> (String, String) {
    let details = &object["error"]["details"];
    let text = |key: &str| details[key].as_str().unwrap_or_else(|| panic!("no {key}: {object}")).to_owned();
    (text("consent"), text("nonce"))
}

#[test]
fn a_person_can_approve_at_a_terminal_what_the_client_left_unanswered() {
    for is_modern in [false, true] {
        for (action, code_of_call) in [
            ("cancel", if is_modern { "E_CONSENT_PENDING" } else { "E_CONSENT_REQUIRED" }),
            ("decline", "E_CONSENT_DENIED"),
        ] {
            for with_the_first in [true, false] {
                let ground = Ground::new();
                let mut client =
                    if is_modern { modern_with_forms(&ground.scratch) } else { with_forms(&ground.scratch) };
                let asked = answered(&mut client, is_modern, &create(), &json!({ "action": action }));
                assert_eq!(code(&asked), code_of_call, "{action}: {asked}");
                assert!(!asked.to_string().contains("the user denied the request"), "no person did: {asked}");
                let (id, _) = held(&asked);
                ground.approve(&asked);
                let again = match with_the_first {
                    true => asked,
                    // An agent that lost its nonce gets another one for the approved request.
                    false => execute(&mut client, create()),
                };
                assert_eq!((held(&again).0, only_request(&ground)), (id.clone(), id), "{again}");
                let done = execute(&mut client, with_nonce(&create(), &again));
                assert_eq!(code(&done), "ok", "{is_modern} {action}: {done}");
                assert_eq!(ground.changes(), 1);
                client.kill();
            }
        }
    }
}

#[test]
fn a_repeated_call_gets_another_nonce_for_the_same_request() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    let again = execute(&mut client, create());
    assert_eq!((code(&asked), code(&again)), ("E_CONSENT_REQUIRED", "E_CONSENT_REQUIRED"));
    let ((first, one), (second, other)) = (held(&asked), held(&again));
    assert!(first == second && one != other && only_request(&ground) == first, "{asked} {again}");
    for given in [&asked, &again] {
        let mut at_once = with_nonce(&create(), given);
        at_once["wait_s"] = json!(0);
        let pending = execute(&mut client, at_once);
        assert_eq!((code(&pending), held(&pending)), ("E_CONSENT_PENDING", held(given)), "{pending}");
    }
    // A nonce that was given for another command does not work for this command.
    let read = execute(&mut client, json!({ "command": "hosting:apps:list" }));
    ground.approve(&asked);
    let mixed = execute(&mut client, with_nonce(&create(), &read));
    assert_eq!((code(&mixed), kind(&mixed)), ("E_CONSENT_MISMATCH", "plan_changed"), "{mixed}");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &again))), "ok");
    let used = execute(&mut client, with_nonce(&create(), &asked));
    assert_eq!((code(&used), kind(&used)), ("E_CONSENT_MISMATCH", "consumed"), "{used}");
    // The next call needs a new consent.
    let next = execute(&mut client, create());
    assert!(code(&next) == "E_CONSENT_REQUIRED" && held(&next).0 != first, "{next}");
    assert_eq!(ground.changes(), 1);
    client.finish();
}

#[test]
fn a_client_that_declined_is_not_asked_again_and_a_person_can_still_say_no() {
    let ground = Ground::new();
    let mut client = with_forms(&ground.scratch);
    let asked = answered(&mut client, false, &create(), &json!({ "action": "decline" }));
    let shown = ground.scratch.ok(&["consent", "show", &held(&asked).0]);
    assert!(shown.contains("pending, declined by its client"), "{shown}");
    let again = execute(&mut client, create());
    assert_eq!((code(&again), held(&again).0), ("E_CONSENT_REQUIRED", held(&asked).0), "{again}");
    ground.scratch.ok(&["consent", "deny", &held(&asked).0]);
    let denied = execute(&mut client, create());
    assert!(
        code(&denied) == "E_CONSENT_DENIED" && denied.to_string().contains("the user denied the request"),
        "{denied}"
    );
    client.finish();
}

#[test]
fn a_no_in_the_form_is_a_persons_and_holds_until_they_change_their_mind() {
    let no = json!({ "action": "accept", "content": { "approve": false } });
    for is_modern in [false, true] {
        let ground = Ground::new();
        let mut client = if is_modern { modern_with_forms(&ground.scratch) } else { with_forms(&ground.scratch) };
        let denied = answered(&mut client, is_modern, &create(), &no);
        assert!(
            code(&denied) == "E_CONSENT_DENIED" && denied.to_string().contains("the user denied the request"),
            "{denied}"
        );
        let again = execute(&mut client, create());
        assert_eq!((code(&again), held(&again).0), ("E_CONSENT_DENIED", held(&denied).0), "{again}");
        assert_eq!(code(&execute(&mut client, with_nonce(&create(), &again))), "E_CONSENT_DENIED");
        ground.approve(&denied);
        assert_eq!(code(&execute(&mut client, with_nonce(&create(), &again))), "ok");
        assert_eq!((ground.changes(), only_request(&ground)), (1, held(&denied).0));
        client.kill();
    }
}

#[test]
fn of_16_concurrent_calls_one_request_is_stored() {
    let scratch = Scratch::with_project_here();
    let agent = Arc::new(agent(&scratch));
    let asks: Vec<_> = (0..16)
        .map(|_| {
            let agent = Arc::clone(&agent);
            std::thread::spawn(move || {
                let inputs = json!({});
                let asked = nonce::ask(&agent, &need(&inputs, "h"), CallerNonce::Nothing).expect_err("it is asked for");
                let details = asked.details().expect("details");
                (details["consent"].clone(), details["nonce"].clone())
            })
        })
        .collect();
    let given: Vec<(Value, Value)> = asks.into_iter().map(|asked| asked.join().expect("no panic")).collect();
    assert!(given.iter().all(|(id, _)| *id == given[0].0), "{given:?}");
    let nonces: std::collections::HashSet<String> = given.iter().map(|(_, nonce)| nonce.to_string()).collect();
    assert_eq!(nonces.len(), 16);
}

#[test]
fn a_yes_in_the_form_does_not_take_back_a_no_that_came_first() {
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    for is_modern in [false, true] {
        let ground = Ground::new();
        let mut client = if is_modern { modern_with_forms(&ground.scratch) } else { with_forms(&ground.scratch) };
        let denied = answered_after(&mut client, is_modern, &create(), &yes, || {
            let id = only_request(&ground);
            ground.scratch.ok(&["consent", "deny", &id, "--note", "use another name"]);
        });
        assert!(code(&denied) == "E_CONSENT_DENIED" && denied.to_string().contains("use another name"), "{denied}");
        assert_eq!(ground.changes(), 0);
        client.kill();
    }
}
