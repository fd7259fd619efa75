//! Determines which types and values a schema accepts, from `type`, `enum`, `const` and compositions such as `anyOf`.
//!
//! The result is a list of forms. A form is a type with its accepted values, and a value is valid if one of the forms accepts
//! it.

use serde_json::Value;

use crate::spec;

/// One type that a value may have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form<'d> {
    /// The JSON type; `None` accepts any value.
    pub kind: Option<&'d str>,
    /// The accepted values; empty means all values of the type.
    pub values: Vec<&'d Value>,
}

impl spec::Form {
    pub fn of(form: &Form<'_>) -> Self {
        let r#enum = form.values.iter().map(|value| (*value).clone()).collect();
        Self { r#type: form.kind.unwrap_or("any").to_owned(), r#enum }
    }
}

/// Returns the forms that `type`, `enum` and `const` of a schema allow, and whether it accepts null. A schema that accepts
/// nothing but null has no forms.
pub fn own(schema: &Value) -> (Vec<Form<'_>>, bool) {
    let mut nullable = schema["nullable"] == true || schema["x-nullable"] == true;
    let mut forms = vec![Form::default()];
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let has_type = !kinds.is_empty();
    if has_type {
        nullable |= kinds.contains(&"null");
        let kinds = kinds.into_iter().filter(|kind| *kind != "null");
        forms = merged(kinds.map(|kind| Form { kind: Some(kind), values: Vec::new() }).collect());
    }
    let listed = schema["enum"].as_array();
    for listed in
        listed.map(|values| values.iter().collect()).into_iter().chain(schema.get("const").map(|one| vec![one]))
    {
        let listed: Vec<&Value> = listed;
        nullable |= listed.iter().any(|value| value.is_null());
        // Like `type: null`, `enum: [null]` has no forms. The empty list must not reach `both`, which would ignore it.
        if !has_type && !listed.is_empty() && listed.iter().all(|value| value.is_null()) {
            forms.clear();
            continue;
        }
        let values = listed.into_iter().filter(|value| !value.is_null());
        forms =
            both(forms, merged(values.map(|value| Form { kind: Some(kind(value)), values: vec![value] }).collect()));
    }
    (forms, nullable)
}

/// Guesses the type of a schema that names none, for example `object` if it has `properties`.
pub fn guessed<'d>(forms: Vec<Form<'d>>, schema: &Value) -> Vec<Form<'d>> {
    let of = |kind| vec![Form { kind: Some(kind), values: Vec::new() }];
    match &forms[..] {
        [Form { kind: None, .. }] if schema["properties"].as_object().is_some_and(|known| !known.is_empty()) => {
            of("object")
        }
        [Form { kind: None, .. }] if schema["items"].is_object() => of("array"),
        _ => forms,
    }
}

/// Merges forms of the same type, with all their accepted values.
pub fn merged(forms: Vec<Form<'_>>) -> Vec<Form<'_>> {
    if forms.iter().any(|form| form.kind.is_none()) {
        return vec![Form::default()];
    }
    // JSON Schema's `number` includes integers.
    let takes_numbers = forms.iter().any(|form| form.kind == Some("number") && form.values.is_empty());
    let mut merged: Vec<Form<'_>> = Vec::new();
    for form in forms.into_iter().filter(|form| !takes_numbers || form.kind != Some("integer")) {
        match merged.iter_mut().find(|known| known.kind == form.kind) {
            None => merged.push(form),
            Some(known) if known.values.is_empty() || form.values.is_empty() => known.values.clear(),
            Some(known) => {
                let new: Vec<_> = form.values.into_iter().filter(|value| !known.values.contains(value)).collect();
                known.values.extend(new);
            }
        }
    }
    merged
}

/// Returns the forms that two schemas both accept. If there are none, returns the forms of the first schema that has any.
pub fn both<'d>(first: Vec<Form<'d>>, second: Vec<Form<'d>>) -> Vec<Form<'d>> {
    let common = first.iter().flat_map(|one| second.iter().filter_map(|other| common(one, other)));
    match common.collect::<Vec<_>>() {
        none if none.is_empty() => {
            if first.is_empty() {
                second
            } else {
                first
            }
        }
        common => merged(common),
    }
}

fn common<'d>(one: &Form<'d>, other: &Form<'d>) -> Option<Form<'d>> {
    let kind = match (one.kind, other.kind) {
        (None, kind) | (kind, None) => kind,
        (Some(one), Some(other)) if one == other => Some(one),
        // Listed values such as 1 and 2 do not make the type integer, so it stays number.
        (Some("number"), Some("integer")) if !other.values.is_empty() => Some("number"),
        (Some("integer"), Some("number")) if !one.values.is_empty() => Some("number"),
        (Some("number"), Some("integer")) | (Some("integer"), Some("number")) => Some("integer"),
        _ => return None,
    };
    let values = match (one.values.is_empty(), other.values.is_empty()) {
        (true, _) => other.values.clone(),
        (_, true) => one.values.clone(),
        _ => one.values.iter().copied().filter(|value| other.values.contains(value)).collect(),
    };
    let is_none = values.is_empty() && !(one.values.is_empty() && other.values.is_empty());
    (!is_none).then_some(Form { kind, values })
}

/// Returns the JSON type of an enum value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        Value::Object(_) | Value::Null => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::reference::References;
    use super::super::schema::Shape;
    use super::*;

    /// Formats what a schema accepts: the type, the values, and the forms.
    fn accepted_values(schema: &Value) -> String {
        let shape = Shape::of(References::new(schema), schema).expect("a shape");
        let form = |kind: Option<&str>, values: &[&Value]| match values {
            [] => kind.unwrap_or("any").to_owned(),
            values => format!("{} {}", kind.unwrap_or("any"), json!(values)),
        };
        let forms: Vec<String> = shape.forms.iter().map(|one| form(one.kind, &one.values)).collect();
        let null = if shape.nullable { " or null" } else { "" };
        match forms.is_empty() {
            true => form(shape.kind, &shape.values) + null,
            false => forms.join(" | ") + null,
        }
    }

    #[test]
    fn a_value_is_taken_by_any_of_the_branches() {
        for (schema, expected) in [
            (json!({ "anyOf": [{ "type": "string" }, { "type": "string", "enum": ["a"] }] }), "string"),
            (json!({ "anyOf": [{ "const": "a" }, { "const": "b" }] }), "string [\"a\",\"b\"]"),
            (
                json!({ "oneOf": [{ "type": "string", "enum": ["auto"] }, { "type": "integer" }] }),
                "string [\"auto\"] | integer",
            ),
            (json!({ "oneOf": [{ "properties": { "x": {} } }, { "enum": [""] }] }), "object | string [\"\"]"),
            (json!({ "anyOf": [{ "type": "string" }, {}] }), "any"),
            (json!({ "type": ["integer", "string", "null"] }), "integer | string or null"),
            (json!({ "enum": ["auto", 1] }), "any [\"auto\",1]"),
            (json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }), "string or null"),
            (json!({ "anyOf": [{ "type": "string" }, { "enum": [null] }] }), "string or null"),
            (json!({ "oneOf": [{ "type": "integer" }, { "const": null }] }), "integer or null"),
            (json!({ "enum": ["a", null] }), "string [\"a\"] or null"),
            (json!({ "enum": [] }), "any"),
            (json!({ "type": "string", "nullable": true }), "string or null"),
            (json!({ "type": "null" }), "any or null"),
        ] {
            assert_eq!(accepted_values(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_value_must_satisfy_all_keywords() {
        for (schema, expected) in [
            (json!({ "type": "string", "anyOf": [{ "enum": ["a"] }, { "enum": ["b"] }] }), "string [\"a\",\"b\"]"),
            (json!({ "allOf": [{ "enum": ["a", "b"] }, { "enum": ["b", "c"] }] }), "string [\"b\"]"),
            (json!({ "type": "number", "enum": [1, 2] }), "number [1,2]"),
            (json!({ "type": "object", "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }), "object"),
            // Unquoted numbers for a string type are common in YAML. If the values were filtered by type, none would be left.
            (json!({ "type": "string", "enum": [1, 2] }), "string"),
        ] {
            assert_eq!(accepted_values(&schema), expected, "{schema}");
        }
    }
}
