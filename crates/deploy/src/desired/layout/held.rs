//! Finds texts that targets load from the user's own files, so that no target loads them again from AGENTS.md.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::importing::AGENTS_MD;
use crate::module::Module;
use crate::targets::{Target, TargetConfig};
use mcpkg_agents::agents::places::{AgentsMd, OwnInstructions};
use mcpkg_agents::forms::sections;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::inside::stays_inside;
use mcpkg_store::modules::Applies;

/// Targets that already load modules' texts from the user's own files. A target holds a module if one of its files
/// still contains exactly the module's text.
#[derive(Default)]
pub(super) struct Holders {
    /// The targets that hold a module and also read AGENTS.md, by the module's id.
    readers: HashMap<String, Vec<Target>>,
    /// The modules that must not be written to AGENTS.md, because a target would load them twice.
    twice: HashSet<String>,
    /// The targets that get all their texts in a file that they read instead of AGENTS.md, with the file's name.
    pub(super) overriding: Vec<(Target, &'static str)>,
    /// The module whose text is the user's AGENTS.md.
    agents_md: Option<String>,
}

impl Holders {
    /// Finds the holders of modules that always apply. `hidden` returns whether AGENTS.md is hidden from a target.
    pub(super) fn find(
        always: &[&Module],
        configs: &[&TargetConfig],
        hidden: impl Fn(Target) -> bool,
        root: &Path,
    ) -> Result<Self> {
        let mut holders = Self::default();
        let mut alone = HashSet::new();
        for module in always {
            for target in configs.iter().map(|config| config.target).filter(|target| module.is_for(*target)) {
                let reads = !matches!(target.facts().project.agents_md, AgentsMd::Never) && !hidden(target);
                if !reads || !holds(target, module, root)? {
                    continue;
                }
                holders.readers.entry(module.id.clone()).or_default().push(target);
                if is_for_it_alone(target, module) {
                    alone.insert(module.id.as_str());
                }
            }
        }
        let (users, has_block) = users_text(&root.join(AGENTS_MD))?;
        let is_users = |module: &&&Module| {
            let is_same = module.files.first().is_some_and(|file| file.bytes.trim_ascii() == users);
            // A deploy moves the text into mcpkg's block. After that, the module is recognised by its path.
            is_same && !users.is_empty() || has_block && module.about.path.as_deref() == Some(AGENTS_MD)
        };
        holders.agents_md = always.iter().find(is_users).map(|module| module.id.clone());
        // Targets without a file of their own need AGENTS.md, or a file that they read instead of it. That file must then
        // contain everything, so AGENTS.md must have no text that mcpkg does not know.
        let is_known = users.is_empty() || holders.agents_md.is_some() && !has_block;
        let needy = |module: &Module| {
            let targets = configs.iter().map(|config| config.target).filter(|target| module.is_for(*target));
            let needy: Vec<Target> = targets.filter(|t| t.facts().project.own_instructions.is_none()).collect();
            needy
        };
        let over = |target: &Target| target.facts().project.agents_md_override.filter(|_| is_known);
        for module in always.iter().filter(|module| alone.contains(module.id.as_str())) {
            let needy = needy(module);
            if needy.iter().all(|target| over(target).is_some()) {
                let files = needy.iter().filter_map(|target| Some((*target, over(target)?)));
                holders.overriding.extend(files);
            }
        }
        holders.overriding.sort_unstable();
        holders.overriding.dedup();
        for module in always.iter().filter(|module| holders.readers.contains_key(&module.id)) {
            if needy(module).iter().all(|target| holders.is_overriding(*target)) {
                holders.twice.insert(module.id.clone());
            }
        }
        Ok(holders)
    }

    pub(super) fn is_overriding(&self, target: Target) -> bool {
        self.overriding.iter().any(|(known, _)| *known == target)
    }

    /// Returns the targets that hold a module and also read AGENTS.md.
    pub(super) fn of(&self, module: &Module) -> &[Target] {
        self.readers.get(&module.id).map_or(&[], Vec::as_slice)
    }

    /// Whether a module must not be written to AGENTS.md.
    pub(super) fn keeps_out(&self, module: &Module) -> bool {
        self.twice.contains(&module.id)
    }

    /// Whether a module's text is the user's AGENTS.md.
    pub(super) fn is_agents_md(&self, module: &Module) -> bool {
        self.agents_md.as_ref() == Some(&module.id)
    }
}

/// Whether a target always loads the module's text from the file that the module was imported from.
fn holds(target: Target, module: &Module, root: &Path) -> Result<bool> {
    let (Some(path), Some(file)) = (module.about.path.as_deref(), module.files.first()) else { return Ok(false) };
    let is_loaded = target.facts().project.always_loaded.contains(&path);
    if !(is_loaded || is_rule(target, module)) || !stays_inside(path) {
        return Ok(false);
    }
    Ok(users_text(&root.join(path))?.0 == file.bytes.trim_ascii())
}

/// Whether the module was imported from a rule of the target that always applies.
pub(super) fn is_rule(target: Target, module: &Module) -> bool {
    let Some(OwnInstructions::Rules(rules)) = target.facts().project.own_instructions else { return false };
    let (Some(path), Some(file)) = (module.about.path.as_deref(), module.files.first()) else { return false };
    let is_in = path.strip_prefix(rules.folder).is_some_and(|rest| rest.starts_with('/'));
    is_in && path.ends_with(rules.ending) && rules.format.applies(&file.bytes) == Some(Applies::Always)
}

/// Whether no other agent reads the file that the module was imported from.
fn is_for_it_alone(target: Target, module: &Module) -> bool {
    let path = module.about.path.as_deref().unwrap_or_default();
    is_rule(target, module) || target.facts().imports.at_root.contains(&path)
}

/// Returns the user's own text in a file, without mcpkg's block, and whether there is such a block. Empty if there is no
/// such file.
fn users_text(path: &Path) -> Result<(Vec<u8>, bool)> {
    if !path.is_file() {
        return Ok((Vec::new(), false));
    }
    let text = disk::read(path)?;
    let users = sections::take_out(&text).unwrap_or_default().trim_ascii().to_vec();
    Ok((users, sections::find(&text).is_some()))
}
