//! Lays out commands: for Claude Code, for Gemini CLI as TOML in the same folder, and for Copilot CLI in its own
//! folder. Codex loads no commands from plugins.

use std::collections::HashSet;

use super::making::{CLAUDE, CODEX, COPILOT, GEMINI, Making, of_copilot, word};
use crate::answer;
use crate::item::{Entry, What};
use mcpkg_agents::commands::convert_to::{self, Unsayable};
use mcpkg_agents::commands::words::{self, Spelling};
use mcpkg_agents::commands::{self, skill};
use mcpkg_base::error::Result;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::prompts::Attributes;

/// Adds the project's commands. `skills` contains the names of the plugin's skills.
pub(super) fn add(making: &mut Making, items: &[(Entry, NewContent)], skills: &HashSet<String>) -> Result<()> {
    for (at, (entry, content)) in items.iter().enumerate() {
        let What::Prompt(attributes) = &entry.what else { continue };
        let name = entry.name.as_str();
        let text = answer::text(content.bytes()?.into_owned())?;
        let own = match commands::to_file(name, attributes, &text) {
            Ok(own) => own,
            Err(error) => {
                making.left_out(&[], word::COMMAND, name, error.message());
                continue;
            }
        };
        let path = commands::path(name, attributes);
        let paths = [path, format!("{name}.md")];
        let Some(path) = paths.iter().find(|path| making.put(&format!("commands/{path}"), own.clone().into(), false))
        else {
            making.left_out(&[], word::COMMAND, name, "its path is taken, or not valid on every file system");
            continue;
        };
        making.expect(&format!("commands/{path}"), at, word::COMMAND, name);
        let stem = path.strip_suffix(".md").unwrap_or(path);
        if skills.contains(stem) {
            making.left_out(&[CLAUDE], word::COMMAND, name, "a skill has the same name, and wins");
        }
        for_copilot(making, name, stem, &own, attributes, skills);
        for_gemini(making, name, stem, &own, attributes);
        making.left_out(&[CODEX], word::COMMAND, name, "it loads no commands from plugins");
    }
    Ok(())
}

/// Adds a command for Copilot, which lists commands together with skills, and does not fill in placeholders.
fn for_copilot(
    making: &mut Making,
    name: &str,
    stem: &str,
    own: &str,
    attributes: &Attributes,
    skills: &HashSet<String>,
) {
    if skills.contains(&skill::name(stem)) {
        making.left_out(
            &[COPILOT],
            word::COMMAND,
            name,
            "it lists commands with the skills, and a skill has the same name",
        );
        return;
    }
    let path = of_copilot(&format!("commands/{}.md", stem.replace('/', ".")));
    let file = words::spell(own, &attributes.arguments, Spelling::Words).into_owned();
    if !making.put(&path, file.into_bytes(), false) {
        making.left_out(&[COPILOT], word::COMMAND, name, "another command has the same file name");
    } else if words::runs_something(own.as_bytes()) {
        making.changed(&[COPILOT], word::COMMAND, name, "it does not run the !`...` commands in the text");
    }
}

/// Adds a command for Gemini, as TOML next to Claude Code's file. Claude Code reads only the Markdown files there.
fn for_gemini(making: &mut Making, name: &str, stem: &str, own: &str, attributes: &Attributes) {
    let why = match convert_to::gemini(own, &attributes.arguments) {
        Ok(file) if making.put(&format!("commands/{stem}.toml"), file.clone().into_bytes(), false) => return,
        Ok(_) => "another command has the same file name",
        Err(Unsayable::Placeholders) => "it would replace part of the text",
        Err(Unsayable::WouldRun) => "it would execute part of the text",
    };
    making.left_out(&[GEMINI], word::COMMAND, name, why);
}
