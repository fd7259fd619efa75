//! Skills: the resources below `skill://NAME/`, one of which is `SKILL.md`.
//!
//! A prompt can also be read as a skill, for agents that support only skills. Its name is changed to a valid one:
//! `Code.Review` becomes the skill `code-review`. If several items have that name, a stored skill wins, then the prompt with
//! exactly that name, and then the prompt that sorts first. `mcpkg skill validate` reports the others.

pub mod check;

mod change;
mod create;
mod resource;
mod show;
mod uri;
mod validate;

use serde_json::{Map, Value};

use mcpkg_agents::commands;
use mcpkg_agents::commands::skill::{self, is_name};
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::Entry;
use mcpkg_store::page::Page;
use mcpkg_store::projects::{self, Selection};
use mcpkg_store::prompts::Prompt;
use mcpkg_store::{Db, blobs, skills as rows};

use mcpkg_base::sha256;
pub(super) use resource::RESOURCES;
pub use uri::{LOWER_MAIN, MAIN, MAX_MAIN, SCHEME, name_of, path_of, uri_of};

/// The group of the operations on skills. It is separate from `content`, so that both lists of tools stay small.
pub const GROUP: &str = "skills";

pub const OPS: &[Entry] = &[
    Entry::of::<create::Create>(),
    Entry::of::<change::Update>(),
    Entry::of::<change::Delete>(),
    Entry::of::<change::Restore>(),
    Entry::of::<show::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<validate::Validate>(),
];

/// Where a skill comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Stored,
    Prompt,
}

impl Origin {
    pub const fn word(self) -> &'static str {
        match self {
            Origin::Stored => "skill",
            Origin::Prompt => "prompt",
        }
    }
}

/// A skill without the contents of its files.
#[derive(Clone, Debug)]
pub struct Skill {
    pub name: String,
    pub origin: Origin,
    /// The front matter of `SKILL.md`; `None` if it is invalid or lacks the skill's name or a description.
    pub matter: Option<Map<String, Value>>,
    pub files: Vec<File>,
}

/// A file of a skill.
#[derive(Clone, Debug)]
pub struct File {
    pub uri: String,
    pub mime_type: Option<String>,
    /// The size in bytes.
    pub size: i64,
    pub sha256: [u8; 32],
}

impl Skill {
    /// Returns what the skill is for, from its front matter.
    pub fn description(&self) -> Option<&str> {
        self.matter.as_ref()?.get("description")?.as_str()
    }
}

/// Returns whether the current project has a stored skill.
pub fn any(db: &Db<'_>, selection: &Selection) -> Result<bool> {
    let Some(project) = projects::served(db, selection)? else { return Ok(false) };
    Ok(!rows::names(db, project.id, &Page::first(1))?.rows.is_empty())
}

/// Returns the page of a project's skills that begins after the cursor `after`, and the cursor of the next page. Stored
/// skills come first, sorted by URI. Prompts that act as skills follow, sorted by name.
pub fn page(db: &Db<'_>, project: i64, after: &str, limit: usize) -> Result<(Vec<Skill>, Option<String>)> {
    const STORED: &str = "skill/";
    const PROMPTS: &str = "prompt/";
    let mut skills = Vec::new();
    let mut left = limit;
    let mut last = after.strip_prefix(PROMPTS).unwrap_or_default().to_owned();
    if !after.starts_with(PROMPTS) {
        let page = Page { after: after.strip_prefix(STORED).unwrap_or_default().to_owned(), limit };
        let slice = rows::names(db, project, &page)?;
        left -= slice.rows.len();
        for name in &slice.rows {
            skills.extend(stored(db, project, name)?);
        }
        if let (true, Some(name)) = (slice.more, slice.rows.last()) {
            return Ok((skills, Some(format!("{STORED}{name}"))));
        }
    }
    let slice = rows::prompts(db, project, &Page { after: last.clone(), limit: left })?;
    for prompt in &slice.rows {
        skills.extend(of_prompt(db, prompt)?.map(|(skill, _)| skill));
        last.clone_from(&prompt.name);
    }
    Ok((skills, slice.more.then(|| format!("{PROMPTS}{last}"))))
}

/// Returns the skill `name`: a stored skill, or a prompt that acts as a skill with this name.
pub fn find(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Skill>> {
    if let Some(skill) = stored(db, project, name)? {
        return Ok(Some(skill));
    }
    Ok(prompt(db, project, name)?.map(|(skill, _)| skill))
}

pub fn stored(db: &Db<'_>, project: i64, name: &str) -> Result<Option<Skill>> {
    let files = rows::files(db, project, name)?;
    let main = format!("{SCHEME}{name}/{MAIN}");
    let Some(main) = files.iter().find(|file| file.resource.attributes.uri == main) else {
        return Ok(None);
    };
    let matter = if main.resource.size <= MAX_MAIN && is_name(name) {
        let text = blobs::get(db, main.resource.blob)?;
        std::str::from_utf8(&text).ok().and_then(|text| check::main(name, text).matter)
    } else {
        None
    };
    let files = files
        .into_iter()
        .map(|rows::File { resource, sha256 }| File {
            uri: resource.attributes.uri,
            mime_type: resource.attributes.mime_type,
            size: resource.size,
            sha256,
        })
        .collect();
    Ok(Some(Skill { name: name.to_owned(), origin: Origin::Stored, matter, files }))
}

/// Returns the prompt that acts as the skill `name`, and the `SKILL.md` that is made from it.
pub fn prompt(db: &Db<'_>, project: i64, name: &str) -> Result<Option<(Skill, Vec<u8>)>> {
    match rows::prompt(db, project, name)? {
        Some(prompt) => of_prompt(db, &prompt),
        None => Ok(None),
    }
}

fn of_prompt(db: &Db<'_>, prompt: &Prompt) -> Result<Option<(Skill, Vec<u8>)>> {
    if prompt.size > MAX_MAIN {
        return Ok(None);
    }
    let content = super::answer::text(blobs::get(db, prompt.blob)?)?;
    let file = match commands::to_file(&prompt.name, &prompt.attributes, &content) {
        Ok(file) => file,
        // A template that cannot be rendered does not act as a skill. It remains a prompt.
        Err(error) if matches!(error.code(), Code::TemplateFailed | Code::TooLarge) => return Ok(None),
        Err(error) => return Err(error),
    };
    let name = skill::name(&prompt.name);
    let text = skill::of_command(&name, file.as_bytes(), &prompt.attributes.arguments);
    let matter = std::str::from_utf8(&text).ok().and_then(|text| check::main(&name, text).matter);
    let file = File {
        uri: uri_of(&name, MAIN),
        mime_type: Some("text/markdown".to_owned()),
        size: i64::try_from(text.len()).unwrap_or(i64::MAX),
        sha256: sha256::of(&text),
    };
    let skill = Skill { name, origin: Origin::Prompt, matter, files: vec![file] };
    Ok(Some((skill, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_and_names_belong_together() {
        assert_eq!(name_of("skill://a-b/SKILL.md"), Some("a-b"));
        for no in [
            "skill://a/b/SKILL.md",
            "skill:///SKILL.md",
            "skill://A/SKILL.md",
            "skill://aSKILL.md",
            "file:///a/SKILL.md",
        ] {
            assert_eq!(name_of(no), None, "{no}");
        }
        assert_eq!(uri_of("a", "x y/é.md"), "skill://a/x%20y/%C3%A9.md");
        assert_eq!(path_of("a", "skill://a/x%20y.md").as_deref(), Some("x y.md"));
        for no in ["skill://a/../x", "skill://a/%2e%2e/x", "skill://a/", "skill://ab/x", "skill://a/x%0a"] {
            assert_eq!(path_of("a", no), None, "{no}");
        }
    }
}
