//! Tests that the agent receives the note of the person who approved or denied its request.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Ground, approved, code, create, execute, with_nonce};
use crate::support::{Client, at_a_terminal, skipped};

/// A note that tries to forge a quotation mark and contains an invisible character.
const NOTE: &str = "use \"app_7f3\" <3 spaces>\u{202e}";
const QUOTED: &str = r#""use \"app_7f3\" <3 spaces>" <U+202E right-to-left>"#;

fn id(asked: &Value) -> String {
    asked["error"]["details"]["consent"].as_str().unwrap_or_else(|| panic!("no request: {asked}")).to_owned()
}

#[test]
fn a_denial_says_why_to_the_agent() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    ground.scratch.ok(&["consent", "deny", &id(&asked)]);
    let plain = execute(&mut client, with_nonce(&create(), &asked));
    assert!(plain["error"]["details"].get("note").is_none(), "{plain}");
    // A later note replaces the earlier one.
    for note in ["not now", NOTE] {
        ground.scratch.ok(&["consent", "deny", &id(&asked), "--note", note]);
        for arguments in [with_nonce(&create(), &asked), create()] {
            let denied = execute(&mut client, arguments);
            assert_eq!((code(&denied), &denied["error"]["details"]["note"]), ("E_CONSENT_DENIED", &json!(note)));
            let message = denied["error"]["message"].as_str().expect("a message");
            let quoted = if note == NOTE { QUOTED.to_owned() } else { format!("{note:?}") };
            assert!(message.ends_with(&format!(": denied: {quoted}; nothing was changed")), "{message}");
        }
    }
    let shown = ground.scratch.ok(&["consent", "show", &id(&asked)]);
    assert!(shown.contains(&format!("\nnote: {QUOTED}\n")), "{shown}");
    assert_eq!(ground.scratch.json(&["consent", "show", &id(&asked)])["note"], NOTE);
    for (note, why) in [("x".repeat(1_001), "the limit is 1000"), (" ".to_owned(), "")] {
        let ran = ground.scratch.run(&["consent", "deny", &id(&asked), "--note", &note]);
        assert!((ran.status == 0) == why.is_empty() && ran.stderr.contains(why), "{ran}");
    }
    assert_eq!(ground.changes(), 0);
    client.finish();
}

#[test]
fn the_result_contains_the_note_of_the_approval() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    let mut approve = ground.scratch.command();
    approve.args(["consent", "approve", &id(&asked), "--note", NOTE]);
    let Some((shown, done)) = at_a_terminal(&approve, "y\n") else { return skipped("there is no script") };
    assert!(done && shown.contains("This WRITES"), "{shown}");
    // A caller that lost its nonce gets the note too.
    assert_eq!(execute(&mut client, create())["error"]["details"]["note"], NOTE);
    let done = execute(&mut client, with_nonce(&create(), &asked));
    assert_eq!((code(&done), &done["warnings"]), ("ok", &json!([format!("approved: {QUOTED}")])), "{done}");
    // The note belongs only to this approval.
    let again = execute(&mut client, create());
    ground.approve(&again);
    let done = execute(&mut client, with_nonce(&create(), &again));
    assert!(code(&done) == "ok" && done.get("warnings").is_none(), "{done}");
    // If a run fails after an approval, its details contain the note.
    ground.api.trouble([crate::support::api::Trouble::Status(500, Vec::new(), "")]);
    let asked =
        execute(&mut client, json!({ "command": "hosting:apps:delete", "args": { "app_id": "x" }, "wait_s": 0 }));
    let id = Uuid::parse_str(&id(&asked)).expect("an id");
    approved(&ground.person(), id, Some(NOTE));
    let delete = json!({ "command": "hosting:apps:delete", "args": { "app_id": "x" } });
    let failed = execute(&mut client, with_nonce(&delete, &asked));
    assert_eq!((code(&failed), &failed["error"]["details"]["note"]), ("E_STEP_FAILED", &json!(NOTE)), "{failed}");
    client.finish();
}

#[test]
fn a_destructive_tool_passes_the_note_on() {
    let ground = Ground::new();
    ground.scratch.ok(&["prompt", "create", "old", "x"]);
    let mut client = Client::start(&ground.scratch, &["--confirm", "destructive"]).shake_hands("2025-06-18");
    let delete = json!({ "name": "delete_prompt", "arguments": { "name": "old" } });
    let asked = client.result("tools/call", delete.clone());
    let listed = ground.scratch.json(&["consent", "list"]);
    let [request] = listed["consents"].as_array().expect("requests").as_slice() else { panic!("{asked}: {listed}") };
    assert_eq!((&request["effect"], &request["effects"]), (&json!("destroys"), &json!(["name = \"old\""])));
    let id = Uuid::parse_str(request["id"].as_str().expect("an id")).expect("an id");
    approved(&ground.person(), id, Some(NOTE));
    let done = client.result("tools/call", delete);
    assert!(done["isError"] != true && done["content"][1]["text"] == format!("approved: {QUOTED}"), "{done}");
    client.finish();
}

#[test]
fn a_request_shows_its_effect_and_its_address() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let mut effects = |command: &str, args: Value| {
        let asked = execute(&mut client, json!({ "command": command, "args": args, "wait_s": 0 }));
        let shown = ground.scratch.ok(&["consent", "show", &id(&asked)]);
        let effect = ground.scratch.json(&["consent", "show", &id(&asked)])["effect"].clone();
        assert_eq!(asked["error"]["details"]["effect"], effect, "{asked}");
        (shown, effect)
    };
    let base = ground.api.base();
    let (shown, effect) = effects("hosting:apps:delete", json!({ "app_id": "app 7/f3" }));
    assert_eq!(effect, "destroys");
    assert!(shown.starts_with("This DESTROYS\nRun hosting:apps:delete (destroys: DELETE http://"), "{shown}");
    assert!(shown.contains(&format!("  DELETE {base}/apps/app%207%2Ff3 (hosting:apps:delete, destroys)\n")), "{shown}");
    assert!(shown.contains("  app_id = \"app 7/f3\"\n"), "{shown}");
    // A long value is cut in the question, so the end of the path stays visible. The list shows all of it.
    let long = "x".repeat(300);
    let (shown, effect) = effects("hosting:apps:logs:list", json!({ "app_id": long }));
    let question = shown.lines().nth(1).expect("a question");
    assert!(effect == "reads" && question.ends_with(&format!("/apps/{}…/logs)", "x".repeat(40))), "{shown}");
    assert!(shown.contains(&format!("/apps/{long}/logs (")) && shown.contains("app_id (300 characters) = "), "{shown}");
    let (shown, _) = effects("hosting:apps:delete", json!({ "app_id": "ghp_0123456789abcdefghijklmnopqrstuvwxyz" }));
    assert!(shown.contains("/apps/{app_id} (") && !shown.contains("ghp_0123"), "{shown}");
    let listed = ground.scratch.ok(&["consent", "list"]);
    assert_eq!((listed.matches("\tdestroys\t").count(), listed.matches("\treads\t").count()), (2, 1), "{listed}");
    client.finish();
}
