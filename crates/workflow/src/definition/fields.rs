//! Serde and schema helpers for the fields of a workflow.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

/// Returns whether a value is the default, so that it is not written out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns whether a text is absent or empty, so that it is not written out.
pub(super) fn is_unsaid(text: &Option<String>) -> bool {
    text.as_ref().is_none_or(String::is_empty)
}

/// Returns whether a mapping is empty, so that it is not written out.
pub(super) fn is_empty_map(map: &Map<String, Value>) -> bool {
    map.is_empty()
}

/// Returns the schema of a condition, which is a template, true or false.
pub(super) fn text_or_flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "boolean"] })
}

pub(super) fn text_or_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number"] })
}

pub(super) fn scalar(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"] })
}
