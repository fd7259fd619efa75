//! Reads the security schemes of a document, which define how callers authenticate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reference::References;

/// The place where a request carries the credentials of a security scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Scheme {
    /// In `Authorization`, as a bearer token.
    Bearer,
    /// In `Authorization`, as `user:password` in base64.
    Basic,
    Header {
        name: String,
    },
    Query {
        name: String,
    },
    /// A kind of authentication that mcpkg does not support.
    Unsupported {
        why: String,
    },
}

impl Scheme {
    fn of(value: &Value) -> Self {
        let name = value["name"].as_str().unwrap_or_default().to_owned();
        let word = |key: &str| value[key].as_str().unwrap_or_default().to_ascii_lowercase();
        match (word("type").as_str(), word("scheme").as_str(), word("in").as_str()) {
            ("http", "bearer", _) | ("oauth2" | "openidconnect", _, _) => Self::Bearer,
            ("http", "basic", _) => Self::Basic,
            ("apikey", _, "header") if !name.is_empty() => Self::Header { name },
            ("apikey", _, "query") if !name.is_empty() => Self::Query { name },
            ("apikey", _, place) => Self::Unsupported { why: format!("a key in a {place}") },
            ("http", scheme, _) => Self::Unsupported { why: format!("HTTP authentication {scheme}") },
            (kind, _, _) => Self::Unsupported { why: kind.to_owned() },
        }
    }

    /// Describes the scheme in a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Bearer => "bearer token".to_owned(),
            Self::Basic => "user:password".to_owned(),
            Self::Header { name } => format!("header {name}"),
            Self::Query { name } => format!("query parameter {name}"),
            Self::Unsupported { why } => format!("not supported: {why}"),
        }
    }
}

/// Returns the schemes of a document. A scheme with a broken reference counts as unsupported.
pub fn schemes<'d>(references: References<'d>, root: &'d Value) -> BTreeMap<String, Scheme> {
    let list = root["components"]["securitySchemes"].as_object();
    let one = |(name, value): (&String, &Value)| (name.clone(), Scheme::of(references.follow(value).unwrap_or(value)));
    list.into_iter().flatten().map(one).collect()
}

/// The authentication that an operation requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Required {
    /// The schemes that the operation accepts, without duplicates.
    pub schemes: Vec<String>,
    /// The reason why mcpkg cannot authenticate, if it supports none of the alternatives.
    pub why_not: Option<String>,
}

/// Returns the authentication for an operation: its own alternatives, or else those of the document. Unsupported alternatives are
/// left out.
pub fn required(root: &Value, operation: &Value, schemes: &BTreeMap<String, Scheme>) -> Required {
    let alternatives = operation.get("security").unwrap_or(&root["security"]).as_array();
    let mut required = Required::default();
    let (mut any, mut is_possible) = (false, false);
    for alternative in alternatives.into_iter().flatten().filter_map(Value::as_object) {
        any = true;
        let unsupported = alternative.keys().find_map(|name| match schemes.get(name) {
            Some(Scheme::Unsupported { why }) => Some(format!("it requires {why}")),
            Some(_) => None,
            None => Some(format!("it requires the security scheme `{name}`, which the document does not define")),
        });
        if let Some(why) = unsupported {
            required.why_not.get_or_insert(why);
            continue;
        }
        is_possible = true;
        for name in alternative.keys().filter(|name| !required.schemes.contains(name)).cloned().collect::<Vec<_>>() {
            required.schemes.push(name);
        }
    }
    if is_possible || !any {
        required.why_not = None;
    }
    required
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemes_say_where_a_secret_goes() {
        let root = json!({ "components": { "securitySchemes": {
            "bearer": { "type": "http", "scheme": "Bearer" },
            "basic": { "type": "http", "scheme": "basic" },
            "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
            "query": { "type": "apiKey", "in": "query", "name": "key" },
            "cookie": { "type": "apiKey", "in": "cookie", "name": "sid" },
            "oauth": { "type": "oauth2" },
            "oidc": { "type": "openIdConnect" },
            "tls": { "type": "mutualTLS" },
            "digest": { "type": "http", "scheme": "digest" },
            "same": { "$ref": "#/components/securitySchemes/key" },
        } } });
        let words: Vec<_> = schemes(References::new(&root), &root)
            .into_iter()
            .map(|(name, scheme)| format!("{name}: {}", scheme.words()))
            .collect();
        let expected = [
            "basic: user:password",
            "bearer: bearer token",
            "cookie: not supported: a key in a cookie",
            "digest: not supported: HTTP authentication digest",
            "key: header X-Key",
            "oauth: bearer token",
            "oidc: bearer token",
            "query: query parameter key",
            "same: header X-Key",
            "tls: not supported: mutualtls",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn the_schemes_of_all_supported_alternatives_are_used() {
        let known = BTreeMap::from([
            ("a".to_owned(), Scheme::Bearer),
            ("b".to_owned(), Scheme::Basic),
            ("c".to_owned(), Scheme::Unsupported { why: "a key in a cookie".to_owned() }),
        ]);
        let root = json!({ "security": [{ "a": [] }] });
        for (security, schemes, why) in [
            (json!(null), vec!["a"], None),
            (json!([]), vec![], None),
            (json!([{}]), vec![], None),
            (json!([{ "b": [], "a": [] }, { "a": [] }]), vec!["b", "a"], None),
            (json!([{ "c": [] }, { "b": [] }]), vec!["b"], None),
            (json!([{ "c": [] }]), vec![], Some("it requires a key in a cookie")),
            (
                json!([{ "x": [] }]),
                vec![],
                Some("it requires the security scheme `x`, which the document does not define"),
            ),
        ] {
            let operation = if security.is_null() { json!({}) } else { json!({ "security": security }) };
            let found = required(&root, &operation, &known);
            assert_eq!(
                (found.schemes, found.why_not.as_deref()),
                (schemes.into_iter().map(str::to_owned).collect(), why)
            );
        }
    }
}
