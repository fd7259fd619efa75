//! The nonce: dead until a person approves, good once, for who asked and for the plan that was shown.

use std::sync::Arc;

use mcpkg::consent::nonce::{self, Held};
use mcpkg::consent::request::{self, Need};
use mcpkg::op::{Caller, Connection, Context, Identity};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

use super::{Ground, code, create, execute, with_nonce};
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
fn a_nonce_is_of_one_plan() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    ground.approve(&asked);
    let mut other = with_nonce(&create(), &asked);
    other["args"]["name"] = json!("prod");
    let refused = execute(&mut client, other);
    assert_eq!((code(&refused), kind(&refused)), ("E_CONSENT_MISMATCH", "plan_changed"), "{refused}");
    // The API is served elsewhere now: what was approved was another plan.
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
    // Who said no is not asked again.
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_DENIED");
    assert_eq!(ground.changes(), 0);
    client.finish();
}

#[test]
fn a_person_reads_all_that_they_consent_to() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let name = format!("{}and-the-payload", "a".repeat(2_000));
    let asked =
        execute(&mut client, json!({ "command": "hosting:apps:create", "args": { "name": name, "region": "eu" } }));
    let details = &asked["error"]["details"];
    assert!(!details["effects"].to_string().contains("payload"), "{details}");
    assert!(details["effects"].to_string().contains("… (2022 characters)"), "{details}");
    let id = details["consent"].as_str().expect("a request");
    assert!(ground.scratch.ok(&["consent", "show", id]).contains(&name));
    let mut command = ground.scratch.command();
    command.args(["consent", "approve", id]);
    let Some((shown, done)) = at_a_terminal(&command, "n\n") else { return skipped("there is no script") };
    let before = shown.split("Consent to it?").next().expect("a beginning").replace(['\r', '\n'], "");
    assert!(!done && before.contains(&name), "{shown}");
    client.finish();
}

#[test]
fn a_nonce_of_another_asker_is_refused() {
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

/// The caller of a server over stdio.
fn agent(scratch: &Scratch) -> Context {
    let caller = Caller::client(Some("agent"), None, Connection::Stdio, Identity::Mcpkg);
    let context = scratch.context();
    Context { approved: scratch.approved(), ..Context::new(caller, context.store, context.selection) }
}

fn need<'a>(inputs: &'a Value, hash: &'a str) -> Need<'a> {
    Need {
        operation: "execute",
        project: "",
        inputs,
        plan_hash: hash,
        summary: "Run it".to_owned(),
        effects: Vec::new(),
    }
}

#[test]
fn of_32_uses_at_once_one_wins() {
    let scratch = Scratch::with_project_here();
    let agent = Arc::new(agent(&scratch));
    let inputs = json!({});
    let offered = nonce::ask(&agent, &need(&inputs, "h"), Held::Nothing).expect_err("it is asked for");
    let details = offered.details().expect("details").clone();
    let id = Uuid::parse_str(details["consent"].as_str().expect("an id")).expect("an id");
    request::approve(&agent, id).expect("a client over stdio is trusted with it");
    let nonce = details["nonce"].as_str().expect("a nonce").to_owned();
    let uses: Vec<_> = (0..32)
        .map(|_| {
            let (agent, nonce) = (Arc::clone(&agent), nonce.clone());
            std::thread::spawn(move || {
                let inputs = json!({});
                let consent = nonce::ask(&agent, &need(&inputs, "h"), Held::Nonce(&nonce, Duration::ZERO))?;
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
fn a_nonce_ends_with_its_time_and_where_the_clock_goes_back() {
    let scratch = Scratch::with_project_here();
    let inputs = json!({});
    for by in [request::DECIDE_WITHIN + 1, -120_000] {
        let agent = Context { clock: mcpkg::clock::Clock::fixed(1_800_000_000_000), ..agent(&scratch) };
        let offered = nonce::ask(&agent, &need(&inputs, &by.to_string()), Held::Nothing).expect_err("it is asked for");
        let nonce = offered.details().expect("details")["nonce"].as_str().expect("a nonce").to_owned();
        agent.clock.advance(by);
        let held = Held::Nonce(&nonce, Duration::ZERO);
        let refused = nonce::ask(&agent, &need(&inputs, &by.to_string()), held).expect_err("it ran out");
        assert_eq!(refused.code().name(), "E_CONSENT_EXPIRED");
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
fn an_approval_of_which_this_machine_has_no_record_is_told_at_once() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    ground.approve(&asked);
    std::fs::remove_dir_all(ground.scratch.state().join("mcpkg/approved/consents")).expect("the records");
    let began = std::time::Instant::now();
    let refused = execute(&mut client, with_nonce(&create(), &asked));
    assert_eq!(code(&refused), "E_CONSENT_EXPIRED", "{refused}");
    assert!(refused["error"]["message"].as_str().is_some_and(|why| why.contains("no record")), "{refused}");
    // Twenty seconds would be waited for a person.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(ground.changes(), 0);
    client.finish();
}
