//! Validates the values that are given for the inputs of a workflow.

use regex::RegexBuilder;
use serde_json::{Map, Value};

use super::definition::{Definition, Input, InputType, Join, Mode};
use super::limits::MAX_PATTERN;
use mcpkg_base::error::{Code, Error, Result};

/// Validates the given values against the inputs, including choices and rules. If an input has `join`, its list is joined into
/// one text. The error names the first invalid or unknown input.
pub fn validated(definition: &Definition, given: &Map<String, Value>) -> Result<Map<String, Value>> {
    let mut taken = Map::new();
    for (name, value) in given {
        let Some(input) = definition.inputs.get(name) else {
            let names = definition.inputs.list.iter().map(|named| &*named.id);
            let error = Error::new(Code::InvalidArgument, format!("The workflow has no input '{name}'"));
            return Err(error.suggest(name, names, ""));
        };
        if value.is_null() && !input.is_required() {
            continue;
        }
        check(name, input, value)?;
        taken.insert(name.clone(), joined(input, value));
    }
    Ok(taken)
}

fn check(name: &str, input: &Input, value: &Value) -> Result<()> {
    let several = match (input.mode, value) {
        (Mode::Multiple, Value::Array(values)) => values.as_slice(),
        (Mode::Multiple, _) => return Err(refused(name, "takes a list, because its mode is multiple")),
        (Mode::Single, _) => std::slice::from_ref(value),
    };
    for value in several {
        // For an input that takes several values, each element has the input's type.
        if !fits(input.r#type, value) {
            return Err(refused(name, &format!("must be of type {}", input.r#type.name())));
        }
        let choices = input.choices();
        if !choices.is_empty() && !choices.contains(value) {
            let words: Vec<String> = choices.iter().map(Value::to_string).collect();
            return Err(refused(name, &format!("must be one of {}", words.join(", "))));
        }
    }
    let Some(rules) = &input.validate else { return Ok(()) };
    let length = match value {
        Value::String(text) => Some(text.chars().count()),
        Value::Array(values) => Some(values.len()),
        _ => None,
    };
    if let (Some(least), Some(length)) = (rules.min_length, length)
        && length < least as usize
    {
        return Err(refused(name, &format!("must have a length of at least {least}")));
    }
    if let (Some(most), Some(length)) = (rules.max_length, length)
        && length > most as usize
    {
        return Err(refused(name, &format!("must have a length of at most {most}")));
    }
    if let Some(pattern) = &rules.pattern {
        let regex = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
        let regex = regex.map_err(|error| refused(name, "has an invalid pattern").with_source(error))?;
        for text in several.iter().filter_map(Value::as_str).filter(|_| input.r#type != InputType::Secret) {
            if !regex.is_match(text) {
                return Err(refused(name, &format!("must match `{pattern}`")));
            }
        }
    }
    Ok(())
}

/// Returns the error for an input. It never shows the value, because the value may be a secret.
fn refused(name: &str, why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("The input '{name}' {why}"))
}

fn fits(kind: InputType, value: &Value) -> bool {
    match kind {
        InputType::String | InputType::Secret => value.is_string(),
        InputType::Integer => value.is_i64() || value.is_u64(),
        InputType::Number => value.is_number(),
        InputType::Boolean => value.is_boolean(),
        InputType::Array => value.is_array(),
        InputType::Object => value.is_object(),
    }
}

/// Joins several values into one text, if the input has `join`.
fn joined(input: &Input, value: &Value) -> Value {
    let (Some(Join { separator, wrap_each }), Value::Array(values)) = (&input.join, value) else {
        return value.clone();
    };
    let wrap = wrap_each.as_deref().unwrap_or_default();
    let text = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{wrap}{text}{wrap}")
    };
    values.iter().map(text).collect::<Vec<_>>().join(separator).into()
}

/// Parses the value of a `NAME=VALUE` argument. For unknown inputs and for inputs that take a single text, the value is taken
/// literally. For all others, it is parsed as JSON, and taken literally only if it is not valid JSON.
pub fn typed(definition: &Definition, name: &str, text: &str) -> Value {
    let is_text = definition.inputs.get(name).is_none_or(|input| {
        input.mode == Mode::Single && matches!(input.r#type, InputType::String | InputType::Secret)
    });
    match is_text {
        true => Value::String(text.to_owned()),
        false => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

/// Parses a single value that a person typed. For text inputs, the value is taken literally. For all others, the value is parsed
/// as JSON, and taken literally only if it is not valid JSON.
pub fn element(input: &Input, text: &str) -> Value {
    match input.r#type {
        InputType::String | InputType::Secret => Value::String(text.to_owned()),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> Definition {
        serde_json::from_value(json!({ "workflow": "w", "steps": [], "inputs": {
            "region": { "enum": ["eu", "us"] },
            "size": { "type": "integer", "validate": { "enum": [1, 2] } },
            "name": { "validate": { "pattern": "^[a-z]+$", "min_length": 2, "max_length": 4 } },
            "tags": { "mode": "multiple", "join": { "separator": ", ", "wrap_each": "'" }, "validate": { "max_length": 2 } },
            "note": { "validate": { "required": false } },
            "token": { "type": "secret" },
        } }))
        .unwrap()
    }

    fn take(name: &str, value: Value) -> Result<Value, String> {
        let given = Map::from_iter([(name.to_owned(), value)]);
        validated(&definition(), &given)
            .map(|taken| taken.get(name).cloned().unwrap_or_default())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn x30_a_value_outside_the_enum_is_refused() {
        assert_eq!(take("region", json!("eu")), Ok(json!("eu")));
        assert_eq!(take("region", json!("moon")).unwrap_err(), "The input 'region' must be one of \"eu\", \"us\"");
        assert!(take("size", json!(3)).is_err());
    }

    #[test]
    fn types_and_rules_hold() {
        assert!(take("size", json!("1")).is_err());
        assert_eq!(take("name", json!("abc")), Ok(json!("abc")));
        for bad in ["a", "abcde", "AB"] {
            assert!(take("name", json!(bad)).is_err(), "{bad}");
        }
        assert_eq!(take("token", json!(7)).unwrap_err(), "The input 'token' must be of type secret");
        assert_eq!(take("gone", json!(1)).unwrap_err(), "The workflow has no input 'gone'");
    }

    #[test]
    fn x28_several_values_are_joined_as_the_input_says() {
        assert_eq!(take("tags", json!(["a", "b"])), Ok(json!("'a', 'b'")));
        assert!(take("tags", json!("a")).is_err());
        assert!(take("tags", json!(["a", "b", "c"])).is_err());
    }

    #[test]
    fn x29_what_is_not_required_may_be_left_out() {
        assert_eq!(take("note", json!(null)), Ok(json!(null)));
        assert!(take("region", json!(null)).is_err());
        assert!(!definition().inputs.get("note").unwrap().is_required());
    }
}
