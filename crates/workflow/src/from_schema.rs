//! Derives the arguments and the output contract of a command from JSON Schemas: those of an operation, tool or plugin.

use serde_json::{Map, Value};

use super::api::arguments::marked;
use super::api::reference::References;
use super::api::schema::Shape;
use super::passwords;
use super::spec::{Flag, Form, OutputContract, OutputField};

/// Maximum depth of nested field paths.
const DEPTH: usize = 3;

/// Keys that usually hold a list. If an answer has several arrays, the one with the first of these keys is the list.
pub const LISTS: [&str; 6] = ["items", "results", "data", "values", "entries", "list"];

/// Returns the arguments of an object schema, required ones first. References are followed, and compositions are merged.
pub fn flags(schema: &Map<String, Value>) -> Vec<Flag> {
    let root = Value::Object(schema.clone());
    let references = References::new(&root);
    // A single broken reference must not hide the other arguments.
    let whole = Shape::of(references, &root).unwrap_or_else(|_| Shape::named(&root));
    let passwords = passwords::of_schema(references, &root);
    let flag = |(name, property): &(&str, &Value)| {
        let shape = Shape::of(references, property).unwrap_or_default();
        let items = shape.items.map(|items| Shape::of(references, items).unwrap_or_default());
        let flag = Flag {
            required: whole.required.contains(name),
            nullable: shape.nullable,
            r#enum: shape.values.iter().map(|value| (*value).clone()).collect(),
            any_of: shape.forms.iter().map(Form::of).collect(),
            default: shape.default.filter(|default| !default.is_null()).cloned(),
            format: shape.format.map(str::to_owned),
            items: items.map(|items| items.type_name().to_owned()),
            description: shape.description.map(str::to_owned),
            ..Flag::new(*name, shape.type_name())
        };
        marked(flag, &passwords.within(name))
    };
    let mut flags: Vec<Flag> = whole.properties.iter().map(flag).collect();
    flags.sort_by_key(|flag| !flag.required);
    flags
}

/// Returns the output contract of an answer's schema. `list` is the key of the list, if known.
pub fn output(schema: &Map<String, Value>, list: Option<&str>) -> OutputContract {
    let schema = Value::Object(schema.clone());
    let list = list.map(str::to_owned).or_else(|| list_of(&schema));
    let fields_of = match list.as_deref() {
        None => &schema,
        Some(".") => &schema["items"],
        Some(key) => &schema["properties"][key]["items"],
    };
    let mut fields = Vec::new();
    leaves(fields_of, "", 1, &mut fields);
    let Value::Object(schema) = schema else { return OutputContract::default() };
    OutputContract { fields, list, schema: Some(schema), ..OutputContract::default() }
}

/// Returns where the list is in an answer, if it has one.
fn list_of(schema: &Value) -> Option<String> {
    if type_of(schema) == Some("array") {
        return Some(".".to_owned());
    }
    let properties = schema["properties"].as_object()?;
    let arrays: Vec<&str> = properties
        .iter()
        .filter(|(_, property)| type_of(property) == Some("array"))
        .map(|(name, _)| name.as_str())
        .collect();
    match arrays.as_slice() {
        [only] => Some((*only).to_owned()),
        several => LISTS.iter().find(|name| several.contains(name)).map(|name| (*name).to_owned()),
    }
}

/// Appends the leaf fields of an object, each named by its path. A top-level value that is not an object becomes the field `.`.
fn leaves(schema: &Value, path: &str, depth: usize, fields: &mut Vec<OutputField>) {
    let properties = schema["properties"].as_object().filter(|properties| !properties.is_empty() && depth <= DEPTH);
    let Some(properties) = properties else {
        let name = if path.is_empty() { "." } else { path };
        let r#type = type_of(schema).map(str::to_owned);
        // At the top, an object without known properties says nothing about the answer.
        if !path.is_empty() || r#type.as_deref().is_some_and(|kind| kind != "object") {
            let is_secret = schema["format"] == passwords::FORMAT;
            let tags = is_secret.then(|| passwords::TAG.to_owned()).into_iter().collect();
            fields.push(OutputField { name: name.to_owned(), r#type, tags });
        }
        return;
    };
    for (name, property) in properties {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        leaves(property, &path, depth + 1, fields);
    }
}

/// Returns the type of a schema. If it allows several, returns the first that is not null.
fn type_of(schema: &Value) -> Option<&str> {
    let is_one = |name: &&str| *name != "null";
    match &schema["type"] {
        Value::String(name) => Some(name.as_str()).filter(is_one),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(is_one),
        _ if schema["properties"].is_object() => Some("object"),
        // No type is given: take the first type among the alternatives.
        _ => ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array()?.iter().find_map(type_of)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn arguments_are_the_properties_and_a_default_is_never_a_guess() {
        let flags = flags(&object(json!({
            "type": "object",
            "properties": {
                "region": { "type": ["null", "string"], "enum": ["us", "eu"], "description": "Where" },
                "name": { "type": "string" },
                "ports": { "type": "array", "items": { "type": "integer" }, "default": [80] },
                "what": {},
            },
            "required": ["name"],
        })));
        let told: Vec<_> = flags.iter().map(|flag| (flag.name.as_str(), flag.r#type.as_str(), flag.required)).collect();
        assert_eq!(
            told,
            [("name", "string", true), ("region", "string", false), ("ports", "array", false), ("what", "any", false)]
        );
        assert_eq!((&flags[1].default, flags[1].r#enum.len()), (&None, 2));
        assert_eq!((flags[2].items.as_deref(), &flags[2].default), (Some("integer"), &Some(json!([80]))));
    }

    #[test]
    fn a_list_is_the_only_array_or_has_a_usual_name() {
        let list = |schema: Value| output(&object(schema), None).list;
        let array = json!({ "type": "array", "items": { "type": "object" } });
        assert_eq!(list(array.clone()).as_deref(), Some("."));
        assert_eq!(list(json!({ "properties": { "apps": array, "total": {} } })).as_deref(), Some("apps"));
        assert_eq!(list(json!({ "properties": { "a": array, "results": array } })).as_deref(), Some("results"));
        assert_eq!(list(json!({ "properties": { "a": array, "b": array } })), None);
    }

    #[test]
    fn fields_are_the_leaves_of_an_element() {
        let schema = json!({ "properties": { "apps": { "type": "array", "items": { "properties": {
            "id": { "type": "string" },
            "owner": { "properties": { "id": { "type": "integer" }, "a": { "properties": { "b": { "properties": {
                "c": { "type": "string" } } } } } } },
        } } } } });
        let names = |output: &OutputContract| output.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&output(&object(schema), None)), ["id", "owner.id", "owner.a.b"]);
        let texts = output(&object(json!({ "type": "array", "items": { "type": "string" } })), None);
        assert_eq!((names(&texts), texts.fields[0].r#type.as_deref()), (vec![".".to_owned()], Some("string")));
        assert!(output(&object(json!({ "type": "object" })), None).fields.is_empty());
    }
}
