//! Generates the files that a deploy makes from a prompt, to recognize them in the folders of other agents.

use mcpkg_agents::commands::words::{self, Spelling};
use mcpkg_agents::commands::{self, convert_to, skill};
use mcpkg_store::new_content::NewContent;
use mcpkg_store::prompts::Attributes;

/// Returns the files of a prompt for agents that have commands.
pub fn forms(name: &str, attributes: &Attributes, content: &NewContent) -> Vec<String> {
    let Some(own) = claude(name, attributes, content) else { return Vec::new() };
    let spelled = words::spell(&own, &attributes.arguments, Spelling::Words).into_owned();
    let opencode = convert_to::opencode(&own, &attributes.arguments).ok();
    let gemini = convert_to::gemini(&own, &attributes.arguments).ok();
    [Some(own), Some(spelled), opencode, gemini].into_iter().flatten().collect()
}

/// Returns the skill that a deploy makes from a prompt for agents without commands: its name, and its SKILL.md.
pub fn skill(name: &str, attributes: &Attributes, content: &NewContent) -> Option<(String, Vec<u8>)> {
    let own = claude(name, attributes, content)?;
    let path = commands::path(name, attributes);
    let skill = skill::name(path.strip_suffix(".md").unwrap_or(&path));
    let main = skill::of_command(&skill, own.as_bytes(), &attributes.arguments);
    Some((skill, main))
}

fn claude(name: &str, attributes: &Attributes, content: &NewContent) -> Option<String> {
    let content = content.bytes().ok().and_then(|bytes| String::from_utf8(bytes.into_owned()).ok())?;
    commands::to_file(name, attributes, &content).ok()
}
