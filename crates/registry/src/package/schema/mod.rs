//! Checks values against the JSON Schemas of tools: draft 2020-12 unless the schema names another, without remote
//! references.

use jsonschema::{PatternOptions, Validator};
use serde::Serialize;
use serde_json::Value;

use self::reference::{MAX_REFERENCES, pointed};

mod cost;
mod reference;

/// An error in a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misfit {
    /// The JSON Pointer of the error; empty for the whole value.
    pub path: String,
    /// The message, without a final period.
    pub message: String,
}

/// The maximum length in characters of a message, which may quote a value.
const MAX_MESSAGE: usize = 300;

/// The maximum number of errors that are reported for one value.
const MAX_MISFITS: usize = 50;

/// Checks a value against a schema, and returns up to 50 errors.
pub fn check_input(schema: &Value, value: &Value) -> Vec<Misfit> {
    match compile(schema) {
        Ok(validator) => {
            let errors = validator.iter_errors(value).take(MAX_MISFITS);
            errors.map(|error| Misfit::new(error.instance_path().as_str(), error.to_string())).collect()
        }
        // Never happens: reading a manifest already refuses an unusable schema.
        Err(why) => vec![Misfit::new("", format!("the schema cannot be used: {}", why.message))],
    }
}

impl Misfit {
    fn new(path: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        let cut = match message.char_indices().nth(MAX_MESSAGE) {
            Some((at, _)) => format!("{}...", &message[..at]),
            None => message,
        };
        Self { path: path.to_owned(), message: cut }
    }
}

/// Returns the first reason why a schema is invalid, with its position in the schema.
pub(super) fn wrong(schema: &Value) -> Option<Misfit> {
    compile(schema).err()
}

fn compile(schema: &Value) -> Result<Validator, Misfit> {
    cost::check(schema).map_err(|why| Misfit::new("", why))?;
    // Patterns come from strangers. This regex engine does not backtrack, so no pattern can make it slow.
    let options = jsonschema::options().offline().with_pattern_options(PatternOptions::regex());
    options.build(schema).map_err(|error| {
        let path = error.instance_path().as_str();
        match schema.pointer(path) {
            Some(named) if is_type_keyword(path) => Misfit::new(path, format!("{named} is not a type: {TYPES}")),
            _ => Misfit::new(path, error.to_string()),
        }
    })
}

/// The valid values of the keyword `type`.
const TYPES: &str = "`type` must be array, boolean, integer, null, number, object or string, or a list of these names";

/// Returns whether a pointer leads to the keyword `type`, as opposed to a property named `type`.
fn is_type_keyword(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), [.., above, "type"] if *above != "properties") || path == "/type"
}

/// A property of a schema, after following references inside the schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Property<'a> {
    schema: &'a Value,
}

/// Returns the property `name`, if the schema lists it.
pub(super) fn property<'a>(schema: &'a Value, name: &str) -> Option<Property<'a>> {
    let mut found = schema.get("properties")?.get(name)?;
    for _ in 0..MAX_REFERENCES {
        // Keywords next to a `$ref` also count, so they are checked before following it.
        let Some(reference) = found.get("$ref").and_then(Value::as_str) else { break };
        if (Property { schema: found }).says_anything() {
            break;
        }
        found = pointed(schema, reference)?;
    }
    Some(Property { schema: found })
}

impl<'a> Property<'a> {
    fn says_anything(self) -> bool {
        ["default", "enum", "const", "pattern", "format", "x-dash"].iter().any(|key| self.schema.get(key).is_some())
    }

    pub(super) fn default(self) -> Option<&'a Value> {
        self.schema.get("default")
    }

    /// Returns whether the author decided how values may start: the schema lists the values, has a pattern for
    /// them, or sets `x-dash: true`.
    pub(super) fn takes_dashes(self) -> bool {
        ["enum", "const", "pattern"].iter().any(|key| self.schema.get(key).is_some())
            || self.schema.get("x-dash") == Some(&Value::Bool(true))
    }

    /// Returns whether the property is the path of a user's file.
    fn is_path(self) -> bool {
        self.schema.get("format").and_then(Value::as_str) == Some("path")
    }
}

/// Returns whether a call must pass `name`. Without a schema, every parameter is required.
pub(super) fn is_required(schema: Option<&Value>, name: &str) -> bool {
    let Some(schema) = schema else { return true };
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required.as_str() == Some(name)))
}

/// Returns whether a call may leave out `name` and there is no default.
pub(super) fn may_be_missing(schema: Option<&Value>, name: &str) -> bool {
    let default = schema.and_then(|schema| property(schema, name)).and_then(Property::default);
    default.is_none() && !is_required(schema, name)
}

/// Returns the names of a schema's properties; `None` if keywords such as `$ref` may allow properties that are
/// listed elsewhere.
pub fn listed(schema: &Value) -> Option<Vec<&str>> {
    const ELSEWHERE: [&str; 9] = [
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "patternProperties",
        "dependentSchemas",
        "propertyNames",
    ];
    if ELSEWHERE.iter().any(|key| schema.get(key).is_some())
        || schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
    {
        return None;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    Some(properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str)).collect())
}

/// Returns the names of the properties listed in the schema itself.
pub(super) fn properties(schema: &Value) -> Option<Vec<&str>> {
    Some(schema.get("properties")?.as_object()?.keys().map(String::as_str).collect())
}

/// Returns the parameters that are paths of a user's files: properties with `format: path`.
pub fn path_inputs(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str));
    names.filter(|name| property(schema, name).is_some_and(Property::is_path)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn x26_the_whole_value_is_checked_each_misfit_with_its_path() {
        let schema = json!({
            "type": "object",
            "required": ["city"],
            "properties": {
                "city": { "type": "string" },
                "days": { "type": "integer" },
                "at": { "type": "object", "properties": { "lat": { "type": "number", "maximum": 90 } } },
            },
            "additionalProperties": false,
        });
        assert!(check_input(&schema, &json!({ "city": "Bern", "days": 2, "at": { "lat": 46 } })).is_empty());
        let found = check_input(&schema, &json!({ "days": "5", "at": { "lat": 91 }, "x": 1 }));
        let mut paths: Vec<_> = found.iter().map(|misfit| misfit.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["", "", "/at/lat", "/days"]);
        assert!(found.iter().any(|misfit| misfit.message.contains("\"city\" is a required property")), "{found:?}");
    }

    #[test]
    fn a_schema_is_whole_and_reaches_nothing_elsewhere() {
        for remote in ["https://example.com/s.json", "file:///etc/passwd", "http://127.0.0.1/x", "other.json"] {
            assert!(wrong(&json!({ "properties": { "a": { "$ref": remote } } })).is_some(), "{remote}");
        }
        let misfit = wrong(&json!({ "properties": { "a": { "type": "strin" } } })).expect("no type");
        assert_eq!(misfit.path, "/properties/a/type");
        assert!(
            misfit.message.starts_with("\"strin\" is not a type: `type` must be array, boolean"),
            "{}",
            misfit.message
        );
        assert!(wrong(&json!({ "pattern": "(" })).is_some());
        assert!(wrong(&json!({ "pattern": "(?<=a)b" })).is_some(), "no engine that backtracks");
        assert!(wrong(&json!({ "$defs": { "a": { "type": "string" } }, "$ref": "#/$defs/a" })).is_none());
    }

    #[test]
    fn a_message_is_short_whatever_it_quotes() {
        let found = check_input(&json!({ "type": "integer" }), &json!("ü".repeat(100_000)));
        assert!(found[0].message.chars().count() <= MAX_MESSAGE + 3);
    }

    #[test]
    fn properties_are_found_through_references() {
        let schema = json!({
            "$defs": { "unit": { "enum": ["C", "F"], "default": "C" }, "file": { "type": "string", "format": "path" } },
            "properties": { "unit": { "$ref": "#/$defs/unit" }, "file": { "$ref": "#/$defs/file" }, "free": {} },
            "required": ["free"],
        });
        let unit = property(&schema, "unit").unwrap();
        assert_eq!(unit.default(), Some(&json!("C")));
        assert!(unit.takes_dashes() && !property(&schema, "free").unwrap().takes_dashes());
        assert_eq!(path_inputs(&schema), ["file"]);
        assert!(is_required(Some(&schema), "free") && !is_required(Some(&schema), "unit") && is_required(None, "x"));
        assert_eq!(listed(&schema), Some(vec!["unit", "file", "free"]));
        assert_eq!(listed(&json!({ "allOf": [] })), None);
    }
}
