//! Writes each text of instructions that always apply to the places that were chosen for the text.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::files::{below, is_longer, path_in};
use super::folder::{Folder, Mode, Place, own_rules};
use super::importing::{self, Import};
use super::once::{self, Choice, Text};
use super::texts::Texts;
use crate::desired::builder::Builder;
use crate::desired::left_out::Reason;
use crate::desired::output::{Form, part};
use crate::module::Module;
use crate::targets::Target;
use mcpkg_agents::agents::places::Rules;
use mcpkg_agents::commands::skill::split_front;
use mcpkg_agents::forms::rule::Switch;
use mcpkg_base::error::Result;
use mcpkg_store::modules::Applies;

/// The modules in a file's block, and the targets that read them there.
type Blocks<'m> = BTreeMap<&'static str, (Vec<&'m Module>, Vec<Target>)>;

/// Adds instructions that always apply. Each target loads each text once, if the user's own files allow it.
pub(super) fn add(
    builder: &mut Builder,
    (always, texts): (&[&Module], &Texts),
    targets: &[Target],
    root: &Path,
    home: &Path,
) -> Result<()> {
    let folder = Folder::read(root, home, targets)?;
    let held = always.iter().map(|module| folder.holding(module, root)).collect::<Result<Vec<_>>>()?;
    let wanted = |(module, held): (&&Module, &Vec<Place>)| Text {
        wanting: targets.iter().copied().filter(|target| module.is_for(*target)).collect(),
        held: held.clone(),
        is_agents_md: folder.is_agents_md(module),
    };
    let wanted: Vec<Text> = always.iter().zip(&held).map(wanted).collect();
    let modes = folder.modes(always, &held);
    let choice = once::choose(&folder, &wanted, modes.clone());
    let mut blocks = Blocks::new();
    for ((module, text), places) in always.iter().zip(&wanted).zip(&choice.places) {
        for target in &text.wanting {
            let reads = |place: &&Place| folder.reads(*target, **place, &choice.mode);
            if text.held.iter().any(|place| reads(&place)) {
                builder.hold(module, *target);
            } else if !places.iter().any(|place| reads(&place)) {
                builder.leave_out(module, *target, Reason::Linked);
            }
        }
        for place in places.iter().chain(&text.held) {
            let is_held = text.held.contains(place);
            let reads = |target: &&Target| folder.reads(**target, *place, &choice.mode);
            let readers: Vec<Target> = text.wanting.iter().filter(reads).copied().collect();
            match place {
                Place::File(_) if is_held => {}
                Place::File(file) => {
                    let (modules, known) = blocks.entry(file).or_default();
                    modules.push(texts.for_file(builder, module, file, &readers));
                    known.extend(readers);
                }
                Place::Rules(rules) => {
                    // The user's own rule is copied to the same path, so that `status` knows the file.
                    let owner =
                        targets.iter().find(|target| own_rules(**target).is_some_and(|own| own.folder == *rules));
                    if let Some((owner, rules)) = owner.and_then(|owner| Some((*owner, own_rules(*owner)?)))
                        && (!is_held || module.is_for(owner))
                    {
                        let module = if is_held { module } else { texts.for_targets(builder, module, &readers) };
                        rule(builder, owner, &readers, rules, module, root)?;
                    }
                }
            }
        }
    }
    import(builder, (always, &wanted), (&folder, &choice), &mut blocks, root)?;
    for (file, (modules, targets)) in blocks {
        let (below_root, name) = file.rsplit_once('/').unwrap_or(("", file));
        builder.block(&without_duplicates(targets), &below(root, below_root), name, &modules)?;
    }
    note_overrides(builder, &folder, &choice);
    remark_twice(builder, (always, &wanted), &folder, &choice, &modes);
    Ok(())
}

/// Adds the files that import others. Each one also gets the texts of its own block.
fn import<'m>(
    builder: &mut Builder,
    (always, wanted): (&[&'m Module], &[Text]),
    (folder, choice): (&Folder, &Choice),
    blocks: &mut Blocks<'m>,
    root: &Path,
) -> Result<()> {
    let mut files: BTreeMap<&str, Vec<&Import>> = BTreeMap::new();
    let mut imported: BTreeMap<&str, Vec<&Module>> = BTreeMap::new();
    for import in choice.mode.imports.iter().filter(|import| choice.is_needed(folder, wanted, import)) {
        let (from, of) = (Place::File(import.from), Place::File(folder.real(import.of)));
        // A text that the user wrote into the importing file itself stays there, so it does not count as imported.
        let is_in = |at: &usize| {
            let text = &wanted[*at];
            let is_there = choice.places[*at].contains(&of) || text.held.contains(&of);
            is_there && !text.held.contains(&from) && text.wanting.contains(&import.target)
        };
        let modules = (0..always.len()).filter(is_in).map(|at| always[at]);
        imported.entry(import.from).or_default().extend(modules);
        files.entry(import.from).or_default().push(import);
    }
    for (file, imports) in files {
        let (own, of_block) = blocks.remove(file).unwrap_or_default();
        let targets = without_duplicates(imports.iter().map(|import| import.target).chain(of_block).collect());
        let modules = imported.remove(file).unwrap_or_default();
        importing::import(builder, &targets, root, &imports, &modules, &own)?;
    }
    Ok(())
}

fn note_overrides(builder: &mut Builder, folder: &Folder, choice: &Choice) {
    let is_written = |file: &'static str| choice.places.iter().flatten().any(|place| *place == Place::File(file));
    for target in folder.targets.iter().filter(|_| choice.mode.overrides) {
        if let Some(file) = target.facts().project.agents_md_override.filter(|file| is_written(file)) {
            let title = target.facts().title;
            let note = format!("{title} reads {file} instead of AGENTS.md, so that no other agent loads a text twice");
            builder.note(&[*target], note);
        }
    }
}

/// Adds a remark on each text that a target loads twice. If one of the copies comes from mcpkg, the remark names a
/// command that prevents this.
fn remark_twice(
    builder: &mut Builder,
    (always, wanted): (&[&Module], &[Text]),
    folder: &Folder,
    choice: &Choice,
    modes: &[Mode],
) {
    let mut twice: Vec<(usize, Target, Vec<&Place>)> = Vec::new();
    for (at, text) in wanted.iter().enumerate() {
        for target in &folder.targets {
            let reads = |place: &&Place| folder.reads(*target, **place, &choice.mode);
            let is_files = |loaded: &[&Place]| loaded.iter().all(|place| matches!(place, Place::File(_)));
            let held: Vec<&Place> = text.held.iter().filter(reads).collect();
            let loaded: Vec<&Place> = held.iter().copied().chain(choice.places[at].iter().filter(reads)).collect();
            if loaded.len() == held.len() && held.len() > 1 && !(target.facts().reading.equal_once && is_files(&held)) {
                let said = format!("{} loads it twice, from your own files {}", target.facts().title, named(&loaded));
                builder.remark(always[at], *target, said);
            } else if loaded.len() > held.len() && loaded.len() > 1 {
                twice.push((at, *target, loaded));
            }
        }
    }
    let targets: Vec<Target> = twice.iter().map(|(_, target, _)| *target).collect();
    let remedy = (!twice.is_empty()).then(|| once::remedy(folder, wanted, modes, &targets)).flatten();
    for (at, target, loaded) in twice {
        let (title, ends) = (target.facts().title, remedy.unwrap_or(target));
        let why =
            if ends == target { String::new() } else { format!(", because {} needs it there", ends.facts().title) };
        let said = format!(
            "{title} loads it twice, from {}{why}; `mcpkg target disable {}` ends this",
            named(&loaded),
            ends.name()
        );
        builder.remark(always[at], target, said);
    }
}

fn named(places: &[&Place]) -> String {
    places.iter().map(|place| format!("`{}`", place.path())).collect::<Vec<_>>().join(" and ")
}

fn without_duplicates(mut targets: Vec<Target>) -> Vec<Target> {
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Adds instructions that always apply as a separate rule file of `owner`, which `targets` read.
fn rule(
    builder: &mut Builder,
    owner: Target,
    targets: &[Target],
    rules: Rules,
    module: &Module,
    root: &Path,
) -> Result<()> {
    let Some(file) = module.files.first() else { return Ok(()) };
    if rules.format.max_characters.is_some_and(|most| is_longer(&file.bytes, most)) {
        targets.iter().for_each(|target| builder.leave_out(module, *target, Reason::TooLong));
        return Ok(());
    }
    let (folder, name) = (root.join(rules.folder), path_in(rules.folder, rules.ending, module, owner));
    let about = &module.about;
    // Front matter that was written for another agent may mean something else to this agent, or nothing.
    let says_it = about.agent.is_none()
        && match rules.format.switch {
            Switch::Always(_) => split_front(&file.bytes).0.is_some(),
            Switch::Globs { .. } => true,
            Switch::Word(..) => false,
        };
    let is_own = about.is_of(owner) && rules.format.applies(&file.bytes) == Some(Applies::Always);
    if is_own || says_it {
        let bytes = Arc::clone(&file.bytes);
        return builder.add(targets, &folder, &name, Form::Copy, vec![part(module, file)], bytes, file.executable);
    }
    let head = rules.format.write(&Applies::Always, about.description.as_deref());
    builder.rule(targets, &folder, &name, module, &head.unwrap_or_default())
}
