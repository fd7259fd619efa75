//! Encodes values for URLs, headers and forms.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::spec::Style;

/// Everything except the unreserved characters of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Everything that is not allowed in a path. `%` is allowed: a path in an API description is already encoded where necessary.
const NO_PATH: &AsciiSet = &RESERVED
    .remove(b'/')
    .remove(b'%')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// Percent-encodes everything except unreserved characters, in upper-case hex.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Percent-encodes a path from an API description.
pub fn path(text: &str) -> String {
    utf8_percent_encode(text, NO_PATH).to_string()
}

/// Returns whether a value contains a null that cannot be sent in this style. Only JSON has null.
pub fn loses_null(value: &Value, style: Option<Style>) -> bool {
    let goes_on = |value: &Value| style == Some(Style::Deep) && loses_null(value, style);
    match value {
        _ if style == Some(Style::Json) => false,
        Value::Null => true,
        Value::Array(values) => values.iter().any(|value| value.is_null() || goes_on(value)),
        Value::Object(fields) => fields.values().any(|value| value.is_null() || goes_on(value)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns a value as text: nothing for null, compact JSON for arrays and objects.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the elements of a list, or the alternating keys and values of an object. Any other value is a single element.
pub fn elements(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        Value::Object(fields) => fields.iter().flat_map(|(key, value)| [key.clone(), text(value)]).collect(),
        single => vec![text(single)],
    }
}

/// Returns a query or form argument as encoded pairs `name=value`.
pub fn pairs(name: &str, value: &Value, style: Option<Style>) -> Vec<String> {
    let pair = |name: &str, value: &str| format!("{}={value}", encoded(name));
    let joined = |separator: &str| {
        let elements: Vec<String> = elements(value).iter().map(|element| encoded(element)).collect();
        vec![pair(name, &elements.join(separator))]
    };
    match (style, value) {
        (Some(Style::Json), value) => vec![pair(name, &encoded(&value.to_string()))],
        (_, Value::Array(values)) if values.is_empty() => Vec::new(),
        (Some(Style::Deep), value) => deep(name, value),
        (Some(Style::Comma), _) => joined(","),
        (Some(Style::Space), _) => joined("%20"),
        (Some(Style::Pipe), _) => joined("%7C"),
        (None | Some(Style::Pairs), Value::Array(values)) => {
            values.iter().map(|value| pair(name, &encoded(&text(value)))).collect()
        }
        (None | Some(Style::Pairs), Value::Object(fields)) => {
            fields.iter().map(|(key, value)| pair(key, &encoded(&text(value)))).collect()
        }
        (None | Some(Style::Pairs), single) => vec![pair(name, &encoded(&text(single)))],
    }
}

fn deep(name: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, value)| deep(&format!("{name}[{key}]"), value)).collect()
        }
        // Nested elements need an index in the brackets, as in `a[0][b]=1`. Without it, servers mix up the keys of different
        // elements.
        Value::Array(values) if values.iter().any(|value| value.is_object() || value.is_array()) => {
            values.iter().enumerate().flat_map(|(n, value)| deep(&format!("{name}[{n}]"), value)).collect()
        }
        Value::Array(values) => values.iter().flat_map(|value| deep(&format!("{name}[]"), value)).collect(),
        single => vec![format!("{}={}", encoded(name), encoded(&text(single)))],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_unreserved_characters_are_not_encoded() {
        assert_eq!(encoded("aZ09-._~"), "aZ09-._~");
        assert_eq!(encoded("a/b c?d&e=f%2f+é'\n"), "a%2Fb%20c%3Fd%26e%3Df%252f%2B%C3%A9%27%0A");
        assert_eq!(path("/a b/é:x@y%20<>"), "/a%20b/%C3%A9:x@y%20%3C%3E");
    }

    #[test]
    fn each_style_is_written_as_the_specification_says() {
        let (list, object) = (json!(["blue", "black, x"]), json!({ "R": 100, "G": true }));
        for (style, value, expected) in [
            (None, json!("a b"), &["c=a%20b"][..]),
            (None, json!(7), &["c=7"]),
            (None, list.clone(), &["c=blue", "c=black%2C%20x"]),
            (None, object.clone(), &["R=100", "G=true"]),
            (None, json!([]), &[]),
            (Some(Style::Comma), list.clone(), &["c=blue,black%2C%20x"]),
            (Some(Style::Comma), object.clone(), &["c=R,100,G,true"]),
            (Some(Style::Space), list.clone(), &["c=blue%20black%2C%20x"]),
            (Some(Style::Pipe), list.clone(), &["c=blue%7Cblack%2C%20x"]),
            (Some(Style::Deep), object.clone(), &["c%5BR%5D=100", "c%5BG%5D=true"]),
            (
                Some(Style::Deep),
                json!({ "a": { "b": [1, 2] } }),
                &["c%5Ba%5D%5Bb%5D%5B%5D=1", "c%5Ba%5D%5Bb%5D%5B%5D=2"],
            ),
            (Some(Style::Deep), json!([{ "p": 1, "q": 2 }]), &["c%5B0%5D%5Bp%5D=1", "c%5B0%5D%5Bq%5D=2"]),
            (Some(Style::Pairs), json!({ "a": 1 }), &["a=1"]),
            (Some(Style::Json), object, &["c=%7B%22R%22%3A100%2C%22G%22%3Atrue%7D"]),
        ] {
            assert_eq!(pairs("c", &value, style), expected, "{style:?} {value}");
        }
    }
}
