//! Follows references inside a schema.

use serde_json::Value;

/// The longest chain of references that is followed.
pub(super) const MAX_REFERENCES: usize = 32;

/// Returns the target of a reference inside the document: `#`, `#/path` or `#anchor`, with or without the
/// document's `$id` in front.
pub(super) fn pointed<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let id = root.get("$id").and_then(Value::as_str).unwrap_or_default();
    let fragment = match reference.strip_prefix(id.trim_end_matches('#')) {
        Some("") if !id.is_empty() => return Some(root),
        Some(rest) if rest.starts_with('#') => rest,
        _ => reference,
    };
    match fragment.strip_prefix('#')? {
        "" => Some(root),
        pointer if pointer.starts_with('/') => {
            root.pointer(&percent_encoding::percent_decode_str(pointer).decode_utf8_lossy())
        }
        anchor => anchored(root, anchor),
    }
}

fn anchored<'a>(value: &'a Value, anchor: &str) -> Option<&'a Value> {
    let is_it = |key: &str| value.get(key).and_then(Value::as_str) == Some(anchor);
    if is_it("$anchor") || is_it("$dynamicAnchor") {
        return Some(value);
    }
    match value {
        Value::Object(map) => map.values().find_map(|inner| anchored(inner, anchor)),
        Value::Array(list) => list.iter().find_map(|inner| anchored(inner, anchor)),
        _ => None,
    }
}
