//! The landing table of contract 000's original (version 0.9.1), which config repos were made for.

use std::path::Path;

use super::{Aim, Ground, file_name, of_kind};
use crate::content::command::skill::split_front;
use crate::content::command::words::Spelling;
use crate::deploy::desired::sections as gather;
use crate::deploy::desired::{Form, Landing, part};
use crate::deploy::module::{Kind, Module, Target, fs_key, sanitise};
use crate::error::Result;

/// Lands the modules for one target.
///
/// # Errors
/// As [`super::land`].
pub fn land(landing: &mut Landing, modules: &[Module], aim: &Aim, ground: &Ground) -> Result<()> {
    match aim.target {
        Target::Codex => codex(landing, modules, aim, ground),
        Target::ClaudeCode => claude_code(landing, modules, aim, ground),
        Target::Cursor => cursor(landing, modules, aim, ground),
        Target::Vscode => vscode(landing, modules, aim, ground),
    }
}

fn codex(landing: &mut Landing, modules: &[Module], aim: &Aim, ground: &Ground) -> Result<()> {
    let instructions: Vec<&Module> = of_kind(modules, Kind::Instructions, Target::Codex).collect();
    if aim.user {
        let home = ground.codex(aim);
        if aim.option("write_agents_global", true) {
            landing.root(Target::Codex, &home, false);
            landing.gathered(Target::Codex, &home, "AGENTS.md", &instructions)?;
        }
        if aim.option("write_user_prompts", true) {
            files(landing, modules, Kind::Prompt, Target::Codex, &home.join("prompts"))?;
        }
        if aim.option("write_user_skills", true) {
            skills(landing, modules, Target::Codex, &home.join("skills"))?;
        }
    }
    if aim.project {
        let root = ground.root()?;
        if aim.option("write_agents_repo_root", true) {
            landing.root(Target::Codex, root, false);
            landing.gathered(Target::Codex, root, "AGENTS.md", &instructions)?;
        }
        if aim.option("write_repo_skills", true) {
            skills(landing, modules, Target::Codex, &root.join(".codex/skills"))?;
        }
    }
    Ok(())
}

fn claude_code(landing: &mut Landing, modules: &[Module], aim: &Aim, ground: &Ground) -> Result<()> {
    let scopes = [
        (aim.user.then_some(&ground.home), "write_user_commands", "write_user_skills"),
        (ground.root.as_ref().filter(|_| aim.project), "write_repo_commands", "write_repo_skills"),
    ];
    for (base, commands, skills_option) in scopes {
        let Some(folder) = base.map(|base| base.join(".claude")) else { continue };
        if aim.option(commands, true) {
            files(landing, modules, Kind::Command, Target::ClaudeCode, &folder.join("commands"))?;
        }
        if aim.option(skills_option, false) {
            skills(landing, modules, Target::ClaudeCode, &folder.join("skills"))?;
        }
    }
    Ok(())
}

fn cursor(landing: &mut Landing, modules: &[Module], aim: &Aim, ground: &Ground) -> Result<()> {
    if !aim.project || !aim.option("write_rules", true) {
        return Ok(());
    }
    let root = ground.root()?.join(".cursor/rules");
    landing.root(Target::Cursor, &root, true);
    for module in of_kind(modules, Kind::Instructions, Target::Cursor) {
        let name = format!("{}.mdc", fs_key(&module.id));
        rule(landing, &root, &name, module, Some(&format!("agentpack: {}", module.id)))?;
    }
    Ok(())
}

/// Lands an instructions module as a Cursor rule that always applies; without a description of ours, one that is a rule
/// already stays as it is.
///
/// # Errors
/// As [`Landing::add`].
pub fn rule(landing: &mut Landing, root: &Path, name: &str, module: &Module, description: Option<&str>) -> Result<()> {
    let Some(file) = module.files.first() else { return Ok(()) };
    if description.is_none() && split_front(&file.bytes).0.is_some() {
        // It is a rule already.
        return landing.copy(Target::Cursor, root, name, module, file);
    }
    let description = description.unwrap_or(&module.id);
    let bytes = [rule_head(description).as_bytes(), &gather::with_newline(&file.bytes)].concat();
    landing.add(&[Target::Cursor], root, name, Form::CursorRule, vec![part(module, file)], bytes.into(), false)
}

fn rule_head(description: &str) -> String {
    // A JSON string is a YAML string.
    let description = serde_json::Value::from(description);
    format!("---\ndescription: {description}\nglobs: []\nalwaysApply: true\n---\n\n")
}

fn vscode(landing: &mut Landing, modules: &[Module], aim: &Aim, ground: &Ground) -> Result<()> {
    if !aim.project {
        return Ok(());
    }
    let root = ground.root()?.join(".github");
    if aim.option("write_instructions", true) {
        landing.root(Target::Vscode, &root, false);
        let instructions: Vec<&Module> = of_kind(modules, Kind::Instructions, Target::Vscode).collect();
        landing.gathered(Target::Vscode, &root, "copilot-instructions.md", &instructions)?;
    }
    if aim.option("write_prompts", true) {
        prompt_files(landing, modules, &[Kind::Prompt], &root.join("prompts"), None)?;
    }
    Ok(())
}

/// Lands prompts as VS Code's prompt files, with their arguments spelled so, else as they are.
///
/// # Errors
/// As [`Landing::add`].
pub fn prompt_files(
    landing: &mut Landing,
    modules: &[Module],
    kinds: &[Kind],
    root: &Path,
    spelling: Option<Spelling>,
) -> Result<()> {
    landing.root(Target::Vscode, root, true);
    for module in kinds.iter().flat_map(|kind| of_kind(modules, *kind, Target::Vscode)) {
        for file in &module.files {
            let name = file_name(&file.path);
            let name = match name.strip_suffix(".prompt.md") {
                Some(_) => name.to_owned(),
                None => format!("{}.prompt.md", name.strip_suffix(".md").unwrap_or(name)),
            };
            match spelling {
                Some(spelling) => landing.spelled(Target::Vscode, root, &name, module, file, spelling)?,
                None => landing.copy(Target::Vscode, root, &name, module, file)?,
            }
        }
    }
    Ok(())
}

fn files(landing: &mut Landing, modules: &[Module], kind: Kind, target: Target, root: &Path) -> Result<()> {
    landing.root(target, root, true);
    for module in of_kind(modules, kind, target) {
        for file in &module.files {
            landing.copy(target, root, file_name(&file.path), module, file)?;
        }
    }
    Ok(())
}

/// Lands skills, each in a folder of its name.
///
/// # Errors
/// As [`Landing::add`].
pub fn skills(landing: &mut Landing, modules: &[Module], target: Target, root: &Path) -> Result<()> {
    landing.root(target, root, true);
    for module in of_kind(modules, Kind::Skill, target) {
        let name = match module.id.split_once(':') {
            Some((_, name)) => name.to_owned(),
            None => sanitise(&module.id),
        };
        for file in &module.files {
            landing.copy(target, root, &format!("{name}/{}", file.path), module, file)?;
        }
    }
    Ok(())
}
