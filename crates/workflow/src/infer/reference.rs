//! Finds the earlier output that a value came from, and estimates how certain that is.

use serde::Serialize;
use serde_json::Value;

use crate::argument::Argument;
use crate::expression::Segment;
use crate::output::{self, Lookup};
use crate::spec::OutputContract;

/// Minimum length of a value that is matched without a tag.
const SHORTEST: usize = 4;

/// Minimum length at which equal texts are unlikely to be a coincidence.
const TELLING: usize = 12;

/// Maximum number of values that are searched in an output.
const MOST: usize = 20_000;

const DEPTH: usize = 16;

/// The text that replaces a secret.
pub const HIDDEN: &str = "***";

/// How certain it is that a value came from an earlier output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The values are equal, but they are short, or the earlier value is inside an element of a list.
    Low,
    /// The values are equal, and they are long or have the same name.
    Medium,
    /// A tag of the output matches the argument.
    High,
}

/// A value inside an output.
#[derive(Clone, Debug)]
struct Scalar {
    segments: Vec<Segment>,
    value: Value,
    tags: Vec<String>,
}

/// The values inside the output of a call.
#[derive(Clone, Debug, Default)]
pub struct Answer(Vec<Scalar>);

/// The origin of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Index of the call.
    pub call: usize,
    /// The path in the call's output.
    pub segments: Vec<Segment>,
    pub confidence: Confidence,
    pub why: String,
}

impl Answer {
    /// Collects the strings and numbers of an output, with their tags from the contract.
    pub fn of(output: Option<&Value>, contract: &OutputContract) -> Self {
        let mut answer = Self::default();
        if let Some(output) = output {
            answer.take(output, &mut Vec::new(), contract);
        }
        answer
    }

    fn take(&mut self, value: &Value, segments: &mut Vec<Segment>, contract: &OutputContract) {
        if self.0.len() >= MOST || segments.len() > DEPTH {
            return;
        }
        match value {
            Value::Array(values) => {
                for (index, value) in values.iter().enumerate() {
                    segments.push(Segment::Index(index));
                    self.take(value, segments, contract);
                    segments.pop();
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields.iter().filter(|(key, _)| is_writable(key)) {
                    segments.push(Segment::Key(key.clone()));
                    self.take(value, segments, contract);
                    segments.pop();
                }
            }
            Value::String(text) if text.contains(HIDDEN) || text.is_empty() => {}
            Value::String(_) | Value::Number(_) => {
                let tags = match output::find(contract, segments) {
                    Lookup::Field(field) => field.tags.clone(),
                    _ => Vec::new(),
                };
                self.0.push(Scalar { segments: segments.clone(), value: value.clone(), tags });
            }
            Value::Bool(_) | Value::Null => {}
        }
    }
}

/// Returns whether a key can be written in an expression.
fn is_writable(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns the origin of an argument's value, if an earlier call returned the value. The best reason wins, then the latest call,
/// then the shortest path.
pub fn find(argument: Option<&Argument<'_>>, name: &str, value: &Value, earlier: &[Answer]) -> Option<Reference> {
    let length = match value {
        Value::String(text) if text.contains(HIDDEN) => return None,
        Value::String(text) => text.chars().count(),
        Value::Number(number) => number.to_string().len(),
        _ => return None,
    };
    let mut best: Option<(Rank, Reference)> = None;
    for (call, answer) in earlier.iter().enumerate() {
        for scalar in answer.0.iter().filter(|scalar| scalar.value == *value) {
            if length < SHORTEST && scalar.tags.is_empty() {
                continue;
            }
            let fit = Fit::of(argument, name, scalar);
            let rank = Rank { fit, call, shortness: usize::MAX - scalar.segments.len() };
            if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                let is_element = scalar.segments.iter().any(|segment| matches!(segment, Segment::Index(_)));
                let (confidence, why) = fit.explanation(scalar, length, is_element);
                let segments = scalar.segments.clone();
                best = Some((rank, Reference { call, segments, confidence, why }));
            }
        }
    }
    best.map(|(_, reference)| reference)
}

/// The reasons why a value can fit an argument, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Value,
    Name,
    Accepted,
    Preferred,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    fit: Fit,
    call: usize,
    shortness: usize,
}

impl Fit {
    fn of(argument: Option<&Argument<'_>>, name: &str, scalar: &Scalar) -> Self {
        if let Some(argument) = argument {
            if argument.prefer.is_some_and(|prefer| scalar.tags.iter().any(|tag| tag == prefer)) {
                return Self::Preferred;
            }
            if scalar.tags.iter().any(|tag| argument.accepts.contains(tag)) {
                return Self::Accepted;
            }
        }
        match scalar.segments.last() {
            Some(Segment::Key(key)) if key == name => Self::Name,
            _ => Self::Value,
        }
    }

    /// Returns how certain a match with this reason is, and an explanation.
    fn explanation(self, scalar: &Scalar, length: usize, is_element: bool) -> (Confidence, String) {
        let (confidence, why) = match self {
            Self::Preferred | Self::Accepted => {
                (Confidence::High, format!("the argument accepts {}", scalar.tags.join(", ")))
            }
            Self::Name => (Confidence::Medium, "it has the same name and the same value".to_owned()),
            Self::Value if length >= TELLING => (Confidence::Medium, "it has the same value".to_owned()),
            Self::Value => (Confidence::Low, "it has the same value, but the value is short".to_owned()),
        };
        match is_element {
            // Next time, the output may list its elements in a different order.
            true => (Confidence::Low, format!("{why}, in one element of a list")),
            false => (confidence, why),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::expression::value_at;
    use crate::spec::OutputField;

    fn apps() -> OutputContract {
        let field = |name: &str, tag: &str| OutputField {
            name: name.to_owned(),
            r#type: Some("string".to_owned()),
            tags: vec![tag.to_owned()],
        };
        OutputContract { fields: vec![field("id", "app_id"), field("name", "app_name")], ..OutputContract::default() }
    }

    fn of<'a>(accepts: &'a [String], prefer: &'a str) -> Argument<'a> {
        Argument {
            name: "app",
            r#type: "string",
            required: true,
            default: None,
            values: &[],
            forms: &[],
            nullable: false,
            no_null: None,
            in_request: false,
            about: None,
            provider: None,
            accepts,
            prefer: Some(prefer),
        }
    }

    #[test]
    fn the_best_fit_is_preferred_to_the_latest_answer() {
        let first = Answer::of(Some(&json!({ "id": "a-1", "name": "web" })), &apps());
        let later = Answer::of(Some(&json!({ "note": "a-1", "owner": "web-owner-0001" })), &OutputContract::default());
        let accepts = ["app_id".to_owned(), "app_name".to_owned()];
        let argument = of(&accepts, "app_id");
        let find = |value: Value| find(Some(&argument), "app", &value, &[first.clone(), later.clone()]);
        // A short value is certain too if its tag matches.
        let id = find(json!("a-1")).unwrap();
        assert_eq!((id.call, id.segments, id.confidence), (0, vec![Segment::Key("id".to_owned())], Confidence::High));
        assert_eq!(find(json!("web-owner-0001")).unwrap().confidence, Confidence::Medium);
        assert_eq!(find(json!("nothing like it")), None);
        assert_eq!(find(json!(true)), None);
    }

    #[test]
    fn a_short_value_without_a_tag_is_no_reference() {
        let answer =
            [Answer::of(Some(&json!({ "size": "s", "count": 3, "plan": "mini" })), &OutputContract::default())];
        assert_eq!(find(None, "x", &json!("s"), &answer), None);
        assert_eq!(find(None, "x", &json!(3), &answer), None);
        assert_eq!(find(None, "x", &json!("mini"), &answer).unwrap().confidence, Confidence::Low);
        assert_eq!(find(None, "plan", &json!("mini"), &answer).unwrap().confidence, Confidence::Medium);
        let hidden = [Answer::of(Some(&json!({ "token": "***" })), &OutputContract::default())];
        assert_eq!(find(None, "x", &json!("***"), &hidden), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z0-9-]{0,14}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::hash_map("[a-z_.$-]{0,5}", inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn a_reference_leads_to_an_equal_value(outputs in prop::collection::vec(any_json(), 1..4), value in any_json()) {
            let answers: Vec<Answer> =
                outputs.iter().map(|output| Answer::of(Some(output), &OutputContract::default())).collect();
            let scalars = answers.iter().flat_map(|answer| answer.0.iter().map(|scalar| scalar.value.clone()));
            for value in scalars.chain([value]) {
                let Some(found) = find(None, "x", &value, &answers) else { continue };
                prop_assert_eq!(value_at(&outputs[found.call], &found.segments), Some(&value));
                prop_assert_eq!(Some(found), find(None, "x", &value, &answers));
            }
        }
    }
}
