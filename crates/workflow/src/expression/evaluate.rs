//! Evaluates expressions, even while some values are unknown.

use serde_json::Value;

use super::ast::{Expression, Node, Path, Segment};
use super::template::{Part, Template};

/// Provides the values of paths.
pub trait Scope {
    fn look(&self, path: &Path) -> Outcome;
}

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Known(Value),
    /// There is no such value. In a condition, it counts as null.
    Missing,
    /// The value will be known only during the run.
    Unknown,
}

impl Outcome {
    fn or_null(self) -> Option<Value> {
        match self {
            Self::Known(value) => Some(value),
            Self::Missing => Some(Value::Null),
            Self::Unknown => None,
        }
    }
}

/// Returns whether a value counts as true: everything except false, null, 0, and empty strings, lists and mappings.
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(values) => !values.is_empty(),
    }
}

/// Evaluates a condition. Returns `None` if the result will be known only during the run.
pub fn condition(expression: &Expression, scope: &dyn Scope) -> Option<bool> {
    match &expression.node {
        Node::Or(parts) => any(parts, true, scope),
        Node::And(parts) => any(parts, false, scope).map(|found| !found),
        Node::Not(part) => condition(part, scope).map(|holds| !holds),
        Node::Equal(is_equal, left, right) => {
            let (left, right) = (value(left, scope)?, value(right, scope)?);
            Some(same(&left, &right) == *is_equal)
        }
        Node::Includes(list, item) => {
            let (list, item) = (value(list, scope)?, value(item, scope)?);
            Some(match (&list, &item) {
                (Value::Array(values), _) => values.iter().any(|value| same(value, &item)),
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                _ => false,
            })
        }
        Node::Path(_) | Node::Literal(_) => value(expression, scope).as_ref().map(is_true),
    }
}

/// Returns whether any condition has the result `wanted`. If one has it, unknown conditions do not matter. Otherwise, returns
/// `None` if a condition is unknown.
fn any(parts: &[Expression], wanted: bool, scope: &dyn Scope) -> Option<bool> {
    let mut is_known = true;
    for part in parts {
        match condition(part, scope) {
            Some(holds) if holds == wanted => return Some(true),
            Some(_) => {}
            None => is_known = false,
        }
    }
    is_known.then_some(false)
}

fn value(expression: &Expression, scope: &dyn Scope) -> Option<Value> {
    evaluate(expression, scope).or_null()
}

/// Evaluates an expression. Comparisons and logical operators give a boolean; a path keeps its value's type.
pub fn evaluate(expression: &Expression, scope: &dyn Scope) -> Outcome {
    match &expression.node {
        Node::Path(path) => scope.look(path),
        Node::Literal(value) => Outcome::Known(value.clone()),
        _ => condition(expression, scope).map_or(Outcome::Unknown, |holds| Outcome::Known(Value::Bool(holds))),
    }
}

/// Returns whether two values have the same type and value. Numbers compare by value, so 1 equals 1.0.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || (left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

pub fn value_at<'v>(value: &'v Value, segments: &[Segment]) -> Option<&'v Value> {
    segments.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.get(index),
    })
}

impl Template {
    /// Fills in the template. A template that is a single expression gives that expression's value, and any other gives text. If
    /// parts are missing or unknown, the result is the outcome of the first such part.
    pub fn fill(&self, scope: &dyn Scope) -> Outcome {
        if let Some(expression) = self.alone() {
            return evaluate(expression, scope);
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Expression(expression) => match evaluate(expression, scope) {
                    Outcome::Known(value) => text.push_str(&as_text(&value)),
                    other => return other,
                },
            }
        }
        Outcome::Known(Value::String(text))
    }
}

/// Formats a value for use in text: null as an empty text, lists and mappings as compact JSON.
fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::ast::Root;
    use super::super::parse::parse;
    use super::*;

    /// A scope that has only these input values. The outputs of steps are unknown.
    struct Given(Value);

    impl Scope for Given {
        fn look(&self, path: &Path) -> Outcome {
            match &path.root {
                Root::Input(name) => self
                    .0
                    .get(name)
                    .and_then(|value| value_at(value, &path.segments))
                    .map_or(Outcome::Missing, |value| Outcome::Known(value.clone())),
                _ => Outcome::Unknown,
            }
        }
    }

    fn given() -> Given {
        Given(json!({
            "yes": true, "no": false, "zero": 0, "empty": "", "none": [], "nothing": {}, "null": null, "word": "false",
            "one": 1, "float": 1.0, "list": [1, "a", { "b": [2] }], "text": "hello",
        }))
    }

    fn holds(text: &str) -> Option<bool> {
        condition(&parse(text).unwrap(), &given())
    }

    #[test]
    fn x01_false_zero_and_what_is_empty_are_false() {
        for name in ["no", "zero", "empty", "none", "nothing", "null", "gone"] {
            assert_eq!(holds(&format!("inputs.{name}")), Some(false), "{name}");
        }
        for name in ["yes", "one", "list", "word", "text"] {
            assert_eq!(holds(&format!("inputs.{name}")), Some(true), "{name}");
        }
    }

    #[test]
    fn x03_texts_in_single_quotes_match() {
        assert_eq!(holds("inputs.text == 'hello'"), Some(true));
        assert_eq!(holds("inputs.text != 'hello'"), Some(false));
    }

    #[test]
    fn x04_a_comparison_can_be_in_parentheses() {
        assert_eq!(holds("(inputs.text == \"hello\")"), Some(true));
        assert_eq!(holds("!(inputs.text == 'x') && (inputs.one == 1 || inputs.no)"), Some(true));
    }

    #[test]
    fn types_are_compared_too() {
        assert_eq!(holds("inputs.one == '1'"), Some(false));
        assert_eq!(holds("inputs.one == inputs.float"), Some(true));
        assert_eq!(holds("inputs.gone == null"), Some(true));
        assert_eq!(holds("inputs.list.includes('a')"), Some(true));
        assert_eq!(holds("inputs.list.includes('1')"), Some(false));
        assert_eq!(holds("inputs.text.includes('ell')"), Some(true));
        assert_eq!(holds("inputs.one.includes(1)"), Some(false));
    }

    #[test]
    fn a_result_is_unknown_unless_the_known_operand_decides() {
        assert_eq!(holds("steps.a.output.ok"), None);
        assert_eq!(holds("steps.a.output.ok == true"), None);
        assert_eq!(holds("!steps.a.output.ok"), None);
        assert_eq!(holds("inputs.no && steps.a.output.ok"), Some(false));
        assert_eq!(holds("steps.a.output.ok || inputs.yes"), Some(true));
        assert_eq!(holds("steps.a.output.ok && inputs.yes"), None);
    }

    fn filled(text: &str) -> Outcome {
        let (template, faults) = Template::read(text);
        assert_eq!(faults, []);
        template.fill(&given())
    }

    #[test]
    fn x02_what_is_missing_never_leaves_the_template_in_the_text() {
        assert_eq!(filled("${{ inputs.gone }} x"), Outcome::Missing);
        assert_eq!(filled("x ${{ inputs.gone }}"), Outcome::Missing);
        assert_eq!(filled("x ${{ steps.a.output }}"), Outcome::Unknown);
    }

    #[test]
    fn x05_an_index_in_brackets_or_after_a_dot_is_the_same() {
        assert_eq!(filled("${{ inputs.list[2].b[0] }}"), Outcome::Known(json!(2)));
        assert_eq!(filled("${{ inputs.list.2.b.0 }}"), Outcome::Known(json!(2)));
        assert_eq!(filled("${{ inputs.list[9] }}"), Outcome::Missing);
    }

    #[test]
    fn x06_a_template_alone_keeps_its_type() {
        assert_eq!(filled("${{ inputs.list }}"), Outcome::Known(json!([1, "a", { "b": [2] }])));
        assert_eq!(filled("${{ inputs.one }}"), Outcome::Known(json!(1)));
        assert_eq!(filled("${{ inputs.one == 1 }}"), Outcome::Known(json!(true)));
        assert_eq!(
            filled("n=${{ inputs.one }} l=${{ inputs.list }} t=${{ inputs.yes }} z=${{ inputs.null }}."),
            Outcome::Known(json!("n=1 l=[1,\"a\",{\"b\":[2]}] t=true z=."))
        );
    }
}
