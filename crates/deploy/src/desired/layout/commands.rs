//! Places commands: each target gets them with placeholders that it can fill in, or as skills.

use std::borrow::Cow;
use std::path::Path;

use super::files::{as_it_came, is_longer, of_kind};
use crate::desired::builder::Builder;
use crate::desired::left_out::Reason;
use crate::desired::output::{Form, part};
use crate::module::{Kind, Module, ModuleFile};
use crate::targets::Target;
use mcpkg_agents::agents::places::Commands;
use mcpkg_agents::commands::convert_to::{self, Unsayable};
use mcpkg_agents::commands::inert::{self, Acts};
use mcpkg_agents::commands::skill;
use mcpkg_agents::commands::words::{self, Spelling};
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
                Commands::Files(_) | Commands::Skills => in_own_syntax(builder, target, &place, module, file)?,
                Commands::FilesInWords { max_characters: Some(most), .. } if is_longer(&file.bytes, most) => {
                    builder.leave_out(module, target, Reason::TooLong);
                }
                Commands::FilesInWords { folder, .. }
                    if as_it_came(builder, target, folder, &place, module, file, Form::Spelled(Spelling::Words))? => {}
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

/// Returns what a command's original agent does with its text, such as running shell code or attaching files.
pub(super) fn acts(module: &Module, file: &ModuleFile) -> Acts {
    Acts::of_command(module.about.agent.as_deref(), file.own.as_deref())
}

/// Returns a command's text for an agent that runs shell code and attaches files, and whether the text was rewritten.
/// Whatever the command's original agent does not run or attach is rewritten, so that it stays plain text.
fn inert_text<'f>(module: &Module, file: &'f ModuleFile) -> Option<(Cow<'f, str>, bool)> {
    let text = std::str::from_utf8(&file.bytes).ok()?;
    Some(match inert::file(text, acts(module, file)) {
        Some(rewritten) => (rewritten.into(), true),
        None => (text.into(), false),
    })
}

const REWRITTEN: &str = "the agent that it was written for runs none of its !`...`, attaches none of its @files and \
                         ignores some of its front matter, so these are rewritten to stay plain text";

const SPACED: &str = "a space keeps the agent from replacing or running a part of its text, such as $1 or !{...}";

/// Adds a command in Claude Code's syntax.
fn in_own_syntax(
    builder: &mut Builder,
    target: Target,
    place: &Path,
    module: &Module,
    file: &ModuleFile,
) -> Result<()> {
    match inert_text(module, file) {
        Some((text, true)) => {
            builder.remark(module, target, REWRITTEN.to_owned());
            let form = Form::Inert(acts(module, file));
            let bytes = text.into_owned().into_bytes().into();
            builder.add(&[target], place, &file.path, form, vec![part(module, file)], bytes, false)
        }
        _ => builder.copy(target, place, &file.path, module, file),
    }
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
    match convert_to::opencode(&text, &file.arguments) {
        Ok(written) => {
            if words::breaks_up(&text, Spelling::Numbers) {
                builder.remark(module, target, SPACED.to_owned());
            }
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
    match convert_to::gemini(&text, &file.arguments) {
        Ok(written) => {
            if words::breaks_up(&text, Spelling::OneLine) {
                builder.remark(module, target, SPACED.to_owned());
            }
            let path = format!("{}.toml", file.path.strip_suffix(".md").unwrap_or(&file.path));
            builder.add(&[target], place, &path, form, vec![part(module, file)], written.into_bytes().into(), false)
        }
        Err(why) => {
            builder.leave_out(module, target, reason(why));
            Ok(())
        }
    }
}

fn text<'f>(builder: &mut Builder, target: Target, module: &Module, file: &'f ModuleFile) -> Option<Cow<'f, str>> {
    let text = inert_text(module, file);
    match &text {
        None => builder.leave_out(module, target, Reason::NotText),
        Some((_, true)) => builder.remark(module, target, REWRITTEN.to_owned()),
        Some((_, false)) => {}
    }
    text.map(|(text, _)| text)
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
    // The text must be inert here too: OpenCode also reads this folder, and treats skills as commands.
    let text = || {
        inert_text(module, file).map_or(Cow::Borrowed(&*file.bytes), |(text, _)| match text {
            Cow::Borrowed(text) => text.as_bytes().into(),
            Cow::Owned(text) => text.into_bytes().into(),
        })
    };
    let bytes = builder.skill_of(file, || skill::of_command(&name, &text(), &file.arguments));
    let relative = format!("{name}/SKILL.md");
    builder.add(&[target], root, &relative, Form::CommandSkill, vec![part(module, file)], bytes, false)
}
