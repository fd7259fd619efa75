//! Tests several callers that do the same thing at once, and databases that are restored during a run.

use std::sync::{Arc, Barrier};

use mcpkg_core::consent::request;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{WAITING, begun, requests_noted};
use crate::faults::assert_sound;
use crate::support::api::Trouble;
use crate::support::{Client, eventually};
use crate::workflow::runs::{Ground, code, create, execute, with_nonce};

#[test]
fn of_two_approvals_and_32_uses_in_four_servers_one_runs() {
    let ground = Ground::new();
    let mut clients: Vec<Client> =
        (0..4).map(|_| Client::start(&ground.scratch, &[]).shake_hands("2025-06-18")).collect();
    let asked = execute(&mut clients[0], create());
    let id = Uuid::parse_str(asked["error"]["details"]["consent"].as_str().expect("a request")).expect("an id");
    let together = Arc::new(Barrier::new(6));
    let used: Vec<Value> = std::thread::scope(|scope| {
        for _ in 0..2 {
            let (person, together) = (ground.person(), Arc::clone(&together));
            scope.spawn(move || {
                together.wait();
                // The second approval finds the request already approved or used.
                let shown = request::waiting(&person, id, person.clock.now());
                let _ = shown.and_then(|shown| request::approve(&person, &shown, None));
            });
        }
        let uses: Vec<_> = clients
            .iter_mut()
            .map(|client| {
                let (arguments, together) = (with_nonce(&create(), &asked), Arc::clone(&together));
                scope.spawn(move || {
                    together.wait();
                    let params = json!({ "name": "execute", "arguments": arguments });
                    let ids: Vec<i64> = (0..8).map(|_| client.post("tools/call", params.clone())).collect();
                    let answers = ids.iter().map(|id| client.answer(&json!(id))["result"]["structuredContent"].take());
                    answers.collect::<Vec<Value>>()
                })
            })
            .collect();
        uses.into_iter().flat_map(|uses| uses.join().expect("answers")).collect()
    });
    assert_eq!(used.len(), 32);
    let codes: Vec<&str> = used.iter().map(code).collect();
    assert_eq!(codes.iter().filter(|code| **code == "ok").count(), 1, "{codes:?}");
    for refused in codes.iter().filter(|code| **code != "ok") {
        assert!(matches!(*refused, "E_CONSENT_MISMATCH" | "E_CONSENT_EXPIRED" | "E_RATE_LIMITED"), "{codes:?}");
    }
    assert_eq!((ground.changes(), ground.api.apps()), (1, 1));
    assert_eq!(ground.run()["state"], "succeeded");
    clients.into_iter().for_each(Client::finish);
}

#[test]
fn a_run_whose_database_is_restored_stops_and_asks_before_it_goes_on() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = begun(&ground, &mut client, WAITING);
    eventually("it waits", || (ground.api.seen().len() >= 2).then_some(()));
    ground.scratch.ok(&["backup", "waiting.db"]);
    let noted = ground.api.seen().len();
    eventually("it goes on", || (ground.api.seen().len() >= noted + 3).then_some(()));
    ground.scratch.ok(&["restore", "waiting.db", "--while-serving", "--yes"]);
    let state = |id: &str| ground.scratch.json(&["workflow", "runs", id])["state"].clone();
    eventually("it stops", || (state(&id) == "interrupted").then_some(()));
    let sent = ground.api.seen().len();
    // With this answer of the API, the run would continue.
    let json = vec![("content-type", "application/json".to_owned())];
    ground.api.trouble([Trouble::Status(200, json, "[{\"id\": \"go\"}]")]);
    let told = client.result("tools/call", json!({ "name": "list_runs", "arguments": { "run": id } }));
    assert_eq!(told["structuredContent"]["state"], "interrupted", "{told}");
    // Nobody knows what the run did after the backup, so a person has to consent before it continues.
    let refused = ground.scratch.run(&["workflow", "resume", &id, "--yes"]);
    assert_eq!(refused.status, 1, "{refused}");
    assert!(refused.stderr.contains("consent"), "{refused}");
    assert_eq!((ground.api.seen().len(), ground.changes()), (sent, 0));
    client.finish();
    assert_sound(&ground.scratch);
}

#[test]
fn a_run_that_a_restored_database_does_not_know_writes_into_no_other() {
    let ground = Ground::new();
    ground.scratch.ok(&["backup", "before.db"]);
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    begun(&ground, &mut client, WAITING);
    eventually("it waits", || (ground.api.seen().len() >= 2).then_some(()));
    // The other database has its own run, and both runs have the same row number.
    let other = Ground::new();
    let mut asking = Client::start(&other.scratch, &[]).shake_hands("2025-06-18");
    begun(&other, &mut asking, WAITING);
    eventually("it waits", || (other.api.seen().len() >= 2).then_some(()));
    asking.kill();
    let before = other.run();
    other.scratch.ok(&["backup", "other.db"]);
    let backup = other.scratch.path().join("other.db").display().to_string();
    ground.scratch.ok(&["restore", &backup, "--while-serving", "--yes"]);
    let sent = eventually("nothing is sent any more", || {
        let sent = ground.api.seen().len();
        std::thread::sleep(std::time::Duration::from_millis(500));
        (ground.api.seen().len() == sent).then_some(sent)
    });
    let json = vec![("content-type", "application/json".to_owned())];
    ground.api.trouble([Trouble::Status(200, json, "[{\"id\": \"go\"}]")]);
    client.finish();
    let after = ground.run();
    assert_eq!(
        (&after["run"], requests_noted(&after), &after["state"]),
        (&before["run"], requests_noted(&before), &json!("interrupted"))
    );
    assert_eq!((ground.api.seen().len(), ground.changes()), (sent, 0));
    assert_sound(&ground.scratch);
}

#[test]
fn a_killed_run_whose_database_is_restored_sends_nothing_again_unasked() {
    const LAST: &str = "  - id: last
    run: hosting:apps:list
    depends_on: [make]
    repeat: { until: '${{ steps.last.output[0].id == \"never\" }}', every: 50ms, timeout: 10m, max_attempts: 10000 }
";
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = begun(&ground, &mut client, &format!("{WAITING}{LAST}"));
    eventually("it waits", || (ground.api.seen().len() >= 2).then_some(()));
    ground.scratch.ok(&["backup", "waiting.db"]);
    let json = vec![("content-type", "application/json".to_owned())];
    ground.api.trouble([Trouble::Status(200, json, "[{\"id\": \"go\"}]")]);
    eventually("it makes one", || (ground.changes() == 1).then_some(()));
    client.kill();
    ground.scratch.ok(&["restore", "waiting.db", "--yes"]);
    // The restored rows do not show that step `make` has already sent its request.
    assert_eq!(ground.run()["steps"][1]["state"], "pending");
    let sent = ground.api.seen().len();
    let refused = ground.scratch.run(&["workflow", "resume", &id, "--yes"]);
    assert!(refused.status == 1 && refused.stderr.contains("restored from a backup"), "{refused}");
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, json!({ "run": id, "wait_s": 0 }));
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    assert!(asked["error"]["details"]["effects"].to_string().contains("restored from a backup"), "{asked}");
    client.finish();
    assert_eq!((ground.api.seen().len(), ground.changes()), (sent, 1));
    // A person at a terminal sees that the database was restored, and can decline.
    let resume = mcpkg::DOMAINS.operations().find(|entry| entry.cli == ["workflow", "resume"] && entry.faces.shell());
    let asked = Arc::new(std::sync::Mutex::new(String::new()));
    let told = Arc::clone(&asked);
    let ask = move |body: mcpkg_core::op::Body, question: &str| {
        *told.lock().expect("a text") = format!("{body:?} {question}");
        Err(mcpkg_base::error::Error::new(mcpkg_base::error::Code::ConfirmRequired, "no"))
    };
    let person = mcpkg_core::op::Context { ask: Arc::new(ask), ..ground.person() };
    let call = resume.expect("an operation").from_agent(json!({ "run": id })).expect("arguments");
    assert!(call.run(&person).is_err());
    assert!(asked.lock().expect("a text").contains("restored from a backup"));
    assert_eq!((ground.api.seen().len(), ground.changes()), (sent, 1));
    assert_sound(&ground.scratch);
}
