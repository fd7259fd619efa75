//! Reads the servers that a document names.

use serde_json::Value;

use super::arguments::short;
use mcpkg_base::http::Url;

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Server {
    /// Base URL of the paths, without a trailing slash; variables are replaced by their defaults.
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Returns the usable servers of a document, a path or an operation. A relative URL is resolved against `from`, the document's
/// own URL. A server is left out if its URL cannot be resolved, or if one of its variables has no default.
pub fn of(holder: &Value, from: Option<&Url>) -> Vec<Server> {
    let list = holder["servers"].as_array().into_iter().flatten();
    list.filter_map(|server| {
        let url = filled(server["url"].as_str()?, &server["variables"])?;
        let url = if url.contains("://") { Url::parse(&url)? } else { from?.join(&url)? };
        let description = server["description"].as_str().map(short);
        Some(Server { url: base(&url), description })
    })
    .collect()
}

/// Returns a URL as a base for paths: without a trailing slash, query and fragment.
pub fn base(url: &Url) -> String {
    let text = url.as_str();
    let end = text.find(['?', '#']).unwrap_or(text.len());
    text[..end].trim_end_matches('/').to_owned()
}

/// Replaces the variables of a URL by their defaults.
fn filled(url: &str, variables: &Value) -> Option<String> {
    let mut made = String::new();
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        made.push_str(before);
        match &variables[name]["default"] {
            Value::String(text) => made.push_str(text),
            Value::Number(number) => made.push_str(&number.to_string()),
            _ => return None,
        }
        rest = after;
    }
    Some(made + rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn relative_and_templated_server_urls_are_resolved() {
        let holder = json!({ "servers": [
            { "url": "https://{region}.example.com:{port}/v1/", "variables": { "region": { "default": "eu" }, "port": { "default": 8443 } }, "description": "ours" },
            { "url": "/api" },
            { "url": "https://{tenant}.example.com" },
            { "url": "ftp://example.com" },
        ] });
        let urls = |from: Option<&Url>| of(&holder, from).into_iter().map(|server| server.url).collect::<Vec<_>>();
        assert_eq!(urls(None), ["https://eu.example.com:8443/v1"]);
        let from = Url::parse("https://docs.example.com/spec/openapi.json?x=1").expect("a URL");
        assert_eq!(urls(Some(&from)), ["https://eu.example.com:8443/v1", "https://docs.example.com/api"]);
        assert_eq!(of(&json!({}), Some(&from)), []);
    }
}
