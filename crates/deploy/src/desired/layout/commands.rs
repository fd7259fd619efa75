//! Places commands: each target gets them with placeholders that it can fill in, or as skills.

use std::path::Path;
use std::sync::Arc;

use super::files::{is_longer, of_kind};
use crate::desired::builder::Builder;
use crate::desired::left_out::Reason;
use crate::desired::output::{Form, part};
use crate::module::{Kind, Module, ModuleFile};
use crate::targets::Target;
use mcpkg_agents::agents::places::Commands;
use mcpkg_agents::commands::convert_to::{self, Unsayable};
use mcpkg_agents::commands::skill;
use mcpkg_agents::commands::words::Spelling;
use mcpkg_base::error::Result;

/// Adds the commands of a target below `base`, which is the deploy root or the home folder.
pub(super) fn add(
    builder: &mut Builder,
    modules: &[Module],
    target: Target,
    base: &Path,
    skills: &Path,
    commands: Commands,
) -> Result<()> {
    let place = match commands {
        Commands::Files(folder)
        | Commands::FilesInWords { folder, .. }
        | Commands::Numbered(folder)
        | Commands::Toml(folder) => base.join(folder),
        Commands::Skills => {
            let prompts = of_kind(modules, Kind::Prompt, target);
            for module in of_kind(modules, Kind::Command, target).chain(prompts) {
                for file in &module.files {
                    as_skill(builder, target, skills, module, file)?;
                }
            }
            return Ok(());
        }
    };
    builder.root(target, &place, true);
    for module in of_kind(modules, Kind::Command, target) {
        for file in &module.files {
            match commands {
                Commands::Files(_) | Commands::Skills => builder.copy(target, &place, &file.path, module, file)?,
                Commands::FilesInWords { max_characters: Some(most), .. } if is_longer(&file.bytes, most) => {
                    builder.leave_out(module, target, Reason::TooLong);
                }
                Commands::FilesInWords { nested, .. } => {
                    let path = if nested { file.path.clone() } else { file.path.replace('/', ".") };
                    builder.spelled(target, &place, &path, module, file, Spelling::Words)?;
                }
                Commands::Numbered(folder) => numbered(builder, target, folder, &place, module, file)?,
                Commands::Toml(folder) => toml(builder, target, folder, &place, module, file)?,
            }
        }
    }
    Ok(())
}

/// Adds a command's original file if the command was imported from this target. Returns whether it did.
fn as_it_came(
    builder: &mut Builder,
    target: Target,
    folder: &str,
    place: &Path,
    module: &Module,
    file: &ModuleFile,
    form: Form,
) -> Result<bool> {
    let Some(own) = file.own.as_ref().filter(|_| module.about.is_of(target)) else { return Ok(false) };
    let path = module.about.path.as_deref().and_then(|path| path.strip_prefix(folder)?.strip_prefix('/'));
    let Some(path) = path else { return Ok(false) };
    builder.add(&[target], place, path, form, vec![part(module, file)], Arc::clone(own), false)?;
    Ok(true)
}

/// Adds a command in OpenCode's format.
fn numbered(
    builder: &mut Builder,
    target: Target,
    folder: &str,
    place: &Path,
    module: &Module,
    file: &ModuleFile,
) -> Result<()> {
    let form = Form::Converted(Spelling::Numbers);
    if as_it_came(builder, target, folder, place, module, file, form)? {
        return Ok(());
    }
    let Some(text) = text(builder, target, module, file) else { return Ok(()) };
    match convert_to::opencode(text, &file.arguments) {
        Ok(written) => {
            if convert_to::runs_in_opencode(&written) {
                let said = format!("it contains !`...` commands, which {} runs without asking", target.name());
                builder.remark(module, target, said);
            }
            let bytes = written.into_bytes().into();
            builder.add(&[target], place, &file.path, form, vec![part(module, file)], bytes, false)
        }
        Err(why) => {
            builder.leave_out(module, target, reason(why));
            Ok(())
        }
    }
}

/// Adds a command in Gemini's format.
fn toml(
    builder: &mut Builder,
    target: Target,
    folder: &str,
    place: &Path,
    module: &Module,
    file: &ModuleFile,
) -> Result<()> {
    let form = Form::CommandToml(Spelling::OneLine);
    if as_it_came(builder, target, folder, place, module, file, form)? {
        return Ok(());
    }
    let Some(text) = text(builder, target, module, file) else { return Ok(()) };
    match convert_to::gemini(text, &file.arguments) {
        Ok(written) => {
            let path = format!("{}.toml", file.path.strip_suffix(".md").unwrap_or(&file.path));
            builder.add(&[target], place, &path, form, vec![part(module, file)], written.into_bytes().into(), false)
        }
        Err(why) => {
            builder.leave_out(module, target, reason(why));
            Ok(())
        }
    }
}

fn text<'f>(builder: &mut Builder, target: Target, module: &Module, file: &'f ModuleFile) -> Option<&'f str> {
    let text = std::str::from_utf8(&file.bytes).ok();
    if text.is_none() {
        builder.leave_out(module, target, Reason::NotText);
    }
    text
}

const fn reason(why: Unsayable) -> Reason {
    match why {
        Unsayable::Placeholders => Reason::Placeholders,
        Unsayable::WouldRun => Reason::WouldRun,
    }
}

/// Adds a command as a skill, for agents without commands.
fn as_skill(builder: &mut Builder, target: Target, root: &Path, module: &Module, file: &ModuleFile) -> Result<()> {
    let name = skill::name(file.path.strip_suffix(".md").unwrap_or(&file.path));
    let bytes = builder.skill_of(file, || skill::of_command(&name, &file.bytes, &file.arguments));
    let relative = format!("{name}/SKILL.md");
    builder.add(&[target], root, &relative, Form::CommandSkill, vec![part(module, file)], bytes, false)
}
