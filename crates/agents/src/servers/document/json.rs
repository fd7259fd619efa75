//! Edits one entry in a handwritten JSON file. Everything else stays, including comments.

use std::ops::Range;

use jsonc_parser::ast::Value as Ast;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::change::Change;
use super::fault::Fault;

/// Accepts comments and trailing commas. For agents that reject those, [`strictly`] reports them.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn parse(text: &str) -> Result<CstRootNode, Fault> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| Fault::at(text, error.range().start, error.kind().to_string()))
}

/// Returns the first error for a parser that accepts neither comments nor trailing commas.
pub(super) fn strictly(text: &str) -> Option<Fault> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    Some(Fault { at: Some((error.line(), error.column())), what: error.to_string() })
}

/// Finds the object `key` in each item of a top-level list. Returns the item's `name` and the object's byte range.
pub(super) fn in_list(text: &str, list: &str, key: &str) -> Vec<(String, Range<usize>)> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).ok().and_then(|parsed| parsed.value);
    let Some(Ast::Object(document)) = parsed else { return Vec::new() };
    let items = document.get_array(list).map(|list| list.elements.iter()).into_iter().flatten();
    let found = items.filter_map(|item| {
        let (item, object) = (item.as_object()?, item.as_object()?.get_object(key)?);
        Some((item.get_string("name")?.value.to_string(), object.range.start..object.range.end))
    });
    found.collect()
}

/// Returns the whole document; null if the text is blank.
pub(super) fn value(text: &str) -> Result<Value, Fault> {
    let root = parse(text)?;
    if root.value().is_none() {
        return Ok(Value::Null);
    }
    root.to_serde_value().ok_or_else(|| Fault::new("it is not valid JSON"))
}

/// Creates or changes the entry `name` below `key`.
pub(super) fn set(text: &str, key: &str, name: &str, change: &Change) -> Result<String, Fault> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or_else(|| Fault::new("it is not a JSON object"))?;
    let servers = match only(&object, key)? {
        Some(property) => property.object_value().ok_or_else(|| Fault::new(format!("`{key}` is not an object")))?,
        None => object.append(key, CstInputValue::Object(Vec::new())).object_value_or_set(),
    };
    match only(&servers, name)? {
        None => {
            servers.append(name, input_object(&change.fields));
        }
        Some(property) => match property.object_value().filter(|_| !change.replaces) {
            None => property.set_value(input_object(&change.fields)),
            Some(entry) => update(&entry, change)?,
        },
    }
    Ok(root.to_string())
}

fn update(entry: &CstObject, change: &Change) -> Result<(), Fault> {
    for unwanted in change.unwanted() {
        if let Some(property) = only(entry, unwanted)? {
            property.remove();
        }
    }
    for (field, value) in &change.fields {
        match only(entry, field)? {
            Some(property) if property.to_serde_value_of().as_ref() == Some(value) => {}
            Some(property) => property.set_value(input(value)),
            None => {
                entry.append(field, input(value));
            }
        }
    }
    Ok(())
}

/// Removes the entry `name`. With `emptied`, also removes `key` if it is empty afterwards and contains no comments.
pub(super) fn remove(text: &str, key: &str, name: &str, emptied: bool) -> Result<String, Fault> {
    let root = parse(text)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(property) = only(&object, key)? else { return Ok(text.to_owned()) };
    let Some(servers) = property.object_value() else { return Ok(text.to_owned()) };
    if let Some(entry) = only(&servers, name)? {
        entry.remove();
    }
    let has_comment = || servers.children().iter().any(CstNode::is_comment);
    if emptied && servers.properties().is_empty() && !has_comment() {
        property.remove();
    }
    Ok(root.to_string())
}

/// Removes all top-level keys except these.
pub(super) fn retain(text: &str, keys: &[&str]) -> Result<String, Fault> {
    let root = parse(text)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    for property in object.properties() {
        if !property.decoded_name().is_some_and(|name| keys.contains(&name.as_str())) {
            property.remove();
        }
    }
    Ok(root.to_string())
}

/// Adds an item to a top-level list. Replaces the item with the same `id`, if there is one.
pub(super) fn put_listed(text: &str, list: &str, item: &Value) -> Result<String, Fault> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or_else(|| Fault::new("it is not a JSON object"))?;
    let array = match only(&object, list)? {
        Some(property) => property.array_value().ok_or_else(|| Fault::new(format!("`{list}` is not a list")))?,
        None => object.append(list, CstInputValue::Array(Vec::new())).array_value_or_set(),
    };
    let known = array.elements().into_iter().find(|known| has_id(known, item.get("id")));
    match known.and_then(|known| known.as_object()) {
        Some(known) => drop(known.replace_with(input(item))),
        None => drop(array.append(input(item))),
    }
    Ok(root.to_string())
}

/// Removes the item with this `id` from a top-level list, and the list if it is empty afterwards.
pub(super) fn take_listed(text: &str, list: &str, id: &str) -> Result<String, Fault> {
    let root = parse(text)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(property) = only(&object, list)? else { return Ok(text.to_owned()) };
    let Some(array) = property.array_value() else { return Ok(text.to_owned()) };
    for known in array.elements() {
        if has_id(&known, Some(&id.into())) {
            known.remove();
        }
    }
    if array.elements().is_empty() {
        property.remove();
    }
    Ok(root.to_string())
}

fn has_id(node: &CstNode, id: Option<&Value>) -> bool {
    node.to_serde_value().is_some_and(|value| id.is_some() && value.get("id") == id)
}

/// Returns the property with this name. Fails if the name occurs twice: agents read the last property of that name, and
/// this editor would change the first.
fn only(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, Fault> {
    let mut named = object.properties().into_iter().filter(|property| property.decoded_name().as_deref() == Some(name));
    match (named.next(), named.next()) {
        (_, Some(_)) => Err(Fault::new(format!("it contains `{name}` twice"))),
        (found, None) => Ok(found),
    }
}

trait ValueOf {
    fn to_serde_value_of(&self) -> Option<Value>;
}

impl ValueOf for CstObjectProp {
    fn to_serde_value_of(&self) -> Option<Value> {
        self.value()?.to_serde_value()
    }
}

fn input_object(fields: &[(String, Value)]) -> CstInputValue {
    CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(values) => {
            CstInputValue::Object(values.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
