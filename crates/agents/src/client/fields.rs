//! Lists the fields that mcpkg writes into agents' entries.

use crate::agents::ALL;
use crate::agents::agent::{Agent, Key, Url};

/// The field with the headers for a URL.
pub const HEADERS: &str = "headers";

/// Returns the names of the fields that hold a URL, over all agents, without duplicates.
pub fn url_fields() -> Vec<&'static str> {
    let fields = ALL.iter().filter_map(|agent| match agent.client.url {
        Url::Entry { field, .. } => Some(field),
        Url::Refused { .. } => None,
    });
    once(fields)
}

/// Returns the ways to name a variable in a header, such as `${NAME}`, over all agents, without duplicates.
pub fn variable_forms() -> Vec<&'static str> {
    once(ALL.iter().filter_map(|agent| match agent.client.url {
        Url::Entry { key: Key::Header(form), .. } => Some(form),
        _ => None,
    }))
}

/// Returns the names of the fields that hold a variable's name, over all agents, without duplicates.
pub fn variable_fields() -> Vec<&'static str> {
    once(ALL.iter().filter_map(|agent| match agent.client.url {
        Url::Entry { key: Key::Field(field), .. } => Some(field),
        _ => None,
    }))
}

/// Returns the fields that mcpkg writes for any agent, and the fields that would contradict those, without duplicates. The list
/// excludes `tools`, because users choose which of a server's tools an agent may use.
pub fn written_fields() -> Vec<String> {
    let of = |agent: &&Agent| {
        let mut entries = vec![(agent.client.start)("", &[])];
        let mut named = vec!["cwd"];
        if let Url::Entry { fields, key, .. } = agent.client.url {
            entries.push(fields(""));
            named.extend(match key {
                Key::Header(_) => Some(HEADERS),
                Key::Field(field) => Some(field),
                Key::Unsupported => None,
            });
        }
        named.extend(agent.client.other_fields);
        let written = entries.into_iter().filter_map(|entry| entry.as_object().cloned()).flatten();
        let written: Vec<String> = written.map(|(name, _)| name).filter(|name| name != "tools").collect();
        written.into_iter().chain(named.into_iter().map(str::to_owned))
    };
    once(ALL.iter().flat_map(of))
}

fn once<T: PartialEq>(words: impl Iterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    words.for_each(|word| {
        if !known.contains(&word) {
            known.push(word);
        }
    });
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_fields_include_those_of_every_agent() {
        let mut fields = written_fields();
        fields.sort_unstable();
        let known = [
            "args",
            "bearer_token_env_var",
            "command",
            "cwd",
            "env_http_headers",
            "headers",
            "httpUrl",
            "http_headers",
            "serverUrl",
            "type",
            "url",
        ];
        assert!(known.iter().all(|name| fields.iter().any(|field| field == name)), "{fields:?}");
        assert!(!fields.contains(&"tools".to_owned()));
    }
}
