//! Tests that an edit changes one value, and that comments and formatting stay.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::edit::{Change, edit};
use crate::finding::mended_by;
use crate::yaml;

#[track_caller]
fn changed(text: &str, pointer: &str, change: Change<'_>) -> String {
    let edit = edit(text, pointer, change).unwrap_or_else(|| panic!("no edit of {pointer} in\n{text}"));
    assert_eq!(text[edit.span.bytes()].contains("keep"), edit.text.contains("keep"), "{edit:?}");
    mended_by(text, vec![&edit]).0
}

#[track_caller]
fn set(text: &str, pointer: &str, value: Value) -> String {
    changed(text, pointer, Change::Set(&value))
}

#[track_caller]
fn removed(text: &str, pointer: &str) -> String {
    changed(text, pointer, Change::Remove)
}

const TEXT: &str = "\
# keep: the head
workflow: app   # keep
inputs: {}
steps:
  - id: \"create\"
    run: apps:create
    with:
      name:  'web'   # keep
      region: ${{ inputs.regoin }}
      # keep: size
  - {id: list, run: 'apps:list', with: {page: 1}}
";

#[test]
fn a_value_is_replaced_in_its_own_quotes() {
    let with = |old: &str, new: &str| TEXT.replace(old, new);
    assert_eq!(set(TEXT, "/steps/0/with/name", json!("it's")), with("'web'", "'it''s'"));
    assert_eq!(set(TEXT, "/steps/0/id", json!("make")), with("\"create\"", "\"make\""));
    let path = json!("${{ inputs.region }}");
    assert_eq!(set(TEXT, "/steps/0/with/region", path.clone()), with("regoin", "region"));
    // Inside braces, a template needs quotes.
    assert_eq!(set(TEXT, "/steps/1/with/page", path), with("page: 1", "page: \"${{ inputs.region }}\""));
    assert_eq!(set(TEXT, "/steps/0/with/region", json!("no")), with("${{ inputs.regoin }}", "\"no\""));
    assert_eq!(set(TEXT, "/steps/0/with/region", json!(["a", 1])), with("${{ inputs.regoin }}", "[\"a\",1]"));
}

#[test]
fn an_entry_follows_the_last_one() {
    let added = TEXT.replace("regoin }}\n", "regoin }}\n      plan: small\n");
    assert_eq!(set(TEXT, "/steps/0/with/plan", json!("small")), added);
    assert_eq!(set(TEXT, "/steps/1/with/size", json!("a b")), TEXT.replace("page: 1", "page: 1, size: \"a b\""));
    let input = set(TEXT, "/inputs/region", json!({ "type": "string", "enum": ["eu"] }));
    assert_eq!(
        input,
        TEXT.replace("inputs: {}", "inputs:\n  region:\n    type: string\n    enum:\n      - eu"),
        "an empty mapping becomes a block"
    );
    for (text, expected) in [
        ("a:\n  with:\n", "a:\n  with:\n    b: 1\n"),
        ("a:\n  with: # keep\n  c: 2\n", "a:\n  with: # keep\n    b: 1\n  c: 2\n"),
        ("a:\n  with: {} # keep\n  c: 2\n", "a:\n  with: # keep\n    b: 1\n  c: 2\n"),
        ("a:\n  c: 2", "a:\n  c: 2\n  with:\n    b: 1"),
        ("a:\n  c: |\n    x\n\nb: 1\n", "a:\n  c: |\n    x\n  with:\n    b: 1\n\nb: 1\n"),
        ("a: {c: 2}\n", "a: {c: 2, with: {\"b\":1}}\n"),
        ("{\"a\": {\"with\": {}}}", "{\"a\": {\"with\": {b: 1}}}"),
        ("a:\r\n  c: 2\r\nd: 3\r\n", "a:\r\n  c: 2\r\n  with:\r\n    b: 1\r\nd: 3\r\n"),
    ] {
        assert_eq!(set(text, "/a/with/b", json!(1)), expected, "{text}");
    }
}

#[test]
fn a_step_follows_the_last_one_as_its_author_spaces_them() {
    let step = json!({ "id": "b", "run": "apps:list", "with": { "app": "${{ inputs.app }}" } });
    let lines = "  - id: b\n    run: apps:list\n    with:\n      app: ${{ inputs.app }}\n";
    assert_eq!(set(TEXT, "/steps/-", step.clone()), format!("{TEXT}{lines}"));
    for (text, expected) in [
        ("steps: []\n", format!("steps:\n{lines}")),
        ("steps: [] # keep\nx: 1\n", format!("steps: # keep\n{lines}x: 1\n")),
        ("workflow: a\n", format!("workflow: a\nsteps:\n{lines}")),
        (
            "steps:\n  - id: x\n\n  - id: y\n# keep\nx: 1\n",
            format!("steps:\n  - id: x\n\n  - id: y\n\n{lines}# keep\nx: 1\n"),
        ),
        ("steps:\n- id: x\n", format!("steps:\n- id: x\n{}", lines.replace("\n  ", "\n").trim_start_matches("  "))),
    ] {
        assert_eq!(set(text, "/steps/-", step.clone()), expected, "{text}");
    }
}

#[test]
fn removing_a_value_removes_its_line() {
    let name = TEXT.replace("      name:  'web'   # keep\n", "");
    assert_eq!(mended_by(TEXT, vec![&edit(TEXT, "/steps/0/with/name", Change::Remove).unwrap()]).0, name);
    assert_eq!(removed(TEXT, "/steps/1"), TEXT.replace("  - {id: list, run: 'apps:list', with: {page: 1}}\n", ""));
    for (text, pointer, expected) in [
        ("a:\n  b: 1\n  c: 2\n", "/a/b", "a:\n  c: 2\n"),
        ("a:\n  b: 1\n  c: 2", "/a/c", "a:\n  b: 1"),
        ("s:\n  - b: 1\n    c: 2\n", "/s/0/b", "s:\n  - c: 2\n"),
        ("s:\n  - r: 1\n    with:\n      b: 1\n", "/s/0/with/b", "s:\n  - r: 1\n"),
        ("s:\n  - with:\n      # keep\n      b: 1\n", "/s/0/with/b", "s:\n  - with:\n      # keep\n      {}\n"),
        ("a: {b: 1, c: 2}\n", "/a/b", "a: {c: 2}\n"),
        ("a: {b: 1, c: 2}\n", "/a/c", "a: {b: 1}\n"),
        ("a:\n  b:\n    x: 1\n    y: 2\n  c: 3\n", "/a/b", "a:\n  c: 3\n"),
    ] {
        assert_eq!(removed(text, pointer), expected, "{text}");
    }
}

#[test]
fn a_value_of_an_alias_is_left_alone() {
    let text = "a: &x {b: 1}\nc: *x\n";
    assert_eq!(edit(text, "/c/b", Change::Set(&json!(2))), None);
    assert_eq!(edit(text, "/a/b", Change::Set(&json!(2))), None, "it would change the alias too");
    assert_eq!(edit(text, "/z/0", Change::Remove), None);
    assert_eq!(edit("a: [}", "/a", Change::Remove), None);
}

/// Returns a random workflow in a mix of styles, with a comment in each place that may have one.
fn workflow() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec![
        "1",
        "web",
        "'it''s'",
        "\"a b\"",
        "${{ inputs.a }}",
        "|\n        long\n        text",
        "[1, 2]",
        "",
    ]);
    let argument = (prop::sample::select(vec!["name", "region", "\"plan\"", "size"]), value);
    let comment = prop::sample::select(vec!["", "", "      # own line\n"]);
    let step = (prop::collection::vec((argument, comment), 0..4), 0..3_u8).prop_map(|(arguments, style)| {
        let mut names = std::collections::BTreeSet::new();
        let arguments: Vec<_> = arguments.into_iter().filter(|((name, _), _)| names.insert(*name)).collect();
        match style {
            0 if arguments.is_empty() => "  - id: s # first\n    run: a\n    with: {}  # none\n".to_owned(),
            _ if arguments.is_empty() => "  - id: s\n    run: a\n".to_owned(),
            1 => "  - {id: s, run: a, with: {name: 'x', region: 1}} # flow\n".to_owned(),
            _ => {
                let lines = arguments.iter().map(|((name, value), comment)| {
                    let end = if value.starts_with('|') { "" } else { " # beside" };
                    format!("{comment}      {name}: {value}{end}\n")
                });
                format!("  - id: s\n    run: a\n    with:\n{}", lines.collect::<String>())
            }
        }
    });
    (prop::collection::vec(step, 1..5), prop::bool::ANY, prop::bool::ANY).prop_map(|(steps, spaced, crlf)| {
        let text = format!("# head\nworkflow: w\nsteps:\n{}\n# foot\n", steps.join(if spaced { "\n" } else { "" }));
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

proptest! {
    #![proptest_config(crate::seed::config(512))]

    #[test]
    fn an_edit_changes_only_its_span_and_keeps_every_comment(
        text in workflow(),
        step in 0_usize..5,
        name in prop::sample::select(vec!["name", "region", "plan", "size", "note"]),
        value in prop::sample::select(vec![json!(1), json!("x"), json!("no"), json!("${{ inputs.b }}"), json!("a: b # c"), json!(true)]),
        remove in prop::bool::weighted(0.3),
    ) {
        let before = yaml::read(&text).value.expect("valid YAML");
        let pointer = format!("/steps/{step}/with/{name}");
        let change = if remove { Change::Remove } else { Change::Set(&value) };
        let comments = |text: &str| text.matches('#').count();
        match edit(&text, &pointer, change) {
            Some(edit) => {
                let after = mended_by(&text, vec![&edit]).0;
                prop_assert!(after.starts_with(&text[..edit.span.start]) && after.ends_with(&text[edit.span.end..]));
                let read = yaml::read(&after).value.expect("valid YAML");
                prop_assert_eq!(read.pointer(&pointer), (!remove).then_some(&value));
                // A removed line takes the comment at its end with it.
                let written = value.as_str().filter(|_| !remove).map_or(0, |value| value.matches('#').count());
                let least = comments(&text) - usize::from(remove) + written;
                prop_assert!(comments(&after) >= least, "{}\n{}", text, after);
            }
            // An edit may fail only if the argument to remove, or the step that gets the value, does not exist.
            None => {
                let exists = if remove { before.pointer(&pointer).is_some() } else { before.pointer(&format!("/steps/{step}")).is_some() };
                prop_assert!(!exists, "{pointer} in\n{text}");
            }
        }
    }
}
