//! Places instructions: in AGENTS.md, which several agents read, or in agents' own files and folders.

use std::path::Path;

use serde_json::Value;

use super::always;
use super::files::{below, of_kind, path_in};
use super::scoped;
use super::texts::Texts;
use crate::desired::builder::Builder;
use crate::module::{Kind, Module};
use crate::targets::bases::Bases;
use crate::targets::{Target, TargetConfig};
use mcpkg_agents::agents::places::{OwnInstructions, Rules};
use mcpkg_agents::commands::skill::{self, split_front};
use mcpkg_agents::forms::rule::Switch;
use mcpkg_base::error::Result;
use mcpkg_store::modules::Applies;

/// Adds instructions below the deploy root. Usually a text for several agents is written to AGENTS.md, and a text for
/// one agent goes where only that agent reads it.
pub(super) fn for_project(
    builder: &mut Builder,
    (modules, texts): (&[Module], &Texts),
    configs: &[&TargetConfig],
    present: &[Target],
    bases: &Bases,
    root: &Path,
) -> Result<()> {
    for config in configs {
        let places = &config.target.facts().project;
        builder.root(config.target, &below(root, places.instructions_folder), places.lists_extras);
    }
    scoped::for_project(builder, (modules, texts), configs, present, root)?;
    let mut always = Vec::new();
    for module in modules.iter().filter(|module| always_applies(module)) {
        match scoped_to(module) {
            Some((owner, rules)) => scoped_rule(builder, module, owner, rules, configs, root)?,
            None => always.push(module),
        }
    }
    let targets: Vec<Target> = configs.iter().map(|config| config.target).collect();
    always::add(builder, (&always, texts), &targets, root, &bases.home)
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

/// Returns the target that would read the front matter of a rule as a limit to some files. If several formats match,
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
