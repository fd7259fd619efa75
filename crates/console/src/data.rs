//! Reads fields of the JSON data that operations return. A missing field reads as an empty value, `0` or `None`, so a
//! screen shows the fields that are there.

use serde_json::Value;

use mcpkg_base::clock::{Millis, from_rfc3339};

pub fn text<'a>(data: &'a Value, name: &str) -> &'a str {
    data[name].as_str().unwrap_or_default()
}

pub fn rows<'a>(data: &'a Value, name: &str) -> &'a [Value] {
    data[name].as_array().map_or(&[], Vec::as_slice)
}

pub fn texts<'a>(data: &'a Value, name: &str) -> Vec<&'a str> {
    rows(data, name).iter().filter_map(Value::as_str).collect()
}

pub fn number(data: &Value, name: &str) -> u64 {
    data[name].as_u64().unwrap_or_default()
}

pub fn time(data: &Value, name: &str) -> Option<Millis> {
    from_rfc3339(text(data, name))
}

/// Returns `1 error` or `2 errors`.
pub fn count(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
