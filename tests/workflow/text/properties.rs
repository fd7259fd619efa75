//! Renders random definitions and parses the result. Also checks that random and mutated texts never panic, and that
//! findings lie within the text.

use std::time::{Duration, Instant};

use mcpkg_workflow::check::{checked, shaped};
use mcpkg_workflow::definition::Definition;
use mcpkg_workflow::finding::mended;
use mcpkg_workflow::yaml;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::api::Api;

use crate::support::config;

const FULL: &str = include_str!("../golden/full.yaml");

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,20}",
        prop::sample::select(vec![
            "no",
            "yes",
            "null",
            "~",
            "1",
            "1.0",
            "010",
            "2024-01-01",
            "a: b",
            "- a",
            "# x",
            " lead",
            "trail ",
            "a\nb",
            "a\n",
            "\n\na",
            "a\tb",
            "\u{7f}",
            "\u{85}x",
            "é☃😀",
            "${{ inputs.a }}",
            "{{ a }}",
            "'",
            "\"",
            "\\",
            "*x",
            "&x",
            "!x",
            "%x",
            "@x",
            "`x",
            "<<",
            "---",
            "...",
            "[a",
            "{a",
            "a\r\nb",
            "  a\n b",
            "0x1F",
            ".5",
            "1e3",
            "-",
            "?",
            ":",
            "|",
            ">",
            "",
        ])
        .prop_map(str::to_owned),
        any::<String>().prop_map(|text| text.chars().filter(|c| *c != '\0' && *c != '\u{feff}').take(30).collect()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::String),
        any::<i64>().prop_map(|number| json!(number)),
        any::<bool>().prop_map(|flag| json!(flag)),
        (-1.0e9..1.0e9).prop_map(|number: f64| json!(number)),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((text(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn definition() -> impl Strategy<Value = Definition> {
    let with = prop::collection::vec(("[a-z]{1,6}", value()), 0..4);
    let step =
        (with, prop::option::of(value().prop_filter("left out", |value| !value.is_null())), prop::option::of(text()));
    (
        prop::collection::vec(step, 1..5),
        prop::collection::vec(value(), 0..3),
        any::<bool>(),
        text().prop_map(|text| format!("t{text}")),
    )
        .prop_map(|(steps, examples, is_list, title)| {
            let steps: Vec<Value> = steps
                .into_iter()
                .enumerate()
                .map(|(index, (with, body, condition))| {
                    let mut step =
                        json!({ "id": format!("s{index}"), "run": "apps:list", "with": Map::from_iter(with) });
                    step["body"] = body.unwrap_or_default();
                    step["if"] = condition.map_or(Value::Null, Value::String);
                    step
                })
                .collect();
            let inputs = examples.into_iter().enumerate().map(|(index, value)| {
                (format!("i{index}"), json!({ "default": { "from": "literal", "value": value }, "description": title }))
            });
            // Empty inputs are always written as a mapping.
            let inputs: Value = match is_list && inputs.len() > 0 {
                false => Value::Object(inputs.collect()),
                true => inputs
                    .map(|(name, mut input)| {
                        input["name"] = json!(name);
                        input
                    })
                    .collect(),
            };
            serde_json::from_value(json!({ "workflow": "w", "title": title, "inputs": inputs, "steps": steps }))
                .expect("a definition")
        })
}

/// Checks that the positions of all findings lie within the text and on character boundaries, and that their lines and
/// columns are right.
fn places_are_inside(text: &str) -> Result<(), TestCaseError> {
    let begun = Instant::now();
    let checked = checked(text, &Api::new());
    prop_assert!(begun.elapsed() < Duration::from_secs(10));
    let spans: Vec<_> = match &checked {
        Ok(checked) => {
            let fixes = checked.findings.iter().filter_map(|found| found.fix.as_ref().map(|fix| fix.span));
            checked.findings.iter().map(|found| found.span).chain(fixes).collect()
        }
        Err(error) => {
            prop_assert_eq!(error.code().name(), "E_SCHEMA_VERSION");
            Vec::new()
        }
    };
    for span in spans.into_iter().chain(yaml::read(text).places.all().map(|place| place.value)) {
        prop_assert!(span.start <= span.end && span.end <= text.len(), "{:?}", span);
        prop_assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end), "{:?}", span);
        let line_start = text[..span.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let before = text[line_start..span.start].trim_start_matches('\u{feff}');
        prop_assert_eq!(before.chars().count() + 1, span.column, "{:?} in {:?}", span, text);
    }
    if let Ok(checked) = checked {
        mended(text, &checked.findings);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn a_rendered_definition_parses_to_the_same_and_renders_identically(definition in definition()) {
        let text = definition.to_yaml().expect("a text");
        let (read, findings) = shaped(&text).expect("a version");
        let errors: Vec<_> = findings.iter().filter(|found| found.code.severity() == mcpkg_workflow::finding::Severity::Error).collect();
        prop_assert!(errors.is_empty(), "{:?}\n{}", errors, text);
        let read = read.expect("a definition");
        prop_assert_eq!(&read, &definition, "{}", text);
        prop_assert_eq!(read.to_yaml().expect("a text"), text);
    }

    #[test]
    fn random_characters_are_read_in_bounds(text in any::<String>()) {
        places_are_inside(&text)?;
    }

    #[test]
    fn random_signs_of_yaml_are_read_in_bounds(text in "[a-c:{}\\[\\],&*!|>'\"%#@`?\\- \n$é]{0,80}") {
        places_are_inside(&text)?;
    }

    #[test]
    fn a_text_with_a_piece_cut_out_or_put_in_is_read_in_bounds(from in 0..FULL.len(), length in 0_usize..40, piece in text()) {
        let mut text = FULL.to_owned();
        let end = (from + length).min(text.len());
        text.replace_range(from..end, &piece);
        places_are_inside(&text)?;
    }
}
