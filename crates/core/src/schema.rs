//! Turns an argument struct into a JSON Schema in the contracts' form: plain types and descriptions, and no mention of null.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// Returns the schema of `T` without references: everything is inlined.
pub fn generate<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.into_generator().into_root_schema_for::<T>()
}

/// Returns the schema in the contracts' form: `type`, `properties` (even if there are none), and `required` if any
/// field is.
///
/// A field is optional if it is not in `required`. The contracts do not mention null, titles, defaults, limits or
/// Rust's integer formats, so all of these are removed.
pub fn contract_form(schema: Schema) -> Map<String, Value> {
    let mut schema = schema.to_value();
    tidy(&mut schema);
    let Value::Object(mut schema) = schema else {
        return Map::new();
    };
    let mut object = Map::new();
    object.insert("type".to_owned(), Value::from("object"));
    object.insert("properties".to_owned(), schema.remove("properties").unwrap_or_else(|| Value::Object(Map::new())));
    if let Some(required) = schema.remove("required") {
        object.insert("required".to_owned(), required);
    }
    object
}

fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for noise in ["title", "format", "minimum", "maximum", "default"] {
                // Keep an object: it is the schema of a property that is called `title`, for example. The values of these
                // keywords are never objects.
                if map.get(noise).is_some_and(|value| !value.is_object()) {
                    map.shift_remove(noise);
                }
            }
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    map.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(options)) = map.get_mut("anyOf") {
                options.retain(|option| option.get("type").is_none_or(|name| name != "null"));
                if let [Value::Object(only)] = options.as_slice() {
                    let only = only.clone();
                    map.shift_remove("anyOf");
                    for (key, value) in only {
                        map.entry(key).or_insert(value);
                    }
                }
            }
            // The contracts put the type before the description.
            let is_schema = |map: &Map<String, Value>| {
                map.get("type").is_some_and(|kind| !kind.is_object())
                    && map.get("description").is_some_and(Value::is_string)
            };
            if is_schema(map) {
                let mut rest = std::mem::take(map);
                for first in ["type", "description"] {
                    if let Some(value) = rest.shift_remove(first) {
                        map.insert(first.to_owned(), value);
                    }
                }
                map.extend(rest);
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A doc comment of the struct, which is not the tool's description.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Sample {
        /// The name
        name: String,
        /// How many
        limit: Option<u32>,
        /// Its title
        title: Option<String>,
        /// What it is
        description: Option<String>,
    }

    #[derive(JsonSchema)]
    struct Nothing {}

    #[test]
    fn optional_fields_are_plain_and_types_come_first() {
        let schema = Value::Object(contract_form(generate::<Sample>()));
        assert_eq!(
            schema.to_string(),
            r#"{"type":"object","properties":{"name":{"type":"string","description":"The name"},"limit":{"type":"integer","description":"How many"},"title":{"type":"string","description":"Its title"},"description":{"type":"string","description":"What it is"}},"required":["name"]}"#
        );
    }

    #[test]
    fn a_struct_without_fields_still_has_properties() {
        let schema = Value::Object(contract_form(generate::<Nothing>()));
        assert_eq!(schema.to_string(), r#"{"type":"object","properties":{}}"#);
    }
}
