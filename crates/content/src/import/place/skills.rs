//! Places skills: adds their files as items, or reports them as duplicates.

use std::collections::{HashMap, HashSet};

use super::Placing;
use crate::import::paths::destination::Destination;
use crate::import::read::skill::{Skill, SkillFile};
use crate::import::reason::{Reason, naming};
use crate::item::{Item, Origin, What, name};
use crate::same::{Duplicate, variants};
use crate::skills::MAIN;
use crate::uri::{decode, encode};
use mcpkg_agents::forms::skill;
use mcpkg_base::error::Result;
use mcpkg_store::modules::Applies;

impl Placing {
    /// Places a skill under the name of its folder. If a different skill has that name, chooses another name.
    pub(super) fn skill(&mut self, skill: &Skill<'_>) -> Result<()> {
        let Skill { to, folder, main, files, policy } = skill;
        let hash = skill.hash();
        let of_policy = policy.map(|policy| Duplicate { path: policy.relative.clone(), of: main.clone() });
        // If the manifest lists a skill's SKILL.md, the name alone identifies the skill.
        let of_manifest = || {
            let at = self.known.with_uri(&uri_of(&folder.name, MAIN));
            at.is_some_and(|at| at < self.known.listed).then(|| folder.name.clone())
        };
        if let Some(name) = self.known.skill(&folder.name, hash).or_else(of_manifest)
            && let Some(originals) = self.originals(&name, files)?
        {
            for (file, at) in files.iter().zip(originals) {
                self.skill_duplicate(file, at);
            }
            self.placed.account.same.extend(of_policy);
            return Ok(());
        }
        let lower = folder.name.to_lowercase();
        if folder.is_unread && self.read_skills.contains(&lower) {
            let policy = policy.iter().copied();
            files.iter().map(|file| file.file).chain(policy).for_each(|file| self.leave_out(file, Reason::OtherSkill));
            return Ok(());
        }
        if !folder.is_unread {
            self.read_skills.insert(lower);
        }
        self.placed.account.same.extend(of_policy);
        let name = self.names.skill(folder.name.clone(), &to.origins(main), main);
        if name != folder.name
            && let Some(first) = files.iter().find(|file| file.file.relative == *main).or(files.first())
        {
            let note = format!(
                "became the skill '{name}', because another skill is already named '{}' (ignoring case)",
                folder.name
            );
            self.placed.account.note(first.file, None, note);
        }
        for file in files {
            self.skill_file(file, to, &name, main).map_err(|error| naming(&file.file.relative, error))?;
        }
        self.known.set_skill(&folder.name, hash, name);
        Ok(())
    }

    /// Returns the items in the skill `name` that equal these files; `None` unless there is one for each file.
    fn originals(&self, name: &str, files: &[SkillFile<'_>]) -> Result<Option<Vec<usize>>> {
        let mut originals = Vec::new();
        for SkillFile { file, path, .. } in files {
            let Some(at) = self.known.with_uri(&uri_of(name, path)) else { return Ok(None) };
            let item = &self.placed.items[at];
            let is_variant = || -> Result<bool> {
                Ok(path == MAIN && skill::is_same(path, &item.content.bytes()?, &file.content.bytes()?))
            };
            let is_same = item.content == file.content || is_variant()?;
            if item.entry.what.is_executable() != file.executable || !is_same {
                return Ok(None);
            }
            originals.push(at);
        }
        Ok(Some(originals))
    }

    /// Reports a file as a duplicate of an item. But if a deploy wrote the item from this file, with faults removed, the file
    /// replaces the item.
    fn skill_duplicate(&mut self, SkillFile { file, mended, .. }: &SkillFile<'_>, at: usize) {
        let item = &mut self.placed.items[at];
        if at < self.known.listed || item.content == file.content || mended.is_none() {
            return self.duplicate(file, at);
        }
        item.content = file.content.clone();
        let before = std::mem::replace(&mut item.path, file.relative.clone());
        self.same(before, file.relative.clone());
    }

    fn skill_file(&mut self, read: &SkillFile<'_>, to: &Destination, skill: &str, main: &str) -> Result<()> {
        let SkillFile { file, path, description, notes, is_stray, .. } = read;
        self.placed.account.notes.extend(notes.iter().cloned());
        if *is_stray {
            self.leave_out(file, Reason::Secret);
            return Ok(());
        }
        let uri = uri_of(skill, path);
        let known = self.known.with_uri(&uri).map(|at| self.placed.items[at].entry.name.clone());
        let wanted = || name::letters(&format!("{skill}/{path}"));
        let name = known.unwrap_or_else(|| self.names.resource(wanted(), &[], &file.relative));
        let (agent, path) = (to.agent.map(str::to_owned), Some(main.to_owned()));
        self.resource(file, name, uri, description.clone(), Origin { applies: Applies::Always, agent, path })
    }

    /// Removes skills that a deploy wrote from commands, for agents that do not support commands.
    pub(super) fn remove_skills_of_commands(&mut self) {
        let lone = lone_skills(&self.placed.items);
        if lone.is_empty() {
            return;
        }
        let mut commands: HashMap<(String, Vec<u8>), String> = HashMap::new();
        for item in &self.placed.items {
            if let What::Prompt(attributes) = &item.entry.what
                && let Ok(content) = item.content.bytes()
            {
                let (skill, forms) = variants::skills_of(&item.entry.name, attributes, &content);
                for form in forms {
                    commands.entry((skill.clone(), form)).or_insert_with(|| item.path.clone());
                }
            }
        }
        for (at, skill) in lone.into_iter().rev() {
            let Ok(bytes) = self.placed.items[at].content.bytes().map(|bytes| bytes.into_owned()) else { continue };
            if let Some(original) = commands.get(&(skill, bytes)) {
                let removed = self.placed.items.remove(at);
                self.same(removed.path, original.clone());
            }
        }
    }
}

fn uri_of(skill: &str, path: &str) -> String {
    format!("skill://{}", encode(&format!("{skill}/{path}")))
}

/// Returns the skills that consist only of a SKILL.md: the index of the item, and the name of the skill.
fn lone_skills(items: &[Item]) -> Vec<(usize, String)> {
    let skill_of = |item: &Item| {
        let path = decode(item.entry.what.uri()?.strip_prefix("skill://")?)?;
        path.split_once('/').map(|(name, file)| (name.to_owned(), file.to_owned()))
    };
    let mut many: HashSet<String> = HashSet::new();
    let mut lone: Vec<(usize, String)> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match skill_of(item) {
            Some((name, file)) if file == MAIN => lone.push((at, name)),
            Some((name, _)) => drop(many.insert(name)),
            None => {}
        }
    }
    lone.retain(|(_, name)| !many.contains(name));
    lone
}
