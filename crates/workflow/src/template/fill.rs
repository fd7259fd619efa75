//! Fills in the parameters of a template, such as `$(NAME)`.
//!
//! If the parameter is the whole string, the value keeps its type. In other text, the value is inserted as text. Inside `${{ }}`,
//! a path is inserted unchanged, and any other value as a literal. For an empty path, the dot before it is removed too.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

#[derive(Debug, PartialEq)]
enum Part<'t> {
    Text(&'t str),
    Parameter(&'t str),
}

/// Values for the parameters.
pub struct Filling<'a> {
    pub values: &'a Map<String, Value>,
    /// The names of parameters that are paths.
    pub paths: BTreeSet<&'a str>,
}

/// Returns the names of the parameters that a value uses.
pub fn placeholders(value: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    gather(value, &mut names);
    names
}

fn gather(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => names.extend(parts(text).into_iter().filter_map(|part| match part {
            Part::Parameter(name) => Some(name.to_owned()),
            Part::Text(_) => None,
        })),
        Value::Array(values) => values.iter().for_each(|value| gather(value, names)),
        Value::Object(fields) => fields.values().for_each(|value| gather(value, names)),
        _ => {}
    }
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("$(") {
        let Some(end) = rest[at..].find(')') else { break };
        let name = &rest[at + 2..at + end];
        if at > 0 {
            parts.push(Part::Text(&rest[..at]));
        }
        parts.push(Part::Parameter(name));
        rest = &rest[at + end + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

impl Filling<'_> {
    /// Fills in the parameters of a value.
    pub fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(values) => values.iter().map(|value| self.fill(value)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.iter().map(|(key, value)| (key.clone(), self.fill(value))).collect())
            }
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> Value {
        let parts = parts(text);
        if let [Part::Parameter(name)] = parts.as_slice() {
            return self.values.get(*name).cloned().unwrap_or_default();
        }
        let mut filled = String::new();
        for part in parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Parameter(name) => self.push(name, &mut filled),
            }
        }
        Value::String(filled)
    }

    fn push(&self, name: &str, filled: &mut String) {
        let value = self.values.get(name).cloned().unwrap_or_default();
        let is_inside = filled.rfind("${{").is_some_and(|begin| !filled[begin..].contains("}}"));
        match (&value, is_inside && !self.paths.contains(name)) {
            (Value::String(text), false) => {
                if text.is_empty() && is_inside && filled.ends_with('.') {
                    filled.pop();
                }
                filled.push_str(text);
            }
            (value, _) => filled.push_str(&value.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(text: &str) -> Value {
        let values = json!({ "text": "it's", "number": 3, "path": "data.state", "none": "", "with": { "a": [1] } });
        let values = values.as_object().unwrap();
        Filling { values, paths: BTreeSet::from(["path", "none"]) }.fill(&json!(text))
    }

    #[test]
    fn a_parameter_is_inserted_as_its_place_requires() {
        assert_eq!(fill("$(with)"), json!({ "a": [1] }));
        assert_eq!(fill("$(number)"), json!(3));
        assert_eq!(fill("a $(text) b $(number)"), json!("a it's b 3"));
        assert_eq!(
            fill("${{ steps.a.output.$(path) == $(text) }}"),
            json!("${{ steps.a.output.data.state == \"it's\" }}")
        );
        assert_eq!(fill("${{ !steps.a.output.$(none) }} $(text)"), json!("${{ !steps.a.output }} it's"));
        assert_eq!(fill("costs $5 (or so)"), json!("costs $5 (or so)"));
        assert_eq!(fill("$(open"), json!("$(open"));
    }

    #[test]
    fn parameters_are_found_wherever_they_stand() {
        let names = placeholders(&json!({ "a": ["$(x)", { "b": "${{ $(y) }} $(x)" }], "c": 1 }));
        assert_eq!(names, BTreeSet::from(["x".to_owned(), "y".to_owned()]));
    }
}
