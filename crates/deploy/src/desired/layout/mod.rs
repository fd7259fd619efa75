//! Converts modules to files: decides where each target reads each module, and in what form.

mod always;
mod commands;
mod current;
mod files;
mod folder;
pub mod hidden;
mod importing;
mod instructions;
mod once;
mod original;
mod scoped;
mod servers;
mod skills;
mod subagents;
mod texts;

#[cfg(test)]
mod inert_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use super::builder::{Builder, Collisions};
use super::output::Desired;
use crate::module::Module;
use crate::targets::bases::Bases;
use crate::targets::{Layout, Target, TargetConfig};
use mcpkg_base::error::Result;
use mcpkg_base::plural;

/// The largest number of modules that one warning names.
const NAMED: usize = 3;

/// Returns the files that the modules become for the `selected` targets. The layout considers all configured targets,
/// so that selecting targets never moves a text from one file to another. `present` are the selected targets and those
/// that already have files in this place. Only these targets share files, so a target never relies on a file that is
/// not written.
pub fn desired(
    modules: &[Module],
    configs: &[TargetConfig],
    selected: &[Target],
    present: &[Target],
    bases: &Bases,
    collisions: Collisions,
) -> Result<Desired> {
    let mut builder = Builder::below(bases.limits(configs), selected, collisions);
    if configs.iter().any(|config| config.project && selected.contains(&config.target)) {
        bases.root()?;
    }
    let reachable: Vec<TargetConfig> = configs
        .iter()
        .cloned()
        .map(|config| TargetConfig { project: config.project && bases.root.is_some(), ..config })
        .collect();
    for config in reachable.iter().filter(|config| config.layout == Layout::Original) {
        original::add(&mut builder, modules, config, bases)?;
    }
    let current: Vec<&TargetConfig> = reachable.iter().filter(|config| config.layout == Layout::Current).collect();
    current::add(&mut builder, modules, &current, present, bases)?;
    let mut desired = builder.finish();
    let chosen: Vec<Target> = current.iter().map(|config| config.target).filter(|t| selected.contains(t)).collect();
    desired.notes.extend(skills::notes(modules, &chosen));
    warn_of_unplaced(&mut desired, modules, configs, selected);
    Ok(desired)
}

/// Warns about each module that names a target it cannot be deployed to, and about each kind of module that cannot be
/// deployed to any of the selected targets.
fn warn_of_unplaced(desired: &mut Desired, modules: &[Module], configs: &[TargetConfig], selected: &[Target]) {
    let mut placed = HashSet::new();
    for output in desired.outputs.values() {
        for part in &output.parts {
            placed.extend(output.targets.iter().map(|target| (part.module_id.as_str(), *target)));
        }
    }
    placed.extend(desired.held.iter().map(|(part, target)| (part.module_id.as_str(), *target)));
    placed.extend(desired.left_out.iter().map(|left_out| (left_out.module_id.as_str(), left_out.target)));
    let mut warnings = Vec::new();
    let mut nowhere: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for module in modules {
        let (id, kind) = (module.id.as_str(), module.kind.word());
        for target in module.targets.iter().filter(|target| selected.contains(target)) {
            if !placed.contains(&(id, *target)) && configs.iter().any(|config| config.target == *target) {
                warnings.push(format!("module '{id}' ({kind}) cannot be deployed to {}", target.name()));
            }
        }
        if module.targets.is_empty() && !selected.iter().any(|target| placed.contains(&(id, *target))) {
            nowhere.entry(kind).or_default().push(id);
        }
    }
    let nowhere = nowhere.into_iter().map(|(kind, ids)| match ids.as_slice() {
        [id] => format!("module '{id}' ({kind}) cannot be deployed to any of the targets"),
        ids => {
            let named = plural::first(ids.iter().map(|id| format!("'{id}'")), NAMED);
            format!("{} modules ({kind}) cannot be deployed to any of the targets: {named}", ids.len())
        }
    });
    warnings.extend(nowhere);
    desired.warnings.extend(warnings);
}
