//! Tests malicious texts and names.

use serde_json::{Value, json};

use super::{NOTE, kept, propose};
use crate::support::{Client, Scratch};

#[test]
fn control_characters_in_a_draft_do_not_reach_the_terminal() {
    let scratch = kept();
    let yaml = NOTE.replace("Keeps a note", "\"Keeps\\e[2J a \u{202e}note\"").replace("   # for later", "");
    let message = "Fine\u{1b}[1A\nreally\u{202e}";
    let id = propose(&scratch, json!({ "yaml": yaml, "message": message, "replaces": "keep_note" }));
    let context = super::asking(&scratch, |body| {
        let shown = format!("{body:?}");
        assert!(!shown.contains("\\u{1b}") && !shown.contains("\\u{202e}"), "{shown}");
    });
    for arguments in
        [&["draft", "show", &id][..], &["draft", "diff", &id], &["draft", "validate", &id], &["draft", "list"]]
    {
        let ran = scratch.run(arguments);
        assert!(
            !ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}') || arguments[1] == "list",
            "{arguments:?}: {ran}"
        );
        assert!(!ran.stdout.contains('\u{1b}'), "{arguments:?}: {ran}");
    }
    super::run(&context, &["draft", "approve"], json!({ "id": id })).expect("it is approved");
}

#[test]
fn invalid_and_too_large_texts_are_refused() {
    let scratch = Scratch::with_project();
    scratch.file("binary.yaml", [0xff, 0xfe, 0x00, 0x80]);
    scratch.file("zero.yaml", "workflow: a\0\n");
    scratch.file("large.yaml", format!("# {}\n{NOTE}", "x".repeat(1 << 20)));
    scratch.file("deep.yaml", "[".repeat(5000));
    scratch.file("empty.yaml", "");
    for file in ["binary.yaml", "zero.yaml", "large.yaml", "deep.yaml", "empty.yaml", "nowhere.yaml"] {
        for words in [&["workflow", "import"][..], &["draft", "add"]] {
            let ran = scratch.run(&[words, &[file]].concat());
            assert!(matches!(ran.status, 1 | 2) && !ran.stderr.contains("panicked"), "{words:?} {file}: {ran}");
        }
    }
    assert!(scratch.json(&["workflow", "list"])["workflows"].as_array().expect("rows").is_empty());
    assert!(scratch.json(&["draft", "list", "--all"])["drafts"].as_array().expect("rows").is_empty());
}

#[test]
fn arguments_are_data() {
    let scratch = kept();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    for id in [
        "",
        "x",
        "' OR 1=1 --",
        "%",
        "____",
        "0000",
        "../../etc/passwd",
        "\u{0}",
        "00000000-0000-0000-0000-000000000000",
    ] {
        let (text, failed) = client.call("get_draft", json!({ "id": id }));
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert!(failed && answer["error"]["code"] == "E_NOT_FOUND", "{id:?}: {text}");
    }
    for name in ["", "' OR 1=1 --", "%", "../note.yaml", "note.yaml", "keep_note\u{0}"] {
        let (text, failed) = client.call("get_workflow", json!({ "name": name }));
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert!(failed && answer["error"]["code"] == "E_NOT_FOUND", "{name:?}: {text}");
    }
    let long = "x".repeat((4 << 10) + 1);
    for arguments in [
        json!({ "yaml": "@note.yaml" }),
        json!({ "yaml": "note.yaml" }),
        json!({ "yaml": "-" }),
        json!({ "yaml": NOTE, "message": long, "replaces": "keep_note" }),
        json!({ "yaml": NOTE, "revision": 1 }),
        json!({ "yaml": NOTE, "replaces": "keep_note", "revision": -1 }),
        json!({ "draft": [] }),
        json!({ "draft": { "workflow": "../x", "steps": [{ "id": "a", "run": "mcpkg:prompt:list" }] } }),
    ] {
        let (text, failed) = client.call("propose_workflow", arguments.clone());
        assert!(failed, "{arguments}: {text}");
    }
    client.finish();
    assert!(scratch.json(&["draft", "list", "--all"])["drafts"].as_array().expect("rows").is_empty());
}
