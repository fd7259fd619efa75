//! Reads the files of a skill.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use super::stray;
use super::text::{MAX_DESCRIBED, front_matter};
use crate::answer;
use crate::import::paths::agents::{self, Role};
use crate::import::paths::destination::{Destination, InSkill};
use crate::import::reason::{Note, naming};
use crate::item::File;
use crate::skills::{LOWER_MAIN, MAIN};
use mcpkg_agents::commands::skill::MAX_DESCRIPTION;
use mcpkg_agents::forms::matter;
use mcpkg_agents::forms::skill::{self, Fault, MANUAL_YAML, Main, OPENAI_YAML};
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::Result;
use mcpkg_store::blobs::NewContent;

/// A skill's folder.
pub struct Skill<'f> {
    pub to: &'f Destination,
    pub folder: &'f InSkill,
    /// The path of the skill's SKILL.md, even if there is no such file.
    pub main: String,
    pub files: Vec<SkillFile<'f>>,
    /// The file with which a deploy tells Codex not to use the skill on its own. SKILL.md contains the same information.
    pub policy: Option<&'f File>,
}

/// A file of a skill.
pub struct SkillFile<'f> {
    pub file: &'f File,
    /// The file's path within the skill.
    pub path: String,
    pub description: Option<String>,
    /// For a SKILL.md with faults, the content without them. A deploy writes this content for agents that refuse the faults.
    pub mended: Option<NewContent>,
    /// Whether the file is skipped because it looks like a configuration of MCP servers with secret values.
    pub is_stray: bool,
    /// Notes about the file. They apply only if the file becomes an item.
    pub notes: Vec<Note>,
}

impl<'f> Skill<'f> {
    pub(super) fn read(
        folder: &'f InSkill,
        to: &'f Destination,
        files: Vec<&'f File>,
        secrets: &Secrets,
    ) -> Result<Self> {
        let below = if folder.folder.is_empty() { String::new() } else { format!("{}/", folder.folder) };
        let path_of = |file: &File| file.relative.strip_prefix(&below).unwrap_or(&file.relative).to_owned();
        let mut main = format!("{below}{MAIN}");
        let lower = format!("{below}{LOWER_MAIN}");
        if files.iter().any(|file| file.relative == lower) && !files.iter().any(|file| file.relative == main) {
            main = lower;
        }
        let read_main = match files.iter().find(|file| file.relative == main) {
            Some(file) if is_described(file) => Some(Main::read(&answer::text(file.content.bytes()?.into_owned())?)),
            _ => None,
        };
        let is_manual = read_main.as_ref().is_some_and(|main| main.manual);
        let mut skill = Self { to, folder, main, files: Vec::new(), policy: None };
        for file in files {
            let path = if file.relative == skill.main { MAIN.to_owned() } else { path_of(file) };
            let is_policy = is_manual
                && path == OPENAI_YAML
                && file.content.size() == MANUAL_YAML.len() as u64
                && *file.content.bytes()? == *MANUAL_YAML.as_bytes();
            if is_policy {
                skill.policy = Some(file);
                continue;
            }
            let read = SkillFile::read(file, path, folder, read_main.as_ref(), secrets);
            skill.files.push(read.map_err(|error| naming(&file.relative, error))?);
        }
        Ok(skill)
    }

    /// Returns a hash of the files. If a deploy removed faults from a copy, the copy has the same hash.
    pub fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for SkillFile { file, path, mended, .. } in &self.files {
            (file.executable, path).hash(&mut hasher);
            mended.as_ref().unwrap_or(&file.content).hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl<'f> SkillFile<'f> {
    /// Reads a file. `main` is the parsed SKILL.md of the skill.
    fn read(file: &'f File, path: String, folder: &InSkill, main: Option<&Main>, secrets: &Secrets) -> Result<Self> {
        let mut read = Self { file, path, description: None, mended: None, is_stray: false, notes: Vec::new() };
        if stray::holds_values(file, secrets)? {
            read.is_stray = true;
            read.notes.push(stray::left_out(file).1);
        }
        if !is_described(file) {
            return Ok(read);
        }
        if read.path == MAIN {
            read.mended = skill::mended(&file.content.bytes()?).map(NewContent::from);
        }
        let has_front_matter =
            Path::new(&read.path).extension().is_some_and(|ending| ending == "md" || ending == "mdc");
        if has_front_matter && !read.is_stray {
            let text = answer::text(file.content.bytes()?.into_owned())?;
            read.description = front_matter(file, &text, &mut read.notes).description;
            if read.path == MAIN && file.relative.ends_with(LOWER_MAIN) {
                let note = format!(
                    "is called {LOWER_MAIN}, which agents find only where case does not matter; a deploy writes {MAIN}"
                );
                read.notes.push(Note::of(file, None, note));
            }
            let notes = notes(folder, &read.path, &text, main).into_iter();
            read.notes.extend(notes.map(|(line, note)| Note::of(file, line, note)));
        }
        Ok(read)
    }
}

/// Returns whether a file's front matter is read.
fn is_described(file: &File) -> bool {
    file.content.is_text() && file.content.size() <= MAX_DESCRIBED
}

/// Returns notes about a skill's file that some agents read differently than others, each with a line if there is one.
fn notes(skill: &InSkill, path: &str, text: &str, main: Option<&Main>) -> Vec<(Option<usize>, String)> {
    let mut notes = Vec::new();
    if path != MAIN {
        if path.ends_with("/SKILL.md") {
            notes.push((
                None,
                format!("is inside the skill '{}', where Claude Code and Gemini do not find it", skill.name),
            ));
        }
        return notes;
    }
    let Some(main) = main else { return notes };
    for fault in &main.faults {
        notes.push(match fault {
            Fault::Mark => {
                (Some(1), "begins with a byte order mark; Codex and Gemini do not load the skill".to_owned())
            }
            Fault::NotYaml => {
                let keys = matter::split(text).ok().flatten().and_then(|(yaml, _)| matter::keys(yaml).ok());
                let (why, line) = keys.and_then(|keys| keys.odd).unwrap_or_default();
                let note = format!("has front matter that is not valid YAML ({why}); Copilot does not load the skill");
                (Some(line + 1), note)
            }
            Fault::LongDescription => {
                let note = format!(
                    "has a description longer than {MAX_DESCRIPTION} characters; Copilot does not load the skill"
                );
                (None, note)
            }
        });
    }
    let name = main.name.as_deref().unwrap_or(&skill.name);
    if name != skill.name {
        let folder = &skill.name;
        notes.push((
            None,
            format!(
                "is called `{folder}` (the name of its folder) in Claude Code, but `{name}` (the `name` in its front matter) in other agents"
            ),
        ));
    }
    if name.contains('.') {
        notes.push((None, format!("cannot be called as `${name}` in Codex, because the name has a dot")));
    }
    if is_in_group(&skill.folder) {
        notes.push((
            None,
            "is nested too deep for Claude Code and Gemini to find; a deploy writes the skill to a folder where they find it"
                .to_owned(),
        ));
    }
    notes
}

/// Returns whether a skill is not directly in an agent's folder of skills, but in a subfolder: `.claude/skills/group/pdf`.
fn is_in_group(folder: &str) -> bool {
    let parts: Vec<&str> = folder.split('/').collect();
    let is_of_skills =
        |window: &[&str]| agents::places().iter().any(|place| place.role == Role::Skill && place.folder == *window);
    parts.windows(2).position(is_of_skills).is_some_and(|at| parts.len() > at + 3)
}
