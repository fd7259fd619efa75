//! Removes secrets from answers before they are stored or shown.

use serde_json::Value;

use crate::spec::OutputContract;
use mcpkg_base::redact::{HIDDEN, Secrets, is_secret_name, known_tokens, redact};

/// The secret values of a run: passwords that it sends, and secrets in its answers. The values of secret references are
/// registered for the whole process instead.
#[derive(Debug, Default)]
pub struct Known(Secrets);

#[derive(Clone, Debug, PartialEq)]
pub struct Sealed {
    pub value: Value,
    /// JSON pointers of the removed values.
    pub at: Vec<String>,
}

impl Known {
    /// Remembers a string or number as a secret.
    pub fn learn(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.0.learn(text),
            Value::Number(number) => self.0.learn(&number.to_string()),
            _ => {}
        }
    }

    /// Removes known secrets, passwords in URLs and access keys from text.
    pub fn hidden_in(&self, text: &str) -> String {
        redact(&self.0.hidden_in(text))
    }

    /// Like [`Known::hidden_in`], for text that was cut off: also removes the end of the text if it may be the start of a
    /// secret.
    pub fn hidden_in_beginning(&self, text: &str) -> String {
        redact(&self.0.hidden_at_cut(text, "").0)
    }

    /// Removes the secrets from an answer: known secrets, fields with a secret name or tag, and values that look like a secret,
    /// such as access tokens. The removed values become known secrets.
    pub fn seal(&mut self, value: &Value, contract: &OutputContract) -> Sealed {
        let tagged: Vec<&str> = contract
            .fields
            .iter()
            .filter(|field| field.tags.iter().any(|tag| tag == "secret"))
            .map(|field| field.name.as_str())
            .collect();
        let mut found = Vec::new();
        find(value, "", "", false, &tagged, &mut found);
        for secret in found {
            self.0.learn(&secret);
        }
        let (mut sealed, mut at) = (value.clone(), Vec::new());
        self.hide(&mut sealed, "", &mut at);
        Sealed { value: sealed, at }
    }

    /// Removes known secrets, fields with a secret name, and values that look like a secret.
    pub fn shown(&mut self, value: &Value) -> Value {
        self.seal(value, &OutputContract::default()).value
    }

    fn hide(&self, value: &mut Value, pointer: &str, at: &mut Vec<String>) {
        match value {
            Value::String(text) => {
                let hidden = self.hidden_in(text);
                if hidden != *text {
                    *text = hidden;
                    at.push(pointer.to_owned());
                }
            }
            Value::Array(values) => {
                for (index, value) in values.iter_mut().enumerate() {
                    self.hide(value, &format!("{pointer}/{index}"), at);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields.iter_mut() {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    self.hide(value, &format!("{pointer}/{key}"), at);
                }
            }
            Value::Number(number) => {
                if self.0.hidden_in(&number.to_string()) == HIDDEN {
                    *value = HIDDEN.into();
                    at.push(pointer.to_owned());
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Collects the strings in fields with a secret name or tag, and the parts of strings that look like a secret.
fn find(value: &Value, path: &str, leaf: &str, inside: bool, tagged: &[&str], found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            if inside || is_secret_name(leaf) || tagged.contains(&path) || text.contains("PRIVATE KEY-----") {
                found.push(text.clone());
            } else {
                found.extend(known_tokens(text).map(str::to_owned));
            }
        }
        Value::Array(values) => values.iter().for_each(|value| find(value, path, leaf, inside, tagged, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                find(value, &path, key, inside || tagged.contains(&path.as_str()), tagged, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::OutputField;

    #[test]
    fn removed_secrets_are_masked_everywhere_else() {
        let mut known = Known::default();
        let answer = json!({
            "id": "0199c0de-7d1c-7b3a-9d5e-3f2a1b4c5d6e",
            "keys": [{ "api_key": "s3cr3t/ä" }],
            "url": "https://x.example/?k=s3cr3t%2F%C3%A4",
            "a/b": { "password": "hunter22" },
            "tagged": "quiet",
            "count": 7,
        });
        let fields = vec![OutputField { name: "tagged".to_owned(), r#type: None, tags: vec!["secret".to_owned()] }];
        let sealed = known.seal(&answer, &OutputContract { fields, ..OutputContract::default() });
        assert_eq!(
            sealed.value,
            json!({
                "id": "0199c0de-7d1c-7b3a-9d5e-3f2a1b4c5d6e",
                "keys": [{ "api_key": "***" }],
                "url": "https://x.example/?k=***",
                "a/b": { "password": "***" },
                "tagged": "***",
                "count": 7,
            })
        );
        assert_eq!(sealed.at, ["/keys/0/api_key", "/url", "/a~1b/password", "/tagged"]);
        assert_eq!(known.hidden_in("<s3cr3t/ä>"), "<***>");
        assert_eq!(known.hidden_in_beginning("<s3cr3t/ä> <s3cr"), "<***> <***");
    }

    #[test]
    fn x44_ids_are_readable() {
        let ids =
            json!({ "id": "3f2a1b4c-5d6e-4f70-8a9b-0c1d2e3f4a5b", "sha": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b" });
        assert_eq!(Known::default().shown(&ids), ids);
    }
}
