//! Determines whether an entry starts a program or connects to a URL.

use crate::client::fields;
use std::path::Path;

use serde_json::Value;

use mcpkg_base::shell;

/// The effect of an entry: the agent starts a program or connects to a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runs {
    Command(Vec<String>),
    /// Connects to a URL, with the headers from the file.
    Url(String, Vec<(String, String)>),
}

impl Runs {
    /// Reads an agent's entry; `None` if it neither starts a program nor connects to a URL.
    pub fn of(entry: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = |value: &Value| value.as_array().map(|words| words.iter().filter_map(text).collect::<Vec<_>>());
        match &entry["command"] {
            Value::String(program) => {
                let args = texts(&entry["args"]).unwrap_or_default();
                Some(Self::Command(std::iter::once(program.clone()).chain(args).collect()))
            }
            // In OpenCode's format, `command` is the whole command line.
            words @ Value::Array(_) => texts(words).filter(|words| !words.is_empty()).map(Self::Command),
            _ => fields::url_fields()
                .into_iter()
                .find_map(|field| entry[field].as_str())
                .map(|url| Self::Url(url.to_owned(), headers(entry))),
        }
    }

    /// Returns the command line or URL for people.
    pub fn shown(&self) -> String {
        match self {
            Runs::Command(words) => words.iter().map(|word| shell::quote(word)).collect::<Vec<_>>().join(" "),
            Runs::Url(url, _) => mcpkg_base::redact::redact(url),
        }
    }

    /// Returns whether the entry starts an mcpkg server.
    pub fn is_mcpkg(&self) -> bool {
        match self {
            Runs::Command(words) => {
                let program = words.first().and_then(|program| Path::new(program).file_stem()?.to_str());
                program == Some("mcpkg") && words.iter().skip(1).any(|word| word == "serve")
            }
            Runs::Url(..) => false,
        }
    }
}

fn headers(entry: &Value) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = ["headers", "http_headers"]
        .iter()
        .filter_map(|key| entry[*key].as_object())
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    for variable in fields::variable_fields().into_iter().filter_map(|field| entry[field].as_str()) {
        headers.push(("Authorization".to_owned(), format!("Bearer ${{{variable}}}")));
    }
    headers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_mcpkgs_if_it_runs_mcpkg_serve() {
        let is = |entry: Value| Runs::of(&entry).is_some_and(|runs| runs.is_mcpkg());
        assert!(is(json!({ "command": "/a/mcpkg", "args": ["serve"] })));
        assert!(is(json!({ "command": ["/a/mcpkg", "--db", "x", "serve"] })));
        assert!(!is(json!({ "command": "npx", "args": ["mcpkg", "serve"] })));
        assert!(!is(json!({ "url": "http://a" })));
    }

    #[test]
    fn what_is_shown_can_be_run_in_a_shell() {
        let runs = Runs::of(&json!({ "command": "/a b/mcpkg", "args": ["serve", "--db=x", "it's", ""] }));
        assert_eq!(runs.map(|runs| runs.shown()).as_deref(), Some(r#"'/a b/mcpkg' serve '--db=x' "it's" ''"#));
    }
}
