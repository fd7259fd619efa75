//! Writes values as YAML in block style: a line for each entry or element, without braces or brackets.

use serde_json::Value;

use crate::check::scalar;

/// Appends `KEY: VALUE` without a line end. The caller has already written the indentation of the key, `indent` spaces.
pub(super) fn entry(key: &str, value: &Value, indent: usize, newline: &str, out: &mut String) {
    out.push_str(&scalar(&key.into(), ""));
    out.push(':');
    inside(value, indent, newline, out);
}

/// Appends a value that follows `KEY:`. Mappings and lists begin on a new line.
pub(super) fn inside(value: &Value, indent: usize, newline: &str, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                begin(indent + 2, newline, out);
                entry(key, value, indent + 2, newline, out);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for value in list {
                begin(indent + 2, newline, out);
                element(value, indent + 2, newline, out);
            }
        }
        value => {
            out.push(' ');
            out.push_str(&template_or_scalar(value));
        }
    }
}

/// Appends `- VALUE` without a line end. The caller has already written the indentation of the dash. A list inside the list is
/// written in brackets on the same line.
pub(super) fn element(value: &Value, indent: usize, newline: &str, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                match at {
                    0 => out.push_str("- "),
                    _ => begin(indent + 2, newline, out),
                }
                entry(key, value, indent + 2, newline, out);
            }
        }
        value => {
            out.push_str("- ");
            out.push_str(&template_or_scalar(value));
        }
    }
}

fn begin(indent: usize, newline: &str, out: &mut String) {
    out.push_str(newline);
    out.push_str(&" ".repeat(indent));
}

/// Writes a value on one line. A template needs no quotes in block style.
fn template_or_scalar(value: &Value) -> String {
    match value.as_str() {
        Some(text) if is_plain_template(text) => text.to_owned(),
        _ => scalar(value, ""),
    }
}

/// Returns whether a text is a single template, such as `${{ inputs.app }}`, that needs no quotes in block style.
pub(super) fn is_plain_template(text: &str) -> bool {
    let inside = text.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}"));
    inside.is_some_and(|inside| {
        !inside.is_empty()
            && inside.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']'))
    })
}
