//! Compares random expressions with a simple evaluator.

use mcpkg_workflow::expression::{Outcome, Path, Root, Scope, evaluate, parse, value_at};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::config;

/// The known inputs.
struct Inputs(Value);

impl Scope for Inputs {
    fn look(&self, path: &Path) -> Outcome {
        let Root::Input(name) = &path.root else { return Outcome::Unknown };
        let found = self.0.get(name).and_then(|value| value_at(value, &path.segments));
        found.map_or(Outcome::Missing, |value| Outcome::Known(value.clone()))
    }
}

fn inputs() -> Value {
    json!({ "a": 1, "b": "text", "c": [1, "x", null], "d": { "e": false, "f": [] }, "g": "", "h": true })
}

/// A random expression: its text and its value.
#[derive(Clone, Debug)]
struct Drawn {
    text: String,
    value: Value,
}

fn truth(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
        && *value != json!(0)
        && *value != json!("")
        && *value != json!([])
        && *value != json!({})
}

fn value() -> impl Strategy<Value = Drawn> {
    let drawn = |text: &str, value: Value| Drawn { text: text.to_owned(), value };
    prop::sample::select(vec![
        drawn("inputs.a", json!(1)),
        drawn("inputs.b", json!("text")),
        drawn("inputs.c", json!([1, "x", null])),
        drawn("inputs.c[1]", json!("x")),
        drawn("inputs.d.e", json!(false)),
        drawn("inputs.d.f", json!([])),
        drawn("inputs.g", json!("")),
        drawn("inputs.gone.further[3]", json!(null)),
        drawn("inputs.h", json!(true)),
        drawn("1", json!(1)),
        drawn("0", json!(0)),
        drawn("'x'", json!("x")),
        drawn("\"text\"", json!("text")),
        drawn("null", json!(null)),
        drawn("[1, \"x\", null]", json!([1, "x", null])),
        drawn("{\"k\": {}}", json!({ "k": {} })),
    ])
}

fn expression() -> impl Strategy<Value = Drawn> {
    value().prop_recursive(5, 40, 3, |inner| {
        let bracketed = |drawn: &Drawn| format!("({})", drawn.text);
        let two = (inner.clone(), inner.clone(), 0..5);
        let binary = two.prop_map(move |(left, right, operator)| {
            let (a, b) = (bracketed(&left), bracketed(&right));
            let (text, value) = match operator {
                0 => (format!("{a} && {b}"), truth(&left.value) && truth(&right.value)),
                1 => (format!("{a}||{b}"), truth(&left.value) || truth(&right.value)),
                2 => (format!("{a} == {b}"), left.value == right.value),
                3 => (format!("{a}!={b}"), left.value != right.value),
                _ => (
                    format!("{a}.includes({b})"),
                    match (&left.value, &right.value) {
                        (Value::Array(values), item) => values.contains(item),
                        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                        _ => false,
                    },
                ),
            };
            Drawn { text, value: json!(value) }
        });
        let not =
            inner.prop_map(|drawn| Drawn { text: format!("! ({})", drawn.text), value: json!(!truth(&drawn.value)) });
        prop_oneof![3 => binary, 1 => not]
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn an_expression_has_the_value_of_the_simple_evaluator(drawn in expression()) {
        let parsed = parse(&drawn.text).map_err(|fault| TestCaseError::fail(format!("{}: {fault:?}", drawn.text)))?;
        let expected = match drawn.text.as_str() {
            "inputs.gone.further[3]" => Outcome::Missing,
            _ => Outcome::Known(drawn.value.clone()),
        };
        prop_assert_eq!(evaluate(&parsed, &Inputs(inputs())), expected, "{}", drawn.text);
    }

    #[test]
    fn no_text_of_an_expression_panics(text in "[inputs.a0-9\\[\\](){}'\"&|!=<> ,:\\\\uéx$-]{0,60}") {
        if let Err(fault) = parse(&text) {
            prop_assert!(text.is_char_boundary(fault.at.start) && text.is_char_boundary(fault.at.end), "{:?}", fault);
        }
    }
}
