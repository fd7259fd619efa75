//! Compares findings and rendered texts with the expected ones, word for word.

use serde_json::{Value, json};

use super::{check, places};

const CONTRACT: &str = include_str!("../golden/contract.yaml");
const FULL: &str = include_str!("../golden/full.yaml");
const FULL_RENDERED: &str = include_str!("../golden/full.rendered.yaml");

#[test]
fn the_contracts_two_sentences_appear_at_their_positions() {
    let checked = check(CONTRACT);
    let found = |found: Vec<&mcpkg_workflow::finding::Finding>| -> Vec<Value> {
        found
            .iter()
            .map(|found| json!({ "message": found.message, "line": found.span.line, "column": found.span.column }))
            .collect()
    };
    assert_eq!(
        json!({ "errors": found(checked.errors().collect()), "warnings": found(checked.warnings().collect()) }),
        json!({
            "errors": [{ "message": "addons:list.app must accept one of [app_id, app_name]", "line": 22, "column": 18 }],
            "warnings": [{ "message": "select.id_field recommended for caching", "line": 14, "column": 7 }],
        })
    );
    let mismatch = checked.errors().next().expect("an error");
    let why = mismatch.why.as_ref().expect("why");
    assert_eq!((why.accepts.join(" "), why.prefer.as_deref()), ("app_id app_name".to_owned(), Some("app_id")));
    assert_eq!(why.tags, ["pipeline_id"]);
}

#[test]
fn every_field_is_read_and_written_in_its_form() {
    assert_eq!(places(FULL), []);
    let checked = check(FULL);
    let text = checked.definition().expect("a definition").to_yaml().expect("a text");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/workflow/golden/full.rendered.yaml"),
            text.clone() + "\n",
        )
        .expect("a file");
        return;
    }
    assert_eq!(text + "\n", FULL_RENDERED);
}

#[test]
fn x33_null_empty_and_default_fields_are_not_written() {
    for word in ["null", "optional: false", "type: string\n", "mode: single", "{}\n\n", "on_error: manual"] {
        // Ignore nulls and empty maps in the request body, which the author wrote.
        let outside = FULL_RENDERED.replace("        - null\n", "").replace("        - {}\n", "");
        assert!(!outside.contains(word), "{word}");
    }
    let text = "workflow: w\ntitle: null\ninputs: {}\nsteps:\n  - {id: a, run: apps:list, with: {}, depends_on: [], if: null}\n";
    let written = check(text).definition().expect("a definition").to_yaml().expect("a text");
    assert_eq!(written, "workflow: w\nsteps:\n  - id: a\n    run: apps:list");
}

#[test]
fn a_rendered_text_parses_to_the_same_and_renders_identically() {
    let first = check(FULL);
    let again = check(FULL_RENDERED);
    assert_eq!(again.definition(), first.definition());
    assert_eq!(again.definition().expect("a definition").to_yaml().expect("a text") + "\n", FULL_RENDERED);
}
