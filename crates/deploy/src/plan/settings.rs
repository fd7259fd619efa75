//! Decides whether an agent's settings can make it run something, and what.

use std::path::Path;

use serde_json::{Map, Value, json};

use mcpkg_agents::audit::hook_commands;
use mcpkg_base::quote;
use mcpkg_base::redact::redact;

/// The JSON settings files that mcpkg understands, by folder and name.
const FILES: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// Settings that only change how an agent looks and answers.
const HARMLESS: [&str; 6] = ["$schema", "model", "outputStyle", "language", "includeCoAuthoredBy", "cleanupPeriodDays"];

/// Lists of permissions that only make an agent ask or refuse.
const NARROWING: [&str; 2] = ["ask", "deny"];

/// Whether a settings file makes the agent run nothing, and allows nothing that the agent would otherwise ask the user
/// about. A setting that mcpkg does not know counts as one that runs something.
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

/// Describes what a settings file makes the agent run: one line for each hook command, and one line for anything else.
pub fn what_runs(path: &Path, text: &[u8]) -> Vec<String> {
    let Ok(Value::Object(mut settings)) = serde_json::from_slice(text) else { return vec![ANYTHING.to_owned()] };
    let hooks = settings.remove("hooks").unwrap_or_default();
    let (commands, has_others) = hook_commands(&hooks);
    if commands.is_empty() {
        return vec![ANYTHING.to_owned()];
    }
    let is_harmless = |(key, value): (&String, &Value)| {
        matches!(key.as_str(), "version" | "description")
            || serde_json::to_vec(&json!({ key: value })).is_ok_and(|text| run_nothing(path, &text))
    };
    let has_others = has_others || !settings.iter().all(is_harmless);
    let shown = |command: &str| format!("a hook runs {}", quote::text(&redact(command)));
    commands.into_iter().map(shown).chain(has_others.then(|| OTHERS.to_owned())).collect()
}

const ANYTHING: &str = "hooks, permissions or settings that run programs";

const OTHERS: &str = "other hooks, permissions or settings that may run programs";

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

    #[test]
    fn the_command_of_each_hook_is_named() {
        let path = Path::new("/p/.claude/settings.json");
        let hook = r#"{"type": "command", "command": "make lint"}"#;
        for (text, expected) in [
            (format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{hook}]}}]}}}}"#), vec!["a hook runs \"make lint\""]),
            (
                format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{hook}]}}]}}, "permissions": {{"allow": ["Bash"]}}}}"#),
                vec!["a hook runs \"make lint\"", OTHERS],
            ),
            (
                format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{hook}, {{"type": "prompt", "prompt": "x"}}]}}]}}}}"#),
                vec!["a hook runs \"make lint\"", OTHERS],
            ),
            (r#"{"apiKeyHelper": "x"}"#.to_owned(), vec![ANYTHING]),
            ("not JSON".to_owned(), vec![ANYTHING]),
        ] {
            assert_eq!(what_runs(path, text.as_bytes()), expected, "{text}");
        }
        let of_cursor = br#"{"version": 1, "hooks": {"stop": [{"command": "a\nb"}]}}"#;
        assert_eq!(what_runs(Path::new("/p/.cursor/hooks.json"), of_cursor).len(), 1);
    }
}
