//! Lays out subagents: in `agents` for Claude Code and Gemini CLI, and in Copilot CLI's own folder for Copilot CLI.
//! Codex loads no subagents from plugins.

use serde_json::Value;

use super::making::{CLAUDE, CODEX, COPILOT, GEMINI, Making, of_copilot, word};
use super::name::named;
use crate::item::{Entry, What};
use mcpkg_agents::commands::skill::{keys, split_front};
use mcpkg_agents::forms::subagent::{CLAUDE_CODE, Subagent, SubagentForm, VSCODE};
use mcpkg_base::error::Result;
use mcpkg_store::blobs::NewContent;

pub(super) fn add(making: &mut Making, items: &[(Entry, NewContent)]) -> Result<()> {
    for (at, (entry, content)) in items.iter().enumerate() {
        let What::Resource(attributes) = &entry.what else { continue };
        let (word::SUBAGENT, name) = named(entry) else { continue };
        let name = name.as_str();
        let bytes = content.bytes()?;
        let is_toml = entry.origin.path.as_deref().is_some_and(|path| path.ends_with(".toml"));
        let subagent = Subagent::of(name, attributes.description.as_deref(), is_toml, &bytes);
        let agent = entry.origin.agent.as_deref();
        let as_is = |is_own: bool| (is_own && !is_toml).then(|| bytes.to_vec());

        let is_plain = || subagent.write(&CLAUDE_CODE).is_err() || subagent.is_in(&CLAUDE_CODE);
        let own = as_is(agent == Some(CLAUDE) || (agent.is_none() && is_plain()));
        let path = format!("agents/{name}.md");
        if put(making, CLAUDE, name, &path, &subagent, own, &CLAUDE_CODE, &bytes) {
            making.expect(&path, at, word::SUBAGENT, name);
            if !making.files.last().is_some_and(|file| is_in_gemini(&file.bytes)) {
                let why =
                    "it rejects the file, which has Claude Code's tools or keys, or lacks a name or a description";
                making.left_out(&[GEMINI], word::SUBAGENT, name, why);
            }
        }
        let own = as_is(matches!(agent, Some("copilot" | "vscode")));
        // Do not use the ending `.agent.md`: an import recognizes it in any folder, so the subagent would be imported
        // twice.
        let path = of_copilot(&path);
        put(making, COPILOT, name, &path, &subagent, own, &VSCODE, &bytes);
        making.left_out(&[CODEX], word::SUBAGENT, name, "it loads no subagents from plugins");
    }
    Ok(())
}

/// The keys that Gemini accepts, apart from `tools`. It rejects a subagent with any other key.
const OF_GEMINI: [&str; 8] =
    ["name", "description", "kind", "display_name", "model", "temperature", "max_turns", "timeout_mins"];

/// Returns whether Gemini loads a file that was written for Claude Code. A file with `tools` is not loaded, because the
/// two agents have different names for tools.
fn is_in_gemini(file: &[u8]) -> bool {
    let Some(keys) = split_front(file).0.and_then(keys) else { return false };
    let is_slug = |name: &str| {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        !name.is_empty() && name.chars().all(is_letter)
    };
    keys.keys().all(|key| OF_GEMINI.contains(&key.as_str()))
        && keys.get("name").and_then(Value::as_str).is_some_and(is_slug)
        && keys.get("description").is_some_and(Value::is_string)
}

/// Adds a subagent's file for one agent. `own` is a file that is already in the agent's format. Without it, the file is
/// converted. Returns whether the file was added.
#[expect(clippy::too_many_arguments, reason = "one call for each agent")]
fn put(
    making: &mut Making,
    agent: &'static str,
    name: &str,
    path: &str,
    subagent: &Subagent,
    own: Option<Vec<u8>>,
    form: &SubagentForm,
    bytes: &[u8],
) -> bool {
    let file = match own {
        Some(own) => own,
        None => {
            let Ok(body) = std::str::from_utf8(split_front(bytes).1) else {
                making.left_out(&[agent], word::SUBAGENT, name, "its text is not UTF-8");
                return false;
            };
            let (Ok(written), Ok(file)) = (subagent.write(form), subagent.file(form, body)) else {
                making.left_out(&[agent], word::SUBAGENT, name, "it has no description");
                return false;
            };
            if let Some(lost) = written.lost {
                making.changed(&[agent], word::SUBAGENT, name, &format!("written for an agent {lost}"));
            }
            file
        }
    };
    let is_put = making.put(path, file, false);
    if !is_put {
        making.left_out(&[agent], word::SUBAGENT, name, "its path is taken, or not valid on every file system");
    }
    is_put
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gemini_is_strict() {
        let file = |front: &str| is_in_gemini(format!("---\n{front}---\nText\n").as_bytes());
        assert!(file("name: a-b\ndescription: d\nmodel: inherit\n"));
        for bad in [
            "name: a\n",
            "description: d\n",
            "name: A b\ndescription: d\n",
            "name: a\ndescription: d\ntools: Read\n",
            "name: a\ndescription: d\ntools: [Read]\n",
            "name: a\ndescription: d\ncolor: red\n",
        ] {
            assert!(!file(bad), "{bad}");
        }
        assert!(!is_in_gemini(b"Text"));
    }
}
