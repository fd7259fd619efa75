//! Canonical JSON for hashing: no spaces, and object keys in sorted order.

use serde::Serialize;
use serde_json::Value;

use mcpkg_base::error::{Error, Result};
use mcpkg_base::json::push_string;
use mcpkg_base::sha256;

/// Returns the SHA-256 of a value. It does not depend on key order or on the machine.
pub fn digest(value: &impl Serialize) -> Result<[u8; 32]> {
    let value = serde_json::to_value(value)
        .map_err(|error| Error::internal("a value to hash cannot be written as JSON").with_source(error))?;
    let mut text = Vec::new();
    push(&value, &mut text);
    Ok(sha256::of(text))
}

fn push(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            text.push(b'{');
            for (n, (key, value)) in fields.into_iter().enumerate() {
                text.extend((n > 0).then_some(b','));
                push_string(text, key);
                text.push(b':');
                push(value, text);
            }
            text.push(b'}');
        }
        Value::Array(values) => {
            text.push(b'[');
            for (n, value) in values.iter().enumerate() {
                text.extend((n > 0).then_some(b','));
                push(value, text);
            }
            text.push(b']');
        }
        Value::String(string) => push_string(text, string),
        other => text.extend_from_slice(other.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(value: &Value) -> String {
        let mut text = Vec::new();
        push(value, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn the_order_of_keys_does_not_count_and_all_else_does() {
        let value = json!({ "b": [1, 2.5, null, true], "a": { "d": "\u{1}\"é", "c": {} } });
        assert_eq!(written(&value), r#"{"a":{"c":{},"d":"\u0001\"é"},"b":[1,2.5,null,true]}"#);
        let mut sorted = value.clone();
        sorted.sort_all_objects();
        assert_eq!(written(&value), sorted.to_string());
        assert_eq!(digest(&json!({ "a": 1, "b": 2 })).unwrap(), digest(&json!({ "b": 2, "a": 1 })).unwrap());
        assert_ne!(digest(&json!([1, 2])).unwrap(), digest(&json!([2, 1])).unwrap());
    }
}
