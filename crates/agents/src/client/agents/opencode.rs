//! OpenCode.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::client::agent::{Agent, Format, Greeting, Key, Url, in_working_folder};

/// Returns the file in a folder: it reads either name.
fn file(folder: &Path) -> PathBuf {
    let with_comments = folder.join("opencode.jsonc");
    let plain = folder.join("opencode.json");
    if with_comments.exists() && !plain.exists() { with_comments } else { plain }
}

pub(super) static AGENT: Agent = Agent {
    name: "opencode",
    title: "OpenCode",
    program: "opencode",
    format: Format::Json { comments: true },
    key: "mcp",
    folder: |homes| homes.xdg.join("opencode"),
    user_file: |homes| file(&homes.xdg.join("opencode")),
    project_file: Some(file),
    start: |program, args| {
        let words: Vec<&str> = std::iter::once(program).chain(args.iter().map(String::as_str)).collect();
        json!({ "type": "local", "command": words })
    },
    url: Url::Entry {
        field: "url",
        fields: |url| json!({ "type": "remote", "url": url }),
        key: Key::Header("{env:NAME}"),
    },
    other_fields: &[],
    next: "check the server with `opencode mcp list`; restart running sessions to load the server",
    trust: None,
    greeting: Greeting::Initialize("2025-11-25"),
    passes: None,
    starts_in: in_working_folder,
    rejects_empty_events: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_is_there_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(file(folder.path()).ends_with("opencode.json"));
        std::fs::write(folder.path().join("opencode.jsonc"), "{}").expect("a file");
        assert!(file(folder.path()).ends_with("opencode.jsonc"));
    }
}
