//! Decides whether an agent's settings can make it run something.

use std::path::Path;

use serde_json::{Map, Value};

/// The files of settings that are JSON, by their folder and name.
const FILES: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// Settings that only change how an agent looks and answers.
const HARMLESS: [&str; 6] = ["$schema", "model", "outputStyle", "language", "includeCoAuthoredBy", "cleanupPeriodDays"];

/// Lists of permissions that only make an agent ask or refuse.
const NARROWING: [&str; 2] = ["ask", "deny"];

/// Whether a file is one of settings that make the agent run nothing, and allow nothing that the user was asked about before.
/// Settings that mcpkg does not know may run something.
pub fn run_nothing(path: &Path, text: &[u8]) -> bool {
    if !FILES.iter().any(|file| path.ends_with(file)) {
        return false;
    }
    let Ok(Value::Object(settings)) = serde_json::from_slice(text) else { return false };
    settings.iter().all(|(key, value)| match key.as_str() {
        "hooks" => is_empty(value),
        "permissions" => value.as_object().is_some_and(narrows),
        key => HARMLESS.contains(&key),
    })
}

fn narrows(permissions: &Map<String, Value>) -> bool {
    permissions.iter().all(|(key, value)| NARROWING.contains(&key.as_str()) || is_empty(value))
}

/// Whether a value contains nothing but empty lists and objects.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.values().all(is_empty),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_run_or_allow_something_need_consent() {
        let path = Path::new("/p/.claude/settings.json");
        for text in [
            "{}",
            r#"{"hooks": {}}"#,
            r#"{"hooks": {"Stop": []}}"#,
            r#"{"permissions": {"deny": ["Read(.env)"], "ask": ["Bash(git push:*)"], "allow": []}}"#,
            r#"{"$schema": "x", "model": "opus", "includeCoAuthoredBy": false}"#,
        ] {
            assert!(run_nothing(path, text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "[]",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#,
            r#"{"permissions": {"allow": ["Bash(rm:*)"]}}"#,
            r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#,
            r#"{"apiKeyHelper": "x"}"#,
            r#"{"statusLine": {"type": "command", "command": "x"}}"#,
            r#"{"enableAllProjectMcpServers": true}"#,
            r#"{"env": {"A": "b"}}"#,
            r#"{"somethingNew": 1}"#,
        ] {
            assert!(!run_nothing(path, text.as_bytes()), "{text}");
        }
        assert!(!run_nothing(Path::new("/p/.claude/hooks/a.json"), b"{}"));
    }
}
