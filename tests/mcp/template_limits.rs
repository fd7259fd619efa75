//! Tests templates that were stored before there were limits, and hostile templates.

use mcpkg_base::clock::Clock;
use mcpkg_store::Store;
use mcpkg_store::projects;
use mcpkg_store::prompts::{self, Argument, Attributes};
use mcpkg_store::revisions::Author;
use serde_json::json;

use crate::support::{Client, Scratch};

/// Stores a template without checking it, as an earlier version did.
fn store(scratch: &Scratch, name: &str, source: &str, arguments: usize) {
    let argument = |n| Argument { name: format!("a{n}"), description: None, required: false };
    let arguments = (0..arguments).map(argument).collect();
    let attributes = Attributes { template: true, arguments, ..Attributes::default() };
    let store = Store::open(&scratch.db()).expect("opened");
    let clock = Clock::system();
    let author = Author { actor: "test", now: clock.now() };
    let stored = store.write(|db| {
        let project = projects::get(db, "p")?;
        prompts::insert(db, author, &project, clock.uuid(), name, attributes, source)
    });
    stored.expect("stored");
}

#[test]
fn a_stored_template_outside_the_subset_is_named_with_its_line() {
    let scratch = Scratch::with_project();
    store(&scratch, "grows", "one\n{% set ns = namespace() %}\n{{ a0 }}", 1);
    store(&scratch, "deep", &format!("\n\n{{{{ {}a0 }}}}", "not ".repeat(20_000)), 1);
    store(&scratch, "long", &"{{ a0 }}".repeat(100_000), 1);
    store(&scratch, "fine", "{{ a0 }}", 1);
    let mut client = Client::legacy(&scratch, "2025-11-25");
    for (name, line) in [("grows", json!(2)), ("deep", json!(3))] {
        let error = client.error("prompts/get", json!({ "name": name, "arguments": { "a0": "x" } }));
        assert_eq!(error["code"], -32602, "{error}");
        assert_eq!(error["data"]["line"], line, "{error}");
        assert!(error["message"].as_str().unwrap().ends_with(&format!("(line {line})")), "{error}");
        let (text, is_error) = client.call("get_prompt", json!({ "name": name }));
        assert!(is_error && text.contains(&format!("(line {line})")), "{text}");
    }
    let error = client.error("prompts/get", json!({ "name": "long" }));
    assert!(error["message"].as_str().unwrap().contains("the limit is 262144"), "{error}");
    let suggested =
        json!({ "ref": { "type": "ref/prompt", "name": "long" }, "argument": { "name": "a0", "value": "" } });
    assert_eq!(client.result("completion/complete", suggested)["completion"]["values"], json!([]));
    client.result("prompts/get", json!({ "name": "fine", "arguments": { "a0": "x" } }));
    drop(client);

    let file = scratch.file("root/file", "");
    let root = file.parent().expect("its folder").display().to_string();
    let doctor = || scratch.ok(&["doctor", "--root", &root]);
    let told = doctor();
    for named in ["prompt 'deep' of project 'p'", "prompt 'grows' of project 'p'", "prompt 'long' of project 'p'"] {
        assert!(told.contains(named), "{told}");
    }
    assert!(!told.contains("'fine'"), "{told}");
    // The text of an invalid template can still be read and fixed.
    assert!(scratch.ok(&["prompt", "show", "grows", "--raw"]).contains("namespace"));
    scratch.ok(&["prompt", "update", "grows", "--content", "{{ a0 }}"]);
    assert!(!doctor().contains("'grows'"));
}

#[test]
fn values_are_bounded_too() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "look", "Look at {{ it }}", "--argument", "it"]);
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let get = |bytes: usize| json!({ "name": "look", "arguments": { "it": "x".repeat(bytes) } });
    client.result("prompts/get", get(200 << 10));
    let error = client.error("prompts/get", get(300 << 10));
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("the limit is 262144"), "{error}");
}

#[test]
fn too_many_arguments_are_refused_at_once() {
    let scratch = Scratch::with_project();
    let names: Vec<String> = (0..100_000).map(|n| format!("a{n}")).collect();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let declared: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    let (text, is_error) =
        client.call("create_prompt", json!({ "name": "many", "content": "x", "arguments": declared }));
    assert!(is_error && text.contains("the limit is 100"), "{text}");
    // Front matter with too many arguments is stored unchanged as plain text, like all invalid front matter.
    let content = format!("---\narguments: [{}]\n---\nDo it", names.join(", "));
    let (text, is_error) = client.call("create_prompt", json!({ "name": "many", "content": content }));
    assert!(!is_error, "{text}");
    let got = client.result("prompts/get", json!({ "name": "many" }));
    assert!(got["messages"][0]["content"]["text"].as_str().unwrap().starts_with("---\narguments"));
}
