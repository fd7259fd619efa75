//! Tests plugin tools as commands: they are found, described, run with consent, and used as steps and as providers.

use serde_json::{Value, json};

use super::{Ground, tools};
use crate::support::{Client, skipped};
use crate::workflow::runs::approved;

fn execute(client: &mut Client, arguments: Value) -> Value {
    client.result("tools/call", json!({ "name": "execute", "arguments": arguments }))["structuredContent"].clone()
}

/// Approves, as a person, the consent request in the error `asked`.
fn approve(ground: &Ground, asked: &Value) {
    let id = asked["error"]["details"]["consent"].as_str().unwrap_or_else(|| panic!("no request: {asked}"));
    let id = uuid::Uuid::parse_str(id).expect("an id");
    approved(&ground.person(), id, None);
}

#[test]
fn a_tool_is_found_without_a_start_and_run_with_consent() {
    let ground = Ground::new();
    let started = ground.play.logged("started").len();
    let found = ground.scratch.json(&["command", "search", "add note"]);
    assert_eq!(found["results"][0]["id"], "toy:add_note", "{found}");
    let spec = ground.scratch.json(&["command", "show", "toy:add_note"]);
    assert_eq!(
        (&spec["source"], &spec["effect"], &spec["idempotency"]),
        (&json!("plugins"), &json!("write"), &json!("none"))
    );
    assert_eq!((&spec["summary"], &spec["description"]), (&json!("Adds a note"), &json!("Adds a note.\nFor good.")));
    assert_eq!(spec["flags"], json!([{ "name": "text", "type": "string" }]));
    assert_eq!(ground.play.logged("started").len(), started, "looking starts nothing");

    let ran = ground.scratch.run(&["command", "run", "toy:add_note", "--arg", "text=a", "--yes"]);
    assert!(ran.status != 0 && ran.stderr.contains("consent"), "{ran}");
    for version in ["2025-11-25", "2026-07-28"] {
        let mut client = match version {
            "2026-07-28" => Client::modern(&ground.scratch),
            version => Client::legacy(&ground.scratch, version),
        };
        let mut asks = json!({ "command": "toy:add_note", "args": { "text": version }, "wait_s": 0 });
        let asked = execute(&mut client, asks.clone());
        assert_eq!(asked["error"]["code"], "E_CONSENT_REQUIRED", "{asked}");
        approve(&ground, &asked);
        asks["nonce"] = asked["error"]["details"]["nonce"].clone();
        asks["wait_s"] = json!(30);
        let answer = execute(&mut client, asks);
        assert_eq!(answer["final_output"], format!("add_note: {{\"text\":\"{version}\"}}"), "{answer}");
        client.finish();
    }
    assert_eq!(ground.play.log().iter().filter(|line| *line == "called add_note").count(), 2);
    assert!(ground.play.is_over(), "{:?}", ground.play.log());
}

#[test]
fn a_password_for_a_tool_is_sent_and_not_stored() {
    let secret = json!({ "type": "string", "format": "password" });
    let mut login = crate::support::plugin::tool(
        "login",
        "Signs in",
        json!({
            "user": { "type": "string" }, "phrase": secret, "with": { "$ref": "#/$defs/with" },
        }),
    );
    login["inputSchema"]["$defs"] =
        json!({ "with": { "type": "object", "properties": { "code": secret, "note": { "type": "string" } } } });
    let ground = Ground::playing(json!({ "tools": [login] }));
    let with =
        json!({ "user": "ada", "phrase": "planted-phrase-1", "with": { "code": "planted-code-2", "note": "seen" } });
    let mut client = Client::legacy(&ground.scratch, "2025-11-25");
    let mut asks = json!({ "command": "toy:login", "args": with, "wait_s": 0 });
    let asked = execute(&mut client, asks.clone());
    let shown = asked.to_string();
    assert!(!shown.contains("planted-") && shown.contains("ada") && shown.contains("seen"), "{shown}");
    approve(&ground, &asked);
    asks["nonce"] = asked["error"]["details"]["nonce"].clone();
    asks["wait_s"] = json!(30);
    let answer = execute(&mut client, asks);
    // The tool's answer repeats its arguments.
    let said = answer["final_output"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(said.contains("\"code\":\"***\"") && said.contains("\"user\":\"ada\""), "{said}");
    client.finish();
    let tables = ground.scratch.tables();
    assert!(tables.iter().any(|(_, rows)| rows.contains("seen")), "the run is looked at");
    for (table, rows) in tables {
        assert!(!rows.contains("planted-"), "{table}: {rows}");
    }
}

#[test]
fn x16_plugin_tools_are_steps_and_providers() {
    let data = json!({ "notes": [{ "key": "n1", "title": "One" }] });
    let ground = Ground::playing(json!({ "tools": tools(), "data": data }));
    let declare =
        json!({ "name": "toy", "provider": "list_notes", "items": "notes", "value": "key", "label": "title" });
    ground.person_runs(&["plugin", "set"], declare).expect("it is set");
    let listed = ground.scratch.json(&["command", "providers"]);
    let provider = listed["providers"].as_array().expect("providers").iter().find(|one| one["id"] == "toy:list_notes");
    let returns = &provider.unwrap_or_else(|| panic!("{listed}"))["returns"];
    assert_eq!(
        *returns,
        json!([{ "name": "key", "tags": ["note_id"] }, { "name": "title", "tags": ["note_name", "display"] }])
    );
    let spec = ground.scratch.json(&["command", "show", "toy:list_notes"]);
    assert_eq!((&spec["effect"], &spec["output_contract"]["list"]), (&json!("read"), &json!("notes")));

    let text = "\
workflow: noted
steps:
  - id: notes
    run: toy:list_notes
  - id: again
    run: toy:add_note
    with:
      text: ${{ steps.notes.output.notes[0].key }}
";
    let mut client = Client::legacy(&ground.scratch, "2025-11-25");
    let mut asks = json!({ "yaml": text, "wait_s": 0 });
    let asked = execute(&mut client, asks.clone());
    approve(&ground, &asked);
    asks["nonce"] = asked["error"]["details"]["nonce"].clone();
    asks["wait_s"] = json!(30);
    let answer = execute(&mut client, asks);
    assert_eq!(answer["state"], "succeeded", "{answer}");
    client.finish();
    assert_eq!(ground.play.log().iter().filter(|line| line.starts_with("called")).count(), 2);
}

#[test]
fn x19_names_of_tools_are_kept_whole() {
    let names = ["a", "a_b", "a_b_c", "A.b/c-d", "a:b"];
    let tools: Vec<Value> = names.iter().map(|name| crate::support::plugin::tool(name, "Does it", json!({}))).collect();
    let ground = Ground::playing(json!({ "tools": tools }));
    for name in names {
        let answered = ground.call(&format!("toy:{name}"), json!({})).expect("an answer");
        assert_eq!(answered.output, format!("{name}: {{}}"));
    }
    assert_eq!(ground.listed()["tools"], names.len());
}

#[test]
fn odd_tools_are_left_out_and_named() {
    let mut odd = vec![
        crate::support::plugin::tool("fine", "Does it", json!({})),
        crate::support::plugin::tool("with blank", "Does it", json!({})),
        crate::support::plugin::tool("", "Does it", json!({})),
        crate::support::plugin::tool("fine", "Does it again", json!({})),
        crate::support::plugin::tool("large", &"x".repeat(300 << 10), json!({})),
    ];
    odd.push(crate::support::plugin::tool(&"n".repeat(200), "Does it", json!({})));
    let ground = Ground::playing(json!({ "tools": odd }));
    assert_eq!(ground.listed()["tools"], 1);
    let ran = ground.scratch.run(&["plugin", "check", "toy"]);
    assert_eq!(ran.status, 0, "{ran}");
    for why in ["'with blank'", "must have 1 to 128", "another tool has the same name", "larger than 256 KiB"] {
        assert!(ran.stderr.contains(why), "{why}: {ran}");
    }
}

#[test]
fn a_plugins_annotations_count_only_after_a_person_trusts_them() {
    let mut read = crate::support::plugin::tool("read_it", "Reads", json!({}));
    read["annotations"] = json!({ "readOnlyHint": true });
    let mut lose = crate::support::plugin::tool("lose_it", "Loses", json!({}));
    lose["annotations"] = json!({ "destructiveHint": true, "idempotentHint": true });
    let ground = Ground::playing(json!({ "tools": [read, lose] }));
    let effects = || {
        ["toy:read_it", "toy:lose_it"].map(|id| {
            let spec = ground.scratch.json(&["command", "show", id]);
            (
                spec["effect"].as_str().expect("an effect").to_owned(),
                spec["idempotency"].as_str().expect("one").to_owned(),
            )
        })
    };
    let told = |effects: [(&str, &str); 2]| effects.map(|(effect, twice)| (effect.to_owned(), twice.to_owned()));
    assert_eq!(effects(), told([("write", "none"), ("write", "none")]));
    let ran = ground.scratch.run(&["plugin", "set", "toy", "--trust-annotations", "true", "--yes"]);
    assert!(ran.status == 1 && ran.stderr.contains("Only a person at a terminal"), "{ran}");
    ground.person_runs(&["plugin", "set"], json!({ "name": "toy", "trust_annotations": true })).expect("it is set");
    assert_eq!(effects(), told([("read", "safe"), ("destroy", "idempotent")]));
    // Anybody may withdraw this trust.
    ground.scratch.ok(&["plugin", "set", "toy", "--trust-annotations", "false"]);
    assert_eq!(effects(), told([("write", "none"), ("write", "none")]));
}

#[test]
fn a_person_at_a_real_terminal_is_shown_what_runs_and_asked() {
    let ground = Ground::new();
    ground.person_runs(&["plugin", "remove"], json!({ "name": "toy" })).expect("it is removed");
    let mut command = ground.scratch.command();
    command.args(["plugin", "add", "toy"]);
    let Some((shown, ok)) = crate::support::at_a_terminal(&command, "n\n") else {
        return skipped("there is no script");
    };
    assert!(!ok && shown.contains("Starts `") && shown.contains("without a sandbox"), "{shown}");
    assert_eq!(ground.scratch.json(&["plugin", "list"])["plugins"], json!([]));
    let Some((shown, ok)) = crate::support::at_a_terminal(&command, "y\n") else {
        return skipped("there is no script");
    };
    assert!(ok && shown.contains("Added the plugin 'toy' with 3 commands"), "{shown}");
    assert!(ground.play.is_over());
}
