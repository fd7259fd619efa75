//! Tests workflows and drafts as MCP resources.

use serde_json::{Value, json};

use super::{NOTE, kept, propose};
use crate::support::Client;

#[test]
fn workflows_and_drafts_are_listed_read_and_completed() {
    let scratch = kept();
    let id = propose(&scratch, json!({ "yaml": NOTE.replace("name: note", "name: second"), "replaces": "keep_note" }));
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    let templates = client.result("resources/templates/list", json!({}))["resourceTemplates"].to_string();
    assert!(templates.contains("mcpkg://workflow/{name}") && templates.contains("mcpkg://draft/{id}"), "{templates}");
    let read = client.result("resources/read", json!({ "uri": "mcpkg://workflow/keep_note" }));
    assert_eq!(
        (&read["contents"][0]["text"], &read["contents"][0]["mimeType"]),
        (&json!(NOTE), &json!("application/yaml"))
    );
    let read = client.result("resources/read", json!({ "uri": format!("mcpkg://draft/{id}") }));
    let draft: Value = serde_json::from_str(read["contents"][0]["text"].as_str().expect("a text")).expect("JSON");
    assert_eq!((&draft["workflow"], &draft["state"]), (&json!("keep_note"), &json!("open")));
    let mut complete = |uri: &str, name: &str, value: &str| {
        let params =
            json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": { "name": name, "value": value } });
        client.result("completion/complete", params)["completion"]["values"].clone()
    };
    assert_eq!(complete("mcpkg://workflow/{name}", "name", "keep"), json!(["keep_note"]));
    assert_eq!(complete("mcpkg://draft/{id}", "id", &id[..6]), json!([id]));
    for uri in ["mcpkg://workflow/nothing", "mcpkg://draft/nothing"] {
        client.error("resources/read", json!({ "uri": uri }));
    }
    client.finish();
}

#[test]
fn subscribers_are_notified_if_a_draft_is_decided_or_stale() {
    let scratch = kept();
    let changed = NOTE.replace("name: note", "name: second");
    let id = propose(&scratch, json!({ "yaml": changed, "replaces": "keep_note" }));
    let uri = format!("mcpkg://draft/{id}");
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-06-18");
    for uri in [uri.as_str(), "mcpkg://workflow/keep_note"] {
        client.result("resources/subscribe", json!({ "uri": uri }));
    }
    let mut updated = || client.notification("notifications/resources/updated")["params"]["uri"].clone();
    scratch.file("note.yaml", NOTE.replace("later", "ever"));
    scratch.ok(&["workflow", "import", "note.yaml", "--update"]);
    let mut both = [updated(), updated()].map(|uri| uri.as_str().expect("a URI").to_owned());
    both.sort();
    assert_eq!(both, [uri.clone(), "mcpkg://workflow/keep_note".to_owned()], "the draft is stale now");
    scratch.ok(&["draft", "reject", &id]);
    assert_eq!(updated(), json!(uri));
    client.finish();
}
