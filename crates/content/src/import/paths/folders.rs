//! Detects which folders are skills, and which are plugins.

use std::collections::{BTreeMap, BTreeSet};

use super::agents;
use super::destination::keys_in;
use crate::import::plugins::Plugins;
use crate::import::plugins::place::ReadFile;
use crate::skills::{LOWER_MAIN, MAIN};

/// The subfolders that the specification of skills defines. If a skill's folder has other content as well, only these
/// subfolders and SKILL.md belong to the skill.
const OWN: [&str; 3] = ["assets", "references", "scripts"];

/// How much of a folder belongs to the skill in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Whole,
    /// Only `SKILL.md` and the subfolders in [`OWN`] belong to the skill, because the folder has other content as well.
    Own,
}

#[derive(Debug, Default)]
pub struct Folders {
    skills: BTreeMap<String, Extent>,
    plugins: BTreeSet<String>,
}

impl Folders {
    /// Detects the skills and plugins among the files at these paths.
    pub fn of<'p>(paths: impl Iterator<Item = &'p str> + Clone, with: &Plugins, read: ReadFile<'_>) -> Self {
        let mut plugins: BTreeSet<String> = paths.clone().filter_map(plugin_of).collect();
        plugins.extend(with.folders().chain(with.of_marketplace()).map(str::to_owned));
        let lower = paths.clone().filter_map(folder_with_lower_main);
        let lower = lower.filter(|folder| {
            let file = if folder.is_empty() { LOWER_MAIN.to_owned() } else { format!("{folder}/{LOWER_MAIN}") };
            read(&file).is_some_and(|text| describes_skill(&text))
        });
        let mains = paths.clone().filter_map(folder_with_main).chain(lower);
        let mains: BTreeSet<&str> = mains.filter(|folder| !with.hides_skill(folder)).collect();
        let mut shared: BTreeSet<&str> = paths.filter_map(shared_by).collect();
        shared.extend(with.folders());
        let mut skills: BTreeMap<String, Extent> = BTreeMap::new();
        for folder in &mains {
            let mut above = folder.match_indices('/').map(|(at, _)| &folder[..at]).chain([""]);
            if above.any(|above| above != *folder && skills.get(above) == Some(&Extent::Whole)) {
                continue;
            }
            let is_container = folder.is_empty() || plugins.contains(*folder) || last(folder) == "skills";
            let others = || mains.iter().filter_map(|other| below(other, folder)).any(is_of_its_own);
            let extent =
                if is_container && (shared.contains(folder) || others()) { Extent::Own } else { Extent::Whole };
            skills.insert((*folder).to_owned(), extent);
        }
        Self { skills, plugins }
    }

    /// Treats `folder` and everything below it as one skill.
    pub fn one_skill(folder: &str) -> Self {
        Self { skills: BTreeMap::from([(folder.to_owned(), Extent::Whole)]), plugins: BTreeSet::new() }
    }

    /// Returns whether the root as a whole is a skill.
    pub fn is_one_skill(&self) -> bool {
        self.skills.get("") == Some(&Extent::Whole)
    }

    /// Forgets a skill at the root. Used for exported folders: a skill is named after its folder, and an exported
    /// folder may have any name.
    pub fn forget_root(&mut self) {
        self.skills.remove("");
    }

    /// Treats a folder as a plugin. Needed if neither the folder's path nor its files show that it is a plugin.
    pub fn add_plugin(&mut self, folder: &str) {
        self.plugins.insert(folder.to_owned());
    }

    /// Returns the folder of the outermost skill that contains the file.
    pub fn skill(&self, path: &str) -> Option<&str> {
        let ends = path.match_indices('/').map(|(at, _)| at);
        std::iter::once(0).chain(ends).find_map(|end| {
            let (folder, extent) = self.skills.get_key_value(&path[..end])?;
            let rest = path[end..].trim_start_matches('/');
            let first = rest.split_once('/').map(|(first, _)| first);
            let is_own = || matches!(rest, MAIN | LOWER_MAIN) || first.is_some_and(|first| OWN.contains(&first));
            (*extent == Extent::Whole || is_own()).then_some(folder.as_str())
        })
    }

    pub fn has_skills_below(&self, folder: &str) -> bool {
        let from = format!("{folder}/");
        self.skills.range(from.clone()..).next().is_some_and(|(skill, _)| skill.starts_with(&from))
    }

    /// Returns the folder of the innermost plugin that contains the file.
    pub fn plugin(&self, path: &str) -> Option<&str> {
        let ends = path.rmatch_indices('/').map(|(at, _)| at);
        ends.chain([0]).find_map(|end| self.plugins.get(&path[..end])).map(String::as_str)
    }
}

fn folder_with_main(path: &str) -> Option<&str> {
    match path.strip_suffix(MAIN)? {
        "" => Some(""),
        folder => folder.strip_suffix('/'),
    }
}

fn folder_with_lower_main(path: &str) -> Option<&str> {
    match path.strip_suffix(LOWER_MAIN)? {
        "" => Some(""),
        folder => folder.strip_suffix('/'),
    }
}

/// Returns whether a text has the front matter that every skill has. An ordinary document can also be called
/// `skill.md`, but has no such front matter.
fn describes_skill(text: &[u8]) -> bool {
    keys_in(text).is_some_and(|keys| ["name", "description"].iter().all(|key| keys.map.contains_key(*key)))
}

/// Returns the folder that must be a plugin because it contains a file at this path: the parent of a folder such as
/// `.claude-plugin`, or a subfolder of `plugins` at the root.
fn plugin_of(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    if let [first, plugin, _, ..] = parts[..]
        && first == "plugins"
    {
        return Some(format!("plugins/{plugin}"));
    }
    let at = parts[..parts.len() - 1].iter().position(|part| agents::is_plugin(part))?;
    Some(parts[..at].join("/"))
}

/// Returns the folder that cannot be a skill as a whole, because the file at `path` shows that the folder has other
/// content too. Instructions, and files in an agent's folder other than `.github`, never belong to a skill.
fn shared_by(path: &str) -> Option<&str> {
    let mut from = 0;
    for part in path.split('/') {
        let is_last = from + part.len() == path.len();
        let shows =
            if is_last { agents::instructions(part).is_some() } else { agents::is_folder(part) && part != ".github" };
        if shows {
            return Some(path[..from].trim_end_matches('/'));
        }
        from += part.len() + 1;
    }
    None
}

/// Returns whether a nested skill is separate, and not an example within the outer skill. It is separate if it is directly in
/// the outer folder, or in a folder where agents or plugins keep skills.
fn is_of_its_own(rest: &str) -> bool {
    !rest.contains('/') || rest.split('/').any(|part| matches!(part, "skills" | "plugins") || agents::is_folder(part))
}

fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    if folder.is_empty() {
        return Some(path).filter(|path| !path.is_empty());
    }
    path.strip_prefix(folder)?.strip_prefix('/')
}

fn last(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(paths: [&str; N]) -> Folders {
        Folders::of(paths.into_iter(), &Plugins::default(), &|_| None)
    }

    fn skill_of<'f>(folders: &'f Folders, path: &str) -> Option<&'f str> {
        folders.skill(path)
    }

    #[test]
    fn a_folder_with_its_main_file_is_a_skill_at_any_depth_and_the_outermost_wins() {
        let paths = [
            "a/b/pdf/SKILL.md",
            "a/b/pdf/.hidden/x",
            "a/b/pdf/examples/one/SKILL.md",
            "a/b/README.md",
            ".agents/skills/group/inner/SKILL.md",
            "skills/.system/x/SKILL.md",
            "low/skill.md",
        ];
        let folders = of(paths);
        let found: Vec<_> = paths.iter().map(|path| skill_of(&folders, path)).collect();
        let pdf = Some("a/b/pdf");
        let expected = [pdf, pdf, pdf, None, Some(".agents/skills/group/inner"), Some("skills/.system/x"), None];
        assert_eq!(found, expected);
        assert!(folders.has_skills_below(".agents/skills/group"));
        assert!(!folders.has_skills_below("a/b/pdf"));
    }

    #[test]
    fn a_skill_at_the_root_contains_all_files_unless_there_is_other_content() {
        let alone = ["SKILL.md", "README.md", "agents/x.md", ".github/workflows/ci.yml", "assets/template/SKILL.md"];
        let folders = of(alone);
        assert!(alone.iter().all(|path| folders.skill(path) == Some("")));
        for other in ["skills/x/SKILL.md", "x/SKILL.md", "AGENTS.md", ".claude/commands/x.md"] {
            let folders = of(["SKILL.md", "README.md", "scripts/a.py", other]);
            assert_eq!(folders.skill("SKILL.md"), Some(""), "{other}");
            assert_eq!(folders.skill("scripts/a.py"), Some(""), "{other}");
            assert_eq!(folders.skill("README.md"), None, "{other}");
            assert_ne!(folders.skill(other), Some(""), "{other}");
        }
    }

    #[test]
    fn plugins_have_a_manifest_or_lie_in_the_roots_folder() {
        let folders = of(["plugins/a/commands/x.md", "b/c/.claude-plugin/plugin.json", "src/plugins/d/commands/x.md"]);
        assert_eq!(folders.plugin("plugins/a/commands/x.md"), Some("plugins/a"));
        assert_eq!(folders.plugin("b/c/agents/x.md"), Some("b/c"));
        assert_eq!(folders.plugin("src/plugins/d/commands/x.md"), None);
        let market = of([".claude-plugin/marketplace.json"]);
        assert_eq!(market.plugin("commands/x.md"), Some(""));
    }
}
