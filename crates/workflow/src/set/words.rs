//! Converts values from and to the words that people write in a form: a path without braces, JSON, or plain text.

use serde_json::Value;

use crate::argument::Argument;
use crate::expression::{Node, Root, Template, parse};

/// Returns the value that a person means: a path such as `inputs.app` becomes a template, JSON becomes its value, and anything
/// else is text. JSON that `argument` does not accept is text too: for an argument that takes text, `5` becomes `"5"`.
pub fn value_of(words: &str, argument: Option<&Argument<'_>>) -> Value {
    if is_path(words) {
        return Value::String(format!("${{{{ {words} }}}}"));
    }
    match serde_json::from_str::<Value>(words) {
        Ok(value) if value.is_string() => value,
        Ok(value) if argument.is_none_or(|argument| argument.refuses(&value).is_none()) => value,
        _ => Value::String(words.to_owned()),
    }
}

/// Writes a value in the words that [`value_of`] reads. Returns `None` for a mapping or a list, which a form cannot show.
pub fn words_of(value: &Value) -> Option<String> {
    match value {
        Value::Object(_) | Value::Array(_) => None,
        Value::String(text) => {
            let inside = text.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).map(str::trim);
            let is_alone = Template::may_be(text) && Template::read(text).0.alone().is_some();
            let words = inside.filter(|inside| is_alone && is_path(inside));
            Some(words.map_or_else(|| value.to_string(), str::to_owned))
        }
        other => Some(other.to_string()),
    }
}

/// Returns whether a text is a path such as `steps.create_app.output.id`.
fn is_path(words: &str) -> bool {
    parse(words).is_ok_and(|expression| match expression.node {
        Node::Path(path) => matches!(path.root, Root::Input(_) | Root::Step(_) | Root::Env(_) | Root::Secret(_)),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::Flag;

    #[test]
    fn words_are_an_expression_json_or_text() {
        let (text, number) = (Flag::new("a", "string"), Flag::new("a", "integer"));
        let of = |words, flag| value_of(words, Some(&Argument::from(flag)));
        assert_eq!(of("inputs.name", &text), json!("${{ inputs.name }}"));
        assert_eq!(of("steps.a.output.id", &number), json!("${{ steps.a.output.id }}"));
        assert_eq!(of("\"inputs.name\"", &text), json!("inputs.name"));
        assert_eq!(of("5", &text), json!("5"));
        assert_eq!(of("5", &number), json!(5));
        assert_eq!(of("small plan", &text), json!("small plan"));
        assert_eq!(value_of("true", None), json!(true));
        for (value, words) in [
            (json!("${{ inputs.name }}"), "inputs.name"),
            (json!("small"), "\"small\""),
            (json!("a ${{ inputs.b }}"), "\"a ${{ inputs.b }}\""),
            (json!(5), "5"),
        ] {
            assert_eq!(words_of(&value).as_deref(), Some(words));
        }
        assert_eq!(words_of(&json!([1])), None);
    }
}
