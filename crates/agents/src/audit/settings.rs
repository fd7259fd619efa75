//! Finds hooks and risky permissions in the front matter of texts, and hooks in agents' settings.

use serde_json::Value;

use super::found::Found;
use super::front::front_matter;
use super::rules::{ALLOWED_BASH, HOOK, PERMISSIONS_OFF};

/// How many levels of nested values in a settings file are searched for hooks.
const DEEP: usize = 12;

/// Returns the commands in the hooks of a settings file, and whether there are hooks that are not commands.
pub fn hook_commands(hooks: &Value) -> (Vec<&str>, bool) {
    let mut commands = Vec::new();
    collect(hooks, DEEP, &mut commands);
    (commands, has_others(hooks, DEEP))
}

/// Returns whether a hook has a type but no command, such as a hook that asks a model. Also returns true if the values
/// are nested too deeply to tell.
fn has_others(value: &Value, deep: usize) -> bool {
    let Some(below) = deep.checked_sub(1) else { return true };
    match value {
        Value::Array(values) => values.iter().any(|value| has_others(value, below)),
        Value::Object(fields) => {
            let is_command = ["command", "bash", "powershell"].iter().any(|key| fields.contains_key(*key));
            fields.contains_key("type") && !is_command || fields.values().any(|value| has_others(value, below))
        }
        _ => false,
    }
}

/// Finds the commands of hooks in a JSON file.
pub(super) fn hooks(found: &mut Found<'_>) {
    if !found.text.contains("hooks") {
        return;
    }
    let Ok(settings) = serde_json::from_str::<Value>(found.text) else { return };
    let mut commands = Vec::new();
    collect(&settings["hooks"], DEEP, &mut commands);
    let mut from = 0;
    for command in commands {
        let quoted = Value::from(command).to_string();
        let text = found.text;
        let start = text[from..].find(&quoted).map(|at| from + at).or_else(|| text.find(&quoted)).unwrap_or_default();
        from = start;
        found.add(&HOOK, start..(start + quoted.len()).min(text.len()));
    }
}

fn collect<'v>(value: &'v Value, deep: usize, commands: &mut Vec<&'v str>) {
    let Some(below) = deep.checked_sub(1) else { return };
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, below, commands)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("command" | "bash" | "powershell", Value::String(command)) => commands.push(command),
                    _ => collect(value, below, commands),
                }
            }
        }
        _ => {}
    }
}

/// Finds risky permissions and hooks in the front matter of commands, skills and subagents.
pub(super) fn front(found: &mut Found<'_>) {
    let text = found.text;
    for (key, range) in front_matter(text) {
        let value = &text[range.clone()];
        let word = value.trim().trim_start_matches("- ").trim_matches(['"', '\'', ' ']);
        match key {
            "permissionMode" if word == "bypassPermissions" => found.add(&PERMISSIONS_OFF, range),
            "allowed-tools" => {
                let tools = value.split([',', '[', ']', ' ']);
                let is_any = |tool: &str| {
                    let tool = tool.trim_matches(['"', '\'', '-', '\t']);
                    matches!(tool, "Bash" | "Bash(*)" | "Bash(:*)" | "Bash(*:*)")
                };
                if tools.into_iter().any(is_any) {
                    found.add(&ALLOWED_BASH, range);
                }
            }
            "hooks" if word.starts_with("command:") => found.add(&HOOK, range),
            _ => {}
        }
    }
}
