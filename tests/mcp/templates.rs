//! Tests resource templates: the content of the served project under mcpkg's own URIs.

use serde_json::{Value, json};

use crate::support::{Client, Scratch};

fn filled() -> (Scratch, Client) {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "code-review", "Look at {{ file }}", "--argument", "file"]);
    scratch.ok(&["prompt", "create", "plain", "one \"two\"\n"]);
    scratch.ok(&["resource", "create", "doc.md", "file:///doc.md", "# Doc", "-m", "text/markdown"]);
    let client = Client::legacy(&scratch, "2025-11-25");
    (scratch, client)
}

#[track_caller]
fn contents(client: &mut Client, uri: &str) -> Value {
    let mut result = client.result("resources/read", json!({ "uri": uri }));
    result["contents"][0].take()
}

#[track_caller]
fn json_of(client: &mut Client, uri: &str) -> Value {
    let contents = contents(client, uri);
    assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("application/json")));
    serde_json::from_str(contents["text"].as_str().expect("a text")).expect("JSON")
}

#[test]
fn templates_are_listed_separately_from_the_users_resources() {
    let (_scratch, mut client) = filled();
    let listed = client.result("resources/templates/list", json!({}));
    let templates = listed["resourceTemplates"].as_array().expect("templates");
    let uris: Vec<&Value> = templates.iter().map(|template| &template["uriTemplate"]).collect();
    let expected = [
        "mcpkg://prompt/{name}",
        "mcpkg://resource/{name}",
        "mcpkg://history/{kind}/{name}",
        "mcpkg://schema/workflow",
        "mcpkg://workflow/{name}",
        "mcpkg://draft/{id}",
        "mcpkg://run/{id}",
        "mcpkg://events",
    ];
    assert_eq!(uris, expected);
    assert_eq!(templates[0]["mimeType"], "text/markdown");
    let resources = client.result("resources/list", json!({}));
    assert_eq!(resources["resources"].as_array().map(Vec::len), Some(1), "{resources}");
    client.finish();
}

#[test]
fn prompts_and_resources_are_read_by_name() {
    let (_scratch, mut client) = filled();
    for uri in ["mcpkg://prompt/code-review", "mcpkg://prompt/code%2Dreview"] {
        assert_eq!(
            contents(&mut client, uri),
            json!({ "uri": uri, "mimeType": "text/markdown", "text": "Look at {{ file }}" }),
            "raw"
        );
    }
    let uri = "mcpkg://resource/doc%2emd";
    let doc = json!({ "uri": uri, "mimeType": "text/markdown", "text": "# Doc" });
    assert_eq!(contents(&mut client, uri), doc);
    for missing in [
        "mcpkg://prompt/nobody",
        "mcpkg://prompt/a%2Fb",
        "mcpkg://resource/plain",
        "mcpkg://history/prompt/doc.md",
        "mcpkg://x",
    ] {
        let error = client.error("resources/read", json!({ "uri": missing }));
        let message = format!("Resource '{missing}' not found in project 'p'");
        assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!(message)));
        assert_eq!(error["data"], json!({ "uri": missing }));
    }
    client.finish();
}

#[test]
fn history_and_events_show_changes_but_no_contents() {
    let (scratch, mut client) = filled();
    scratch.ok(&["prompt", "update", "plain", "-c", "secret words"]);
    scratch.ok(&["prompt", "delete", "plain"]);
    let history = json_of(&mut client, "mcpkg://history/prompt/plain");
    let actions: Vec<&Value> =
        history["revisions"].as_array().expect("revisions").iter().map(|row| &row["action"]).collect();
    assert_eq!(actions, ["delete", "update", "create"], "newest first, also of a deleted one");
    assert_eq!(
        (&history["kind"], &history["name"], &history["more"]),
        (&json!("prompt"), &json!("plain"), &json!(false))
    );
    scratch.ok(&["project", "create", "other"]);
    scratch.ok(&["-p", "other", "prompt", "create", "elsewhere", "x"]);
    let events = json_of(&mut client, "mcpkg://events");
    let newest = &events["events"][0];
    assert_eq!((&newest["kind"], &newest["subject"]), (&json!("prompt.delete"), &json!("plain")));
    for text in [history.to_string(), events.to_string()] {
        assert!(!text.contains("secret words") && !text.contains("elsewhere"), "{text}");
    }
    client.finish();
}

#[test]
fn an_answer_stays_within_its_limit() {
    let (scratch, _) = filled();
    for n in 0..50 {
        scratch.ok(&["prompt", "update", "plain", "-c", &format!("text {n}")]);
    }
    let mut client = Client::start(&scratch, &["--max-answer", "4096"]).shake_hands("2025-06-18");
    for (uri, key) in [("mcpkg://history/prompt/plain", "revisions"), ("mcpkg://events", "events")] {
        let answer = json_of(&mut client, uri);
        assert!(answer[key].to_string().len() <= 4096 && answer["more"] == true, "{answer}");
        assert!(answer[key].as_array().is_some_and(|rows| rows.len() > 2), "{answer}");
    }
    scratch.ok(&["prompt", "update", "plain", "-c", &"x".repeat(5000)]);
    let error = client.error("resources/read", json!({ "uri": "mcpkg://prompt/plain" }));
    assert!(error["message"].as_str().is_some_and(|text| text.contains("mcpkg prompt show plain --raw")), "{error}");
    client.finish();
}

#[test]
fn the_mcpkg_scheme_is_reserved_but_stored_resources_take_precedence() {
    let (scratch, mut client) = filled();
    let arguments = json!({ "name": "spoof", "uri": "mcpkg://prompt/plain", "content": "x" });
    let (text, failed) = client.call("create_resource", arguments);
    assert!(failed && text.contains("a scheme that mcpkg reserves"), "{text}");
    // A database from before the scheme was reserved may contain such a resource.
    let context = scratch.context();
    context
        .write("resource.create", "old", |db, project, author| {
            let attributes = mcpkg_store::resources::Attributes {
                uri: "mcpkg://prompt/plain".to_owned(),
                description: None,
                mime_type: Some("text/plain".to_owned()),
                text: true,
                executable: false,
            };
            let content = mcpkg_store::blobs::NewContent::from(b"old".to_vec());
            mcpkg_store::resources::insert(db, author, project, context.clock.uuid(), "old", attributes, &content)
        })
        .expect("a resource");
    assert_eq!(contents(&mut client, "mcpkg://prompt/plain")["text"], "old");
    client.finish();
}

#[test]
fn the_variables_of_templates_are_completed() {
    let (_scratch, mut client) = filled();
    let mut complete = |template: &str, variable: &str, value: &str, context: Value| {
        let reference = json!({ "type": "ref/resource", "uri": template });
        let argument = json!({ "name": variable, "value": value });
        let params = json!({ "ref": reference, "argument": argument, "context": { "arguments": context } });
        client.result("completion/complete", params)["completion"]["values"].clone()
    };
    assert_eq!(complete("mcpkg://prompt/{name}", "name", "co", json!({})), json!(["code-review"]));
    assert_eq!(complete("mcpkg://resource/{name}", "name", "", json!({})), json!(["doc.md"]));
    let history = "mcpkg://history/{kind}/{name}";
    assert_eq!(complete(history, "kind", "r", json!({})), json!(["resource"]));
    assert_eq!(complete(history, "name", "", json!({ "kind": "resource" })), json!(["doc.md"]));
    assert_eq!(complete(history, "name", "", json!({})), json!(["code-review", "doc.md", "plain"]));
    for (template, variable) in [("file:///{x}", "x"), ("mcpkg://prompt/{name}", "kind")] {
        let reference = json!({ "type": "ref/resource", "uri": template });
        let argument = json!({ "name": variable, "value": "" });
        let error = client.error("completion/complete", json!({ "ref": reference, "argument": argument }));
        assert_eq!(error["code"], -32602, "{error}");
    }
    client.finish();
}
