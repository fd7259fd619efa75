//! Places files where agentpack 0.9.1 places them. It is the original tool of contract 000, and config repos were made
//! for it.

use std::path::Path;

use super::files::{cursor_rule, file_name, of_kind, prompt_files, skills};
use crate::desired::builder::Builder;
use crate::module::{Kind, Module, fs_key};
use crate::targets::bases::Bases;
use crate::targets::{Target, TargetConfig};
use mcpkg_agents::agents::places::{OriginalForm, OriginalPlace};
use mcpkg_base::error::Result;

pub(super) fn add(builder: &mut Builder, modules: &[Module], config: &TargetConfig, bases: &Bases) -> Result<()> {
    let facts = config.target.facts();
    if config.user {
        places(builder, modules, config, facts.original_user, &bases.own(config))?;
    }
    if config.project {
        places(builder, modules, config, facts.original_project, bases.root()?)?;
    }
    Ok(())
}

fn places(
    builder: &mut Builder,
    modules: &[Module],
    config: &TargetConfig,
    places: &[OriginalPlace],
    base: &Path,
) -> Result<()> {
    for place in places.iter().filter(|place| config.flag(place.option, place.default)) {
        let target = config.target;
        let root = if place.folder.is_empty() { base.to_owned() } else { base.join(place.folder) };
        match place.form {
            OriginalForm::Instructions(file) => {
                builder.root(target, &root, false);
                let instructions: Vec<&Module> = of_kind(modules, Kind::Instructions, target).collect();
                builder.gathered(target, &root, file, &instructions)?;
            }
            OriginalForm::CursorRules => {
                builder.root(target, &root, true);
                for module in of_kind(modules, Kind::Instructions, target) {
                    let name = format!("{}.mdc", fs_key(&module.id));
                    let description = format!("agentpack: {}", module.id);
                    cursor_rule(builder, target, &root, &name, module, &description)?;
                }
            }
            OriginalForm::Commands => files(builder, modules, Kind::Command, target, &root)?,
            OriginalForm::Prompts => files(builder, modules, Kind::Prompt, target, &root)?,
            OriginalForm::PromptFiles => prompt_files(builder, modules, &[Kind::Prompt], target, &root, None)?,
            OriginalForm::Skills => skills(builder, modules, target, &root)?,
        }
    }
    Ok(())
}

fn files(builder: &mut Builder, modules: &[Module], kind: Kind, target: Target, root: &Path) -> Result<()> {
    builder.root(target, root, true);
    for module in of_kind(modules, kind, target) {
        for file in &module.files {
            builder.copy(target, root, file_name(&file.path), module, file)?;
        }
    }
    Ok(())
}
