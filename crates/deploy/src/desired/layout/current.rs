//! Places files where agents read them today (November 2026; docs/reference/targets.md has the table). Each agent gets
//! each text once, if the user's own files allow it.

use std::path::Path;

use super::files::prompt_files;
use super::texts::Texts;
use super::{commands, instructions, servers, skills, subagents};
use crate::desired::builder::Builder;
use crate::desired::left_out::Reason;
use crate::module::{Kind, Module, ModuleFile};
use crate::targets::bases::Bases;
use crate::targets::{Target, TargetConfig};
use mcpkg_agents::agents::places::Commands;
use mcpkg_agents::commands::words::{self, Spelling};
use mcpkg_base::error::Result;

/// Adds the files of all targets with the current layout.
pub(super) fn add(
    builder: &mut Builder,
    modules: &[Module],
    configs: &[&TargetConfig],
    present: &[Target],
    bases: &Bases,
) -> Result<()> {
    for config in configs.iter().filter(|config| config.target.facts().servers_only) {
        let text = modules.iter().filter(|module| !matches!(module.kind, Kind::McpServer | Kind::AgentFile));
        for module in text.filter(|module| module.is_for(config.target)) {
            builder.leave_out(module, config.target, Reason::OnlyServers);
        }
    }
    let reads_text = |config: &&TargetConfig| !config.target.facts().servers_only;
    let texts = Texts::of(modules);
    let with_text: Vec<&TargetConfig> = configs.iter().copied().filter(reads_text).collect();
    warn_of_shell_lines(builder, modules, &with_text);
    let for_project: Vec<&TargetConfig> = configs.iter().copied().filter(|config| config.project).collect();
    if let (Some(root), false) = (&bases.root, for_project.is_empty()) {
        let with_text: Vec<&TargetConfig> = for_project.iter().copied().filter(reads_text).collect();
        instructions::for_project(builder, (modules, &texts), &with_text, present, bases, root)?;
        for config in &with_text {
            let places = &config.target.facts().project;
            skills_and_commands(builder, modules, config.target, root, places.skills, places.commands)?;
        }
        for config in &with_text {
            subagents::for_project(builder, modules, config.target, root)?;
        }
        for config in &with_text {
            extra_prompt_files(builder, modules, config, root)?;
        }
        for config in &for_project {
            servers::for_project(builder, modules, config.target, root)?;
        }
    }
    let for_user: Vec<&TargetConfig> = configs.iter().copied().filter(|config| config.user).collect();
    let with_text: Vec<&TargetConfig> = for_user.iter().copied().filter(reads_text).collect();
    instructions::for_user(builder, (modules, &texts), &with_text, bases)?;
    for config in &with_text {
        let places = &config.target.facts().user;
        skills_and_commands(builder, modules, config.target, &bases.home, places.skills, places.commands)?;
        subagents::for_user(builder, modules, config.target, &bases.own(config))?;
    }
    for config in &for_user {
        servers::for_user(builder, modules, config.target)?;
    }
    Ok(())
}

fn extra_prompt_files(builder: &mut Builder, modules: &[Module], config: &TargetConfig, root: &Path) -> Result<()> {
    let Some(folder) = config.target.facts().project.prompt_files else { return Ok(()) };
    // `write_prompts` is an option of config repos, where prompts are separate from commands. `prompt_files` is an
    // option of projects.
    let kinds: &[Kind] = match (config.flag("write_prompts", false), config.flag("prompt_files", false)) {
        (_, true) => &[Kind::Command, Kind::Prompt],
        (true, false) => &[Kind::Prompt],
        (false, false) => return Ok(()),
    };
    let warning = format!("{} no longer loads prompt files in agent sessions", config.target.name());
    builder.warn(&[config.target], warning);
    prompt_files(builder, modules, kinds, config.target, &root.join(folder), Some((Spelling::Inputs, folder)))
}

fn skills_and_commands(
    builder: &mut Builder,
    modules: &[Module],
    target: Target,
    base: &Path,
    skills_folder: &str,
    commands: Commands,
) -> Result<()> {
    skills::add(builder, modules, target, base, skills_folder)?;
    commands::add(builder, modules, target, base, &base.join(skills_folder), commands)
}

/// Warns about commands with !`...` lines that some targets do not run. Claude Code runs them in a shell before it reads
/// the text.
fn warn_of_shell_lines(builder: &mut Builder, modules: &[Module], configs: &[&TargetConfig]) {
    for module in modules.iter().filter(|module| module.kind == Kind::Command) {
        let runs = |file: &ModuleFile| commands::acts(module, file).runs && words::runs_something(&file.bytes);
        if !module.files.iter().any(runs) {
            continue;
        }
        let targets = configs.iter().map(|config| config.target).filter(|target| module.is_for(*target));
        let idle: Vec<Target> =
            targets.filter(|target| !target.facts().runs_shell_lines && builder.is_chosen(*target)).collect();
        let names: Vec<&str> = idle.iter().map(|target| target.name()).collect();
        let verb = if names.len() == 1 { "does" } else { "do" };
        let (id, names) = (&module.id, names.join(", "));
        let warning = format!(
            "module '{id}' contains !`...` commands, which Claude Code runs before it reads the text; {names} {verb} not run them"
        );
        builder.warn(&idle, warning);
    }
}
