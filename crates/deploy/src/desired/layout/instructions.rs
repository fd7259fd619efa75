//! Places instructions: in AGENTS.md, which several agents read, or where only one agent reads them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::files::{below, is_longer, of_kind, path_in};
use super::held::{self, Holders};
use super::hidden;
use super::importing::{self, AGENTS_MD};
use super::scoped;
use super::texts::Texts;
use crate::desired::builder::Builder;
use crate::desired::left_out::Reason;
use crate::module::{Kind, Module};
use crate::targets::bases::Bases;
use crate::targets::{Target, TargetConfig};
use mcpkg_agents::agents::places::{AgentsMd, OwnInstructions, Rules};
use mcpkg_agents::commands::skill::{self, split_front};
use mcpkg_agents::forms::rule::Switch;
use mcpkg_base::error::{Error, Result};
use mcpkg_store::modules::Applies;

/// The blocks to write into agents' own files: by folder and file name, their modules and the targets that want them.
type Blocks<'m> = BTreeMap<(&'static str, &'static str), (Vec<&'m Module>, Vec<Target>)>;

/// Adds instructions below the deploy root. A text for several agents is written to AGENTS.md once. A text for only
/// one agent goes where only that agent reads it.
pub(super) fn for_project(
    builder: &mut Builder,
    (modules, texts): (&[Module], &Texts),
    configs: &[&TargetConfig],
    present: &[Target],
    bases: &Bases,
    root: &Path,
) -> Result<()> {
    let mut hiding = BTreeMap::new();
    for config in configs {
        let places = &config.target.facts().project;
        builder.root(config.target, &below(root, places.instructions_folder), places.lists_extras);
        if let AgentsMd::UnlessHiddenBy(files) = places.agents_md
            && let Some(found) = hidden::by(root, &bases.home, files)?
        {
            hiding.insert(config.target, found);
        }
    }
    let (mut shared, mut readers) = (Vec::new(), Vec::new());
    let mut blocks = Blocks::new();
    scoped::for_project(builder, (modules, texts), configs, present, root)?;
    let always: Vec<&Module> = modules.iter().filter(|module| always_applies(module)).collect();
    let holders = Holders::find(&always, configs, |target| hiding.contains_key(&target), root)?;
    for module in &always {
        if let Some((owner, rules)) = scoped_to(module) {
            scoped_rule(builder, module, owner, rules, configs, root)?;
            continue;
        }
        let wanting = configs.iter().map(|config| config.target).filter(|target| module.is_for(*target));
        let wanting = wanting.filter(|target| !holders.is_overriding(*target));
        if holders.keeps_out(module) {
            let (held, rest): (Vec<Target>, Vec<Target>) =
                wanting.partition(|target| holders.of(module).contains(target));
            for target in held.into_iter().filter(|target| held::is_rule(*target, module)) {
                own(builder, &mut blocks, target, (module, texts), root)?;
            }
            let text = module.files.first().map_or(&[][..], |file| file.bytes.trim_ascii());
            let has_it =
                |target: &Target| hiding.get(target).is_some_and(|found| found.users_text().trim_ascii() == text);
            let rest: Vec<Target> = rest.into_iter().filter(|target| !has_it(target)).collect();
            let others = configs.iter().map(|config| config.target).filter(|target| !rest.contains(target));
            let others: Vec<Target> = others.collect();
            let is_hidden = |target| hiding.contains_key(&target);
            separately(builder, &mut blocks, (module, texts), &rest, &others, is_hidden, root)?;
            continue;
        }
        let (readily, sometimes): (Vec<Target>, Vec<Target>) =
            wanting.partition(|target| !matches!(target.facts().project.agents_md, AgentsMd::UnlessHiddenBy(_)));
        let needs_it = |target: &Target| target.facts().project.own_instructions.is_none();
        let is_shared = readily.len() > 1 || readily.iter().any(needs_it) || holders.is_agents_md(module);
        if is_shared {
            shared.push(texts.inert(module));
            texts.remark(builder, module, &readily);
            for target in holders.of(module).iter().filter(|target| held::is_rule(**target, module)) {
                let said = "the agent it was imported from loads it twice: from its own file, and from AGENTS.md, which \
                            other agents need";
                builder.remark(module, *target, said.to_owned());
            }
            readers.extend(&readily);
        } else if let Some(target) = readily.first() {
            own(builder, &mut blocks, *target, (module, texts), root)?;
        }
        for target in sometimes {
            let Some(file) = module.files.first() else { continue };
            match hiding.get(&target) {
                None if is_shared => readers.push(target),
                // The file that hides AGENTS.md already contains the text.
                Some(found) if found.users_text().trim_ascii() == file.bytes.trim_ascii() => {}
                _ => own(builder, &mut blocks, target, (module, texts), root)?,
            }
        }
    }
    readers.sort_unstable();
    readers.dedup();
    builder.block(&readers, root, AGENTS_MD, &shared)?;
    for (target, file) in &holders.overriding {
        let own: Vec<&Module> = always.iter().copied().filter(|module| module.is_for(*target)).collect();
        builder.block(&[*target], root, file, &own)?;
        let title = target.facts().title;
        let note = format!(
            "{title} reads {file} instead of AGENTS.md, so that no other agent loads twice what it has in a file of its own"
        );
        builder.note(&[*target], note);
    }
    for (file, targets) in importing::files(&readers) {
        let (own, of_block) = blocks.remove(&("", file)).unwrap_or_default();
        let mut targets = [targets, of_block].concat();
        targets.sort_unstable();
        targets.dedup();
        importing::import(builder, &targets, root, file, &shared, &own)?;
    }
    for ((folder, file), (modules, targets)) in blocks {
        builder.block(&targets, &below(root, folder), file, &modules)?;
    }
    Ok(())
}

/// Adds a module to as few files as possible, so that each target loads it exactly once. `others` are targets that must
/// not load it from there.
fn separately<'m>(
    builder: &mut Builder,
    blocks: &mut Blocks<'m>,
    (module, texts): (&'m Module, &'m Texts),
    targets: &[Target],
    others: &[Target],
    hidden: impl Fn(Target) -> bool,
    root: &Path,
) -> Result<()> {
    // The files in which a target may read the text: its own block, or if AGENTS.md is hidden from it, a file that hides it.
    let own_file = |target: &Target| match target.facts().project.own_instructions {
        Some(OwnInstructions::Block { folder, file }) => Some((folder, file)),
        _ => None,
    };
    let (sharing, alone): (Vec<Target>, Vec<Target>) =
        targets.iter().partition(|target| own_file(target).is_some() || hidden(**target));
    let reads = |target: &Target, file: &str| target.facts().project.always_loaded.contains(&file);
    let hiding = sharing.iter().filter(|target| own_file(target).is_none());
    let files = hiding.flat_map(|target| target.facts().project.always_loaded.iter().copied());
    let files = files.filter(|file| *file != PRIVATE).map(|file| file.rsplit_once('/').unwrap_or(("", file)));
    let mut files: Vec<(&str, &str)> = sharing.iter().filter_map(own_file).chain(files).collect();
    let path =
        |(folder, file): (&str, &str)| if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
    files.retain(|file| !others.iter().chain(&alone).any(|target| reads(target, &path(*file))));
    let readers: Vec<Vec<bool>> =
        sharing.iter().map(|target| files.iter().map(|file| reads(target, &path(*file))).collect()).collect();
    let Some(chosen) = once_for_each(&readers) else {
        return targets.iter().try_for_each(|target| own(builder, blocks, *target, (module, texts), root));
    };
    for file in chosen.into_iter().map(|at| files[at]) {
        let readers: Vec<Target> = sharing.iter().copied().filter(|target| reads(target, &path(file))).collect();
        texts.remark(builder, module, &readers);
        let (modules, known) = blocks.entry(file).or_default();
        modules.push(texts.inert(module));
        known.extend(readers);
        known.sort_unstable();
        known.dedup();
    }
    alone.into_iter().try_for_each(|target| own(builder, blocks, target, (module, texts), root))
}

/// The user's private file, which is not part of the project. Shared text never goes there.
const PRIVATE: &str = "CLAUDE.local.md";

/// Returns the smallest set of files of which each reader reads exactly one, or `None` if there is no such set.
/// `readers[r][f]` is whether reader `r` reads file `f`. If several sets are equally small, earlier files are
/// preferred.
fn once_for_each(readers: &[Vec<bool>]) -> Option<Vec<usize>> {
    let files = readers.first().map_or(0, Vec::len).min(10);
    let chosen = |bits: u32| (0..files).filter(move |at| bits >> at & 1 == 1);
    let fits = |bits: &u32| readers.iter().all(|reads| chosen(*bits).filter(|at| reads[*at]).count() == 1);
    (0..1_u32 << files).filter(fits).min_by_key(|bits| bits.count_ones()).map(|bits| chosen(bits).collect())
}

/// Adds a module where only this target reads it.
fn own<'m>(
    builder: &mut Builder,
    blocks: &mut Blocks<'m>,
    target: Target,
    (module, texts): (&'m Module, &'m Texts),
    root: &Path,
) -> Result<()> {
    let module = texts.for_target(builder, module, target);
    match target.facts().project.own_instructions {
        Some(OwnInstructions::Rules(rules)) => rule(builder, target, rules, module, root),
        Some(OwnInstructions::Block { folder, file }) => {
            let (modules, targets) = blocks.entry((folder, file)).or_default();
            if !modules.iter().any(|known| known.id == module.id) {
                modules.push(module);
            }
            if !targets.contains(&target) {
                targets.push(target);
            }
            Ok(())
        }
        // `Agent::has_place_for_instructions` rejects such an agent.
        None => Err(Error::internal("a target that may not read AGENTS.md has no instructions file of its own")),
    }
}

fn always_applies(module: &Module) -> bool {
    module.kind == Kind::Instructions && module.about.applies == Applies::Always
}

/// Adds the user's instructions to the targets' own folders.
pub(super) fn for_user(
    builder: &mut Builder,
    (modules, texts): (&[Module], &Texts),
    configs: &[&TargetConfig],
    bases: &Bases,
) -> Result<()> {
    for config in configs {
        let target = config.target;
        scoped::for_user(builder, (modules, texts), target, &bases.home)?;
        let instructions = of_kind(modules, Kind::Instructions, target).filter(|module| always_applies(module));
        let instructions: Vec<&Module> = instructions.collect();
        let Some(file) = target.facts().user.instructions else {
            if !instructions.is_empty() {
                let warning = format!("{} does not read instructions from the home folder", target.name());
                builder.warn(&[target], warning);
            }
            continue;
        };
        let folder = bases.own(config);
        builder.root(target, &folder, false);
        let instructions: Vec<&Module> =
            instructions.into_iter().map(|module| texts.for_target(builder, module, target)).collect();
        builder.block(&[target], &folder, file, &instructions)?;
    }
    Ok(())
}

/// Adds instructions that always apply as a separate rule file.
fn rule(builder: &mut Builder, target: Target, rules: Rules, module: &Module, root: &Path) -> Result<()> {
    let Some(file) = module.files.first() else { return Ok(()) };
    if rules.format.max_characters.is_some_and(|most| is_longer(&file.bytes, most)) {
        builder.leave_out(module, target, Reason::TooLong);
        return Ok(());
    }
    let (folder, name) = (root.join(rules.folder), path_in(rules.folder, rules.ending, module, target));
    let about = &module.about;
    if about.is_of(target) && rules.format.applies(&file.bytes) == Some(Applies::Always) {
        return builder.copy(target, &folder, &name, module, file);
    }
    // Front matter written for another agent may mean something else to this one, or nothing.
    let says_it = about.agent.is_none()
        && match rules.format.switch {
            Switch::Always(_) => split_front(&file.bytes).0.is_some(),
            Switch::Globs { .. } => true,
            Switch::Word(..) => false,
        };
    if says_it {
        return builder.copy(target, &folder, &name, module, file);
    }
    let head = rules.format.write(&Applies::Always, about.description.as_deref());
    builder.rule(&[target], &folder, &name, module, &head.unwrap_or_default())
}

/// Returns the target in whose format a rule's front matter limits the rule to some files. If several formats match,
/// the last target by name wins.
///
/// This matters only for a config repo: a project records when each module applies.
fn scoped_to(module: &Module) -> Option<(Target, Rules)> {
    if module.about.agent.is_some() {
        return None;
    }
    let front = split_front(&module.files.first()?.bytes).0?;
    let front = skill::keys(front)?;
    let says = |key: &str| match front.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::Array(globs)) => !globs.is_empty(),
        Some(Value::String(glob)) => !glob.trim().is_empty(),
        Some(_) => true,
    };
    let not_always = |key: &str| front.get(key) == Some(&Value::Bool(false));
    Target::all().iter().rev().find_map(|target| {
        let places = &target.facts().project;
        let Some(OwnInstructions::Rules(rules)) = places.own_instructions else { return None };
        let always = match rules.format.switch {
            Switch::Always(key) => not_always(key),
            Switch::Globs { .. } | Switch::Word(..) => false,
        };
        (says(rules.format.globs) || always).then_some((*target, rules))
    })
}

/// Adds a rule that applies only to some files, for the target that understands the rule's front matter. Warns about
/// the other targets.
fn scoped_rule(
    builder: &mut Builder,
    module: &Module,
    owner: Target,
    rules: Rules,
    configs: &[&TargetConfig],
    root: &Path,
) -> Result<()> {
    let Some(file) = module.files.first() else { return Ok(()) };
    if module.is_for(owner) && configs.iter().any(|config| config.target == owner) {
        builder.copy(
            owner,
            &root.join(rules.folder),
            &path_in(rules.folder, rules.ending, module, owner),
            module,
            file,
        )?;
    }
    let others = configs.iter().map(|config| config.target);
    let others: Vec<Target> =
        others.filter(|other| *other != owner && module.is_for(*other) && builder.is_chosen(*other)).collect();
    let names: Vec<&str> = others.iter().map(|other| other.name()).collect();
    let warning = format!(
        "module '{}' applies only to some files and uses a format specific to {}, so it is not written for {}",
        module.id,
        owner.name(),
        names.join(", ")
    );
    builder.warn(&others, warning);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_reads_one_of_the_chosen_files() {
        let files = [".github/copilot-instructions.md", "GEMINI.md", "CLAUDE.md", ".claude/CLAUDE.md"];
        let choose = |readers: &[&[&str]]| {
            let reads = |reader: &&[&str]| files.iter().map(|file| reader.contains(file)).collect();
            once_for_each(&readers.iter().map(reads).collect::<Vec<_>>())
                .map(|all| all.iter().map(|at| files[*at]).collect::<Vec<&str>>())
        };
        let (claude, gemini) = (&["CLAUDE.md", ".claude/CLAUDE.md"][..], &["GEMINI.md"][..]);
        let copilot = &[".github/copilot-instructions.md", "CLAUDE.md", "GEMINI.md"][..];
        assert_eq!(choose(&[copilot]), Some(vec![files[0]]));
        assert_eq!(choose(&[claude, copilot]), Some(vec!["CLAUDE.md"]));
        assert_eq!(choose(&[claude, copilot, gemini]), Some(vec!["GEMINI.md", ".claude/CLAUDE.md"]));
        assert_eq!(choose(&[]), Some(vec![]));
        assert_eq!(choose(&[copilot, gemini, &[".github/copilot-instructions.md"]]), None);
    }
}
