//! Collects the names and descriptions of skills, commands and subagents that an agent loads in each session. The agent
//! reads the files themselves only when it uses them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::amount::Listed;
use super::files::Files;
use crate::targets::{Target, TargetConfig};
use mcpkg_agents::agents::places::{CalledBy, Manual, SkillReading};
use mcpkg_agents::forms::skill::{self, Main, OPENAI_YAML};

/// The file name that makes a folder a skill.
const MAIN: &str = "/SKILL.md";

/// The list entry of a skill, command or subagent.
struct Entry {
    name: String,
    bytes: u64,
}

impl Files<'_> {
    /// Counts the entries that a target lists and their bytes. Also returns the paths of the skills that it loads
    /// completely.
    pub(super) fn listed(&mut self, config: &TargetConfig) -> (Listed, Vec<PathBuf>) {
        let (target, bases) = (config.target, self.bases());
        let facts = target.facts();
        if facts.servers_only {
            return (Listed::default(), Vec::new());
        }
        let (mut skills, mut commands, mut subagents) = (Vec::new(), Vec::new(), Vec::new());
        if let (true, Some(root)) = (config.project, &bases.root) {
            let folders = [facts.project.skills].into_iter().chain(facts.project.also_skills.iter().copied());
            skills.extend(folders.map(|folder| root.join(folder)));
            commands.extend(facts.reading.lists_commands.map(|listed| root.join(listed.folder)));
            subagents.extend(facts.subagents.map(|places| root.join(places.project)));
        }
        if config.user {
            let folders = [facts.user.skills].into_iter().chain(facts.user.also_skills.iter().copied());
            skills.extend(folders.map(|folder| bases.home.join(folder)));
            let listed = facts.reading.lists_commands.filter(|listed| listed.of_user);
            commands.extend(listed.map(|listed| bases.home.join(listed.folder)));
            subagents.extend(facts.subagents.and_then(|places| Some(bases.own(config).join(places.user?))));
        }
        let mut listed = Listed::default();
        let mut names = HashSet::new();
        let mut whole = Vec::new();
        for folder in skills {
            let top = self.real_folder(&folder);
            for path in self.below(&folder, MAIN, true) {
                let Some(main) = self.main(&path) else { continue };
                if main.always && facts.reading.skills.always_applies {
                    whole.push(path);
                    continue;
                }
                let entry = self.skill(&facts.reading.skills, &top, &path, &main);
                // If two skills have the same name, an agent shows only one of them.
                if let Some(entry) = entry.filter(|entry| names.insert(entry.name.clone())) {
                    listed.skills += 1;
                    listed.bytes += entry.bytes;
                }
            }
        }
        let nested = facts.reading.lists_commands.is_some_and(|listed| listed.nested);
        for folder in commands {
            let top = self.real_folder(&folder);
            for path in self.below(&folder, ".md", false) {
                let is_listed = nested || path.parent() == Some(top.as_path());
                let entry = self.main(&path).filter(|_| is_listed).map(|main| entry(&stem(&path, ".md"), &main, None));
                if let Some(entry) = entry.filter(|entry| names.insert(entry.name.clone())) {
                    listed.commands += 1;
                    listed.bytes += entry.bytes;
                }
            }
        }
        let mut names = HashSet::new();
        for folder in subagents {
            self.subagents(target, &folder, &mut names, &mut listed);
        }
        (listed, whole)
    }

    fn subagents(&mut self, target: Target, folder: &Path, names: &mut HashSet<String>, listed: &mut Listed) {
        let Some(places) = target.facts().subagents.filter(|places| places.listed) else { return };
        for path in self.below(folder, places.ending, false) {
            let Some(main) = self.main(&path) else { continue };
            let name = main.name.clone().unwrap_or_else(|| stem(&path, places.ending));
            if names.insert(name.clone()) {
                listed.subagents += 1;
                listed.bytes += entry(&name, &main, None).bytes;
            }
        }
    }

    /// Returns the list entry of a skill below the folder `top`; `None` if the agent does not list it.
    fn skill(&self, reading: &SkillReading, top: &Path, path: &Path, main: &Main) -> Option<Entry> {
        let own = path.parent()?;
        let is_deep = own.parent() != Some(top);
        let is_hidden = match reading.manual {
            Some(Manual::Key) => main.manual,
            Some(Manual::OpenaiYaml) => {
                self.content_in(own, OPENAI_YAML).is_some_and(|policy| !skill::is_allowed_unasked(&policy))
            }
            Some(Manual::Nothing) | None => false,
        };
        let is_rejected = reading.rejects.iter().any(|fault| main.faults.contains(fault))
            || (reading.needs_description && main.description.is_none());
        let is_scoped = reading.scoped_by.iter().any(|key| main.scopes.contains(key));
        if is_hidden || is_rejected || is_scoped || (is_deep && reading.finds_nested == Some(false)) {
            return None;
        }
        let of_folder = own.file_name()?.to_string_lossy().into_owned();
        let name = match reading.called_by {
            Some(CalledBy::Folder) => of_folder,
            Some(CalledBy::Name) | None => main.name.clone().unwrap_or(of_folder),
        };
        Some(entry(&name, main, Some(reading)))
    }
}

/// Returns the list entry of a file: its name, and the part of its description that the agent loads.
fn entry(name: &str, main: &Main, reading: Option<&SkillReading>) -> Entry {
    let mut text = main.description.clone().unwrap_or_default();
    if let Some(when) = main.when_to_use.as_ref().filter(|_| reading.is_some_and(|reading| reading.lists_when_to_use)) {
        text.push_str(when);
    }
    let most = reading.and_then(|reading| reading.cuts_description).unwrap_or(usize::MAX);
    let described: usize = text.chars().take(most).map(char::len_utf8).sum();
    Entry { name: name.to_owned(), bytes: (name.len() + described) as u64 }
}

fn stem(path: &Path, ending: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(ending).unwrap_or(&name).to_owned()
}
