//! What fields of a workflow have in common.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

/// Whether a value is the usual one, which is not written.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Whether a text for people says nothing, and so is not written.
pub(super) fn is_unsaid(text: &Option<String>) -> bool {
    text.as_ref().is_none_or(String::is_empty)
}

/// Whether a mapping is empty, which is not written.
pub(super) fn is_empty_map(map: &Map<String, Value>) -> bool {
    map.is_empty()
}

/// The schema of a condition: a template, or true or false.
pub(super) fn text_or_flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "boolean"] })
}

/// The schema of a duration.
pub(super) fn text_or_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number"] })
}

/// The schema of an example.
pub(super) fn scalar(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"] })
}
