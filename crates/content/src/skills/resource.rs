//! The MCP resource `skill://NAME/SKILL.md` for a prompt that acts as a skill.

use super::{is_name, prompt};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Contents, ListedIn, Resource, ResourceRequest, Validator};
use mcpkg_store::{blobs, projects};

pub(crate) const RESOURCES: &[Resource] = &[RESOURCE];

/// The `SKILL.md` of a prompt that acts as a skill. Stored skills are ordinary resources, and need no template.
const RESOURCE: Resource = Resource {
    uri: "skill://{name}/SKILL.md",
    name: "skill",
    title: "Skill",
    description: "A prompt presented as a skill",
    mime_type: Some("text/markdown"),
    shown: ListedIn::Elsewhere,
    live: None,
    read,
    validator,
    ..Resource::EMPTY
};

/// Returns the `SKILL.md` that is made from the prompt, and its SHA-256.
fn main_file(asked: &ResourceRequest<'_>) -> Result<Option<(Vec<u8>, [u8; 32])>> {
    let name = asked.values.get("name");
    if !is_name(name) {
        return Ok(None);
    }
    let Some(project) = projects::served(asked.db, asked.selection)? else { return Ok(None) };
    let found = prompt(asked.db, project.id, name)?;
    Ok(found.and_then(|(skill, text)| Some((text, skill.files.first()?.sha256))))
}

fn read(asked: &ResourceRequest<'_>, contents: &mut dyn Contents) -> Result<bool> {
    let Some((text, _)) = main_file(asked)? else { return Ok(false) };
    let text = String::from_utf8(text)
        .map_err(|error| blobs::damaged_value("a prompt's content is not UTF-8").with_source(error))?;
    let shell = || format!("mcpkg skill show {} -o DIR", asked.values.get("name"));
    contents.text(RESOURCE.mime_type, &text, &shell)?;
    Ok(true)
}

fn validator(asked: &ResourceRequest<'_>) -> Result<Option<Validator>> {
    main_file(asked)?.map(|(_, sha256)| Validator::of(&sha256)).transpose()
}
