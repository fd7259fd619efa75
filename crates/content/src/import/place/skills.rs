//! Imports the files of skills. The same skill in the folders of several agents is imported once, even if a deploy changed it
//! for one of them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::answer::text;
use crate::import::paths::agents::{self, Role};
use crate::import::paths::{Destination, InSkill};
use crate::import::place::{MAX_DESCRIBED, Understood, naming};
use crate::item::File;
use crate::item::Item;
use crate::item::name;
use crate::item::{Origin, What};
use crate::uri::encode;
use mcpkg_agents::commands::skill::MAX_DESCRIPTION;
use mcpkg_agents::forms::matter;
use mcpkg_agents::forms::skill::{self, Fault, MANUAL_YAML, Main, OPENAI_YAML};
use mcpkg_base::error::Result;
use mcpkg_store::modules::Applies;
use mcpkg_store::new_content::NewContent;

/// The file that makes a folder a skill.
const MAIN: &str = "SKILL.md";

impl Understood {
    /// Adds a skill under the name of its folder, or under another name if a different skill has that name.
    pub(in crate::import) fn skill(&mut self, skill: &InSkill, place: &Destination, files: &[&File]) -> Result<()> {
        let folder = |name: &str| if name.is_empty() { String::new() } else { format!("{name}/") };
        let below = folder(&skill.folder);
        let path_of = |file: &File| file.relative.strip_prefix(&below).unwrap_or(&file.relative).to_owned();
        let main = format!("{below}{MAIN}");
        let mut hasher = DefaultHasher::new();
        let files = self.without_policy(files, path_of, &main)?;
        for file in &files {
            let path = path_of(file);
            (file.executable, &path).hash(&mut hasher);
            match mended(file, &path)? {
                Some(mended) => NewContent::from(mended).hash(&mut hasher),
                None => file.content.hash(&mut hasher),
            }
        }
        let twin = (skill.name.clone(), hasher.finish());
        // A skill whose SKILL.md the manifest lists is recognized by its name alone.
        let of_manifest = || {
            let at = self.uris.get(&format!("skill://{}", encode(&format!("{}/{MAIN}", skill.name))));
            at.is_some_and(|at| *at < self.listed_count).then(|| skill.name.clone())
        };
        let known = self.skills.get(&twin).cloned().or_else(of_manifest);
        if let Some(same) = known.map(|name| self.same_skill(&name, &files, path_of)).transpose()?.flatten() {
            for (file, at) in files.iter().zip(same) {
                self.take_own(file, &path_of(file), at)?;
            }
            return Ok(());
        }
        let taken = &mut self.skill_names;
        let origins = place.origins(&main);
        let mut names = name::names(skill.name.clone(), &origins, &main);
        let name = names.find(|name| taken.insert(name.to_lowercase())).unwrap_or_default();
        if name != skill.name
            && let Some(first) = files.iter().find(|file| file.relative == main).or(files.first())
        {
            let note = format!(
                "became the skill '{name}', because another skill is already named '{}' (ignoring case)",
                skill.name
            );
            self.note(first, None, note);
        }
        for file in &files {
            let added = self.file_of_skill(file, place, &name, &path_of(file), &main);
            added.map_err(|error| naming(&file.relative, error))?;
        }
        self.skills.entry(twin).or_insert(name);
        Ok(())
    }

    /// Drops the policy file that a deploy writes for Codex if agents must not use the skill on their own.
    fn without_policy<'f>(
        &mut self,
        files: &[&'f File],
        path_of: impl Fn(&File) -> String,
        main: &str,
    ) -> Result<Vec<&'f File>> {
        let mut others = Vec::new();
        let is_manual = match files.iter().find(|file| file.relative == main) {
            Some(file) if is_described(file) => Main::read(&text(file.content.bytes()?.into_owned())?).manual,
            _ => false,
        };
        for file in files {
            let is_policy = is_manual
                && path_of(file) == OPENAI_YAML
                && file.content.size() == MANUAL_YAML.len() as u64
                && *file.content.bytes()? == *MANUAL_YAML.as_bytes();
            if is_policy {
                self.same.push((file.relative.clone(), main.to_owned()));
            } else {
                others.push(*file);
            }
        }
        Ok(others)
    }

    /// Returns the items of the skill `name` that equal the files; `None` unless all files are equal.
    fn same_skill(&self, name: &str, files: &[&File], path_of: impl Fn(&File) -> String) -> Result<Option<Vec<usize>>> {
        let mut twins = Vec::new();
        for file in files {
            let path = path_of(file);
            let uri = format!("skill://{}", encode(&format!("{name}/{path}")));
            let Some(at) = self.uris.get(&uri) else { return Ok(None) };
            let twin = &self.items[*at];
            let says = || -> Result<bool> {
                Ok(path == MAIN && skill::is_same(&path, &twin.content.bytes()?, &file.content.bytes()?))
            };
            if is_executable(twin) != file.executable || !(twin.content == file.content || says()?) {
                return Ok(None);
            }
            twins.push(*at);
        }
        Ok(Some(twins))
    }

    /// Reports a file as a duplicate of an item. If the file is the original, and the item a copy that a deploy mended for an
    /// agent, the item takes the content of the file instead.
    fn take_own(&mut self, file: &File, path: &str, at: usize) -> Result<()> {
        let item = &mut self.items[at];
        if at < self.listed_count || item.content == file.content || mended(file, path)?.is_none() {
            self.same.push((file.relative.clone(), item.path.clone()));
            return Ok(());
        }
        item.content = file.content.clone();
        let before = std::mem::replace(&mut item.path, file.relative.clone());
        self.same.push((before, file.relative.clone()));
        Ok(())
    }

    fn file_of_skill(&mut self, file: &File, place: &Destination, skill: &str, path: &str, main: &str) -> Result<()> {
        if self.is_strange(file)? {
            return Ok(());
        }
        let described = Path::new(path).extension().is_some_and(|ending| ending == "md" || ending == "mdc");
        let mut description = None;
        if described && is_described(file) {
            let text = text(file.content.bytes()?.into_owned())?;
            description = self.front_matter(file, &text).description;
            let notes = place.skill.as_ref().map(|skill| notes(skill, path, &text)).unwrap_or_default();
            for (line, note) in notes {
                self.note(file, line, note);
            }
        }
        let whole = format!("{skill}/{path}");
        let uri = format!("skill://{}", encode(&whole));
        let known = self.uris.get(&uri).map(|at| self.items[*at].entry.name.clone());
        let name = known.unwrap_or_else(|| self.name(false, name::letters(&whole), &[], &file.relative));
        let origin =
            Origin { applies: Applies::Always, agent: place.agent.map(str::to_owned), path: Some(main.to_owned()) };
        self.resource(file, name, uri, description, origin)
    }
}

/// Returns whether the front matter of a file is read.
fn is_described(file: &File) -> bool {
    file.content.is_text() && file.content.size() <= MAX_DESCRIBED
}

/// Returns the `SKILL.md` with its faults fixed; `None` if there is nothing to fix, and for any other file.
fn mended(file: &File, path: &str) -> Result<Option<Vec<u8>>> {
    Ok(if path == MAIN && is_described(file) { skill::mended(&file.content.bytes()?) } else { None })
}

fn is_executable(item: &Item) -> bool {
    matches!(&item.entry.what, What::Resource(attributes) if attributes.executable)
}

/// Returns notes about differences between agents in reading a skill's file, each with its line.
fn notes(skill: &InSkill, path: &str, text: &str) -> Vec<(Option<usize>, String)> {
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
    let main = Main::read(text);
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

/// Returns whether a skill is nested deeper than directly in an agent's folder of skills: `.claude/skills/group/pdf`.
fn is_in_group(folder: &str) -> bool {
    let parts: Vec<&str> = folder.split('/').collect();
    let is_of_skills =
        |window: &[&str]| agents::places().iter().any(|place| place.role == Role::Skill && place.folder == *window);
    parts.windows(2).position(is_of_skills).is_some_and(|at| parts.len() > at + 3)
}
