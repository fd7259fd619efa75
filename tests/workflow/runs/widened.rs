//! Tests consents that a person widened to all reads of one catalog, for one caller and a limited time.

use std::sync::Arc;

use mcpkg_base::approved::Kind;
use mcpkg_console::action::Invocation;
use mcpkg_core::consent::widened;
use mcpkg_core::op::{Ask, Context};
use mcpkg_store::consents;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Ground, code, create, execute};
use crate::support::Client;

const HOUR: i64 = 60 * 60_000;

fn list() -> Value {
    json!({ "command": "hosting:apps:list" })
}

/// Widens, as a person, the consent request in the error `asked`.
fn widen(ground: &Ground, asked: &Value, span: i64) -> Uuid {
    let id = asked["error"]["details"]["consent"].as_str().expect("a request");
    let id = Uuid::parse_str(id).expect("an id");
    let person = ground.person();
    let request = person.store.read(|db| consents::get(db, id)).expect("rows").expect("a request");
    let base_url = widened::base_url(&person, "hosting").expect("a catalog");
    widened::widen(&person, &request, "hosting", base_url.as_deref(), span).expect("it is widened");
    id
}

#[test]
fn a_widened_consent_covers_only_reads_of_the_catalog_by_its_caller() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, list());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "never by default: {asked}");
    let id = widen(&ground, &asked, HOUR);
    let done = execute(&mut client, list());
    assert_eq!((code(&done), &done["final_output"]), ("ok", &json!([])), "{done}");
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_REQUIRED");
    let text = "workflow: w\nsteps:\n  - id: a\n    run: hosting:apps:list\n  - id: b\n    run: mcpkg:prompt:list\n";
    assert_eq!(code(&execute(&mut client, json!({ "yaml": text }))), "E_CONSENT_REQUIRED", "not of that catalog alone");
    let trail = ground.scratch.ok(&["events"]);
    assert!(trail.contains("consent.widen") && trail.contains("consent.reads"), "{trail}");
    // In another project, the same read still needs consent.
    ground.scratch.ok(&["project", "create", "other"]);
    let mut other = Client::start(&ground.scratch, &["--project", "other"]).shake_hands("2025-06-18");
    assert_eq!(code(&execute(&mut other, list())), "E_CONSENT_REQUIRED");
    other.finish();
    // The lists show the consent while it is valid, and how to withdraw it.
    let end = &id.to_string()[24..];
    for shown in [ground.scratch.ok(&["consent", "list"]), ground.scratch.ok(&["consent", "show", end])] {
        assert!(shown.contains("can read from 'hosting' without asking until") && shown.contains(end), "{shown}");
    }
    assert_eq!(ground.scratch.json(&["consent", "list"])["reads"][0]["catalog"], "hosting");
    ground.scratch.ok(&["consent", "deny", &id.to_string()]);
    assert_eq!(code(&execute(&mut client, list())), "E_CONSENT_DENIED", "it is taken back");
    assert_eq!(ground.scratch.json(&["consent", "show", end])["reads"], json!([]));
    assert!(!ground.scratch.ok(&["consent", "list", "--all"]).contains("unasked"));
    client.finish();
}

#[test]
fn a_widened_consent_ends_by_the_clock_and_with_the_address() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, list());
    widen(&ground, &asked, HOUR);
    assert_eq!(code(&execute(&mut client, list())), "ok");
    // First the hour is over. Then the clock has gone back to before the hour began.
    let approved = ground.scratch.approved();
    let (sha256, note) = approved.all(Kind::Reads).expect("records").pop().expect("one");
    let now = ground.person().clock.now();
    for (begins, ends) in [(now - 2 * HOUR, now - HOUR), (now + HOUR, now + 2 * HOUR)] {
        let mut moved = note.clone();
        (moved["approved_at"], moved["expires_at"]) = (json!(begins), json!(ends));
        approved.put(Kind::Reads, &sha256, &moved).expect("a record");
        assert_eq!(code(&execute(&mut client, list())), "E_CONSENT_REQUIRED");
    }
    approved.put(Kind::Reads, &sha256, &note).expect("a record");
    assert_eq!(code(&execute(&mut client, list())), "ok");
    ground.scratch.ok(&["catalog", "set", "hosting", "--base-url", "http://127.0.0.1:9/api/v1", "--yes"]);
    assert_eq!(code(&execute(&mut client, list())), "E_CONSENT_REQUIRED");
    client.finish();
}

#[test]
fn a_consent_is_widened_to_the_address_that_the_question_showed() {
    let ground = Arc::new(Ground::new());
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, list());
    let id = asked["error"]["details"]["consent"].as_str().expect("a request");
    // The catalog moves while the question is open.
    let moving = Arc::clone(&ground);
    let ask: Arc<Ask> = Arc::new(move |_, question| {
        assert!(question.contains("http://127.0.0.1"), "{question}");
        moving.scratch.change("UPDATE catalog SET base_url = 'http://localhost:1'");
        Ok(())
    });
    let person = Context { ask, ..ground.person() };
    let approve = Invocation::new("consent approve").with(id).option("--reads", "hosting").option("--for", "1h");
    approve.run(&person).expect("it is approved");
    let records = person.approved.all(Kind::Reads).expect("records");
    assert_eq!(records.len(), 1);
    let base_url = records[0].1["base_url"].as_str().unwrap_or_default();
    assert!(base_url.starts_with("http://127.0.0.1"), "{base_url}");
    let refused = execute(&mut client, json!({ "command": "hosting:apps:list", "wait_s": 1 }));
    assert_ne!(code(&refused), "ok", "{refused}");
    client.kill();
}

#[test]
fn only_a_person_at_a_terminal_widens_a_consent_for_a_day_at_most() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, list());
    client.finish();
    let id = asked["error"]["details"]["consent"].as_str().expect("a request");
    let approve = ["consent", "approve", id, "--reads", "hosting", "--for", "1h"];
    for yes in [&[][..], &["--yes"]] {
        let refused = ground.scratch.run(&[&approve[..], yes].concat());
        assert!(refused.status != 0 && refused.stderr.contains("--yes does not apply"), "{refused}");
    }
    for half in [&approve[..5], &[&approve[..3], &["--for", "1h"]].concat(), &[&approve[..6], &["soon"]].concat()] {
        assert_eq!(ground.scratch.run(half).status, 2, "{half:?}");
    }
    assert!(ground.scratch.approved().all(Kind::Reads).expect("records").is_empty());
    let person = ground.person();
    let uuid = Uuid::parse_str(id).expect("an id");
    let request = person.store.read(|db| consents::get(db, uuid)).expect("rows").expect("a request");
    assert!(widened::widen(&person, &request, "hosting", None, 25 * HOUR).is_err());
    assert!(widened::base_url(&person, "gone").is_err());
    assert!(widened::widen(&ground.scratch.context(), &request, "hosting", None, HOUR).is_err());
    let mut command = ground.scratch.command();
    command.args(approve);
    let Some((shown, ended_well)) = crate::support::at_a_terminal(&command, "y\n") else {
        return crate::support::skipped("there is no script of util-linux");
    };
    assert!(ended_well && shown.contains("for 1h, to everything that every agent without an access"), "{shown}");
    assert_eq!(ground.scratch.approved().all(Kind::Reads).expect("records").len(), 1);
}
