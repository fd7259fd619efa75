//! Serde and schema helpers for the fields of a workflow.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

/// Whether a value is the default, so that it is not written out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Whether a text is absent or empty, so that it is not written out.
pub(super) fn is_unsaid(text: &Option<String>) -> bool {
    text.as_ref().is_none_or(String::is_empty)
}

/// Whether a mapping is empty, so that it is not written out.
pub(super) fn is_empty_map(map: &Map<String, Value>) -> bool {
    map.is_empty()
}

/// The schema of a condition, which is a template, true or false.
pub(super) fn text_or_flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "boolean"] })
}

pub(super) fn text_or_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number"] })
}

pub(super) fn scalar(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"] })
}
