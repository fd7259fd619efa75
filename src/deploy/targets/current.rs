//! Where the agents read today (November 2026; docs/architecture.md has the table). Each agent gets each text once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Aim, Ground, file_name, of_kind, original};
use crate::content::command::skill::{self, split_front};
use crate::content::command::words::{self, Spelling};
use crate::deploy::desired::{Form, Landing, part};
use crate::deploy::module::{Kind, Module, ModuleFile, Target, sanitise};
use crate::disk;
use crate::error::Result;

/// Lands the modules for all targets that follow this table.
///
/// # Errors
/// As [`super::land`].
pub fn land(landing: &mut Landing, modules: &[Module], aims: &[&Aim], ground: &Ground) -> Result<()> {
    let for_project: Vec<&Aim> = aims.iter().copied().filter(|aim| aim.project).collect();
    if let (Some(root), false) = (&ground.root, for_project.is_empty()) {
        project_instructions(landing, modules, &for_project, root)?;
        assets(landing, modules, &for_project, |target| match target {
            Target::Cursor => Folders::below(root, ".agents/skills", ".cursor/commands"),
            Target::ClaudeCode => Folders::below(root, ".claude/skills", ".claude/commands"),
            Target::Codex | Target::Vscode => Folders::below(root, ".agents/skills", ""),
        })?;
        for aim in for_project.iter().filter(|aim| aim.target == Target::Vscode) {
            // A config repo has prompts of their own; a project's are commands.
            let kinds: &[Kind] = match (aim.option("write_prompts", false), aim.option("prompt_files", false)) {
                (_, true) => &[Kind::Command, Kind::Prompt],
                (true, false) => &[Kind::Prompt],
                (false, false) => continue,
            };
            landing.warn(format!("{} no longer loads prompt files in agent sessions", aim.target.name()));
            original::prompt_files(landing, modules, kinds, &root.join(".github/prompts"), Some(Spelling::Inputs))?;
        }
    }
    let for_user: Vec<&Aim> = aims.iter().copied().filter(|aim| aim.user).collect();
    user_instructions(landing, modules, &for_user, ground)?;
    assets(landing, modules, &for_user, |target| match target {
        Target::Cursor => Folders::below(&ground.home, ".cursor/skills", ".cursor/commands"),
        Target::ClaudeCode => Folders::below(&ground.home, ".claude/skills", ".claude/commands"),
        Target::Codex | Target::Vscode => Folders::below(&ground.home, ".agents/skills", ""),
    })
}

/// AGENTS.md is read by Codex, Cursor and VS Code, and by Claude Code where no CLAUDE.md hides it. A text that only one
/// of them shall have goes to that one's own place, so that the others do not read it.
fn project_instructions(landing: &mut Landing, modules: &[Module], aims: &[&Aim], root: &Path) -> Result<()> {
    const SHARING: [Target; 3] = [Target::Codex, Target::Cursor, Target::Vscode];
    let hides = hiding(root)?;
    let (mut shared, mut for_vscode) = (Vec::new(), Vec::new());
    let mut readers = Vec::new();
    for aim in aims {
        match aim.target {
            Target::Codex => landing.root(Target::Codex, root, false),
            Target::ClaudeCode => landing.root(Target::ClaudeCode, &root.join(".claude/rules"), true),
            Target::Cursor => landing.root(Target::Cursor, &root.join(".cursor/rules"), true),
            Target::Vscode => landing.root(Target::Vscode, &root.join(".github"), false),
        }
    }
    for module in modules.iter().filter(|module| module.kind == Kind::Instructions) {
        if let Some(owner) = scoped(module) {
            scoped_rule(landing, module, owner, aims, root)?;
            continue;
        }
        let wants = |target: Target| module.is_for(target) && aims.iter().any(|aim| aim.target == target);
        let wanted: Vec<Target> = SHARING.into_iter().filter(|target| wants(*target)).collect();
        let is_shared = wants(Target::Codex) || wanted.len() > 1;
        match wanted.as_slice() {
            _ if is_shared => {
                shared.push(module);
                readers.extend(wanted);
            }
            [Target::Cursor] => {
                let name = format!("{}.mdc", rule_name(module));
                original::rule(landing, &root.join(".cursor/rules"), &name, module, None)?;
            }
            [Target::Vscode] => for_vscode.push(module),
            _ => {}
        }
        if !wants(Target::ClaudeCode) {
            continue;
        }
        let Some(file) = module.files.first() else { continue };
        match &hides {
            None if is_shared => readers.push(Target::ClaudeCode),
            Some(text) if text.trim_ascii() == file.bytes.trim_ascii() => {}
            _ => {
                let name = format!("{}.md", rule_name(module));
                landing.copy(Target::ClaudeCode, &root.join(".claude/rules"), &name, module, file)?;
            }
        }
    }
    readers.sort_unstable();
    readers.dedup();
    landing.block(&readers, root, "AGENTS.md", &shared)?;
    landing.block(&[Target::Vscode], &root.join(".github"), "copilot-instructions.md", &for_vscode)
}

/// The agent for which a rule says that it is of some files only, which no other agent understands.
fn scoped(module: &Module) -> Option<Target> {
    let front = split_front(&module.files.first()?.bytes).0?;
    let front = skill::keys(front)?;
    let says = |key: &str| match front.get(key) {
        None | Some(serde_json::Value::Null) => false,
        Some(serde_json::Value::Array(globs)) => !globs.is_empty(),
        Some(serde_json::Value::String(glob)) => !glob.trim().is_empty(),
        Some(_) => true,
    };
    let not_always = front.get("alwaysApply") == Some(&serde_json::Value::Bool(false));
    match (says("globs") || not_always, says("paths")) {
        (true, _) => Some(Target::Cursor),
        (false, true) => Some(Target::ClaudeCode),
        (false, false) => None,
    }
}

/// Lands a rule of some files with the agent that understands it, and tells of the others.
fn scoped_rule(landing: &mut Landing, module: &Module, owner: Target, aims: &[&Aim], root: &Path) -> Result<()> {
    let Some(file) = module.files.first() else { return Ok(()) };
    let (folder, ending) = match owner {
        Target::Cursor => (".cursor/rules", "mdc"),
        _ => (".claude/rules", "md"),
    };
    if module.is_for(owner) && aims.iter().any(|aim| aim.target == owner) {
        let name = format!("{}.{ending}", rule_name(module));
        landing.copy(owner, &root.join(folder), &name, module, file)?;
    }
    let others = aims.iter().filter(|aim| aim.target != owner && module.is_for(aim.target));
    let others: Vec<&str> = others.map(|aim| aim.target.name()).collect();
    if !others.is_empty() {
        landing.warn(format!(
            "module '{}' is a rule for some files only, as {} reads it; it is not written for {}",
            module.id,
            owner.name(),
            others.join(", ")
        ));
    }
    Ok(())
}

/// Returns the text of a CLAUDE.md that keeps Claude Code from reading AGENTS.md: one that does not import it.
fn hiding(root: &Path) -> Result<Option<Vec<u8>>> {
    let path = root.join("CLAUDE.md");
    let Some(metadata) = disk::metadata(&path)? else { return Ok(None) };
    if !path.is_file() {
        // A folder, or a link to nothing: there is no text that could hide another.
        return Ok(None);
    }
    if metadata.is_symlink() && path.canonicalize().is_ok_and(|real| real.ends_with("AGENTS.md")) {
        return Ok(None);
    }
    let text = disk::read(&path)?;
    let imports = text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii();
        line.split(|byte| byte.is_ascii_whitespace()).any(|word| matches!(word, b"@AGENTS.md" | b"@./AGENTS.md"))
    });
    Ok((!imports).then_some(text))
}

fn user_instructions(landing: &mut Landing, modules: &[Module], aims: &[&Aim], ground: &Ground) -> Result<()> {
    for aim in aims {
        let instructions: Vec<&Module> = of_kind(modules, Kind::Instructions, aim.target).collect();
        let (folder, name): (PathBuf, _) = match aim.target {
            Target::Codex => (ground.codex(aim), "AGENTS.md"),
            Target::ClaudeCode => (ground.home.join(".claude"), "CLAUDE.md"),
            Target::Cursor | Target::Vscode => {
                if !instructions.is_empty() {
                    landing.warn(format!("{} reads no instructions from the home folder", aim.target.name()));
                }
                continue;
            }
        };
        landing.root(aim.target, &folder, false);
        landing.block(&[aim.target], &folder, name, &instructions)?;
    }
    Ok(())
}

/// Where a target reads skills and commands.
struct Folders {
    skills: PathBuf,
    commands: Option<PathBuf>,
}

impl Folders {
    fn below(base: &Path, skills: &str, commands: &str) -> Self {
        let commands = (!commands.is_empty()).then(|| base.join(commands));
        Self { skills: base.join(skills), commands }
    }
}

fn assets(landing: &mut Landing, modules: &[Module], aims: &[&Aim], folders: impl Fn(Target) -> Folders) -> Result<()> {
    for aim in aims {
        let folders = folders(aim.target);
        if aim.target != Target::ClaudeCode {
            warn_of_shell(landing, modules, aim.target);
        }
        original::skills(landing, modules, aim.target, &folders.skills)?;
        match folders.commands {
            Some(commands) => {
                landing.root(aim.target, &commands, true);
                for module in of_kind(modules, Kind::Command, aim.target) {
                    for file in &module.files {
                        match aim.target {
                            Target::ClaudeCode => landing.copy(aim.target, &commands, &file.path, module, file)?,
                            _ => landing.spelled(aim.target, &commands, &file.path, module, file, Spelling::Words)?,
                        }
                    }
                }
            }
            None => {
                for module in
                    of_kind(modules, Kind::Command, aim.target).chain(of_kind(modules, Kind::Prompt, aim.target))
                {
                    for file in &module.files {
                        as_skill(landing, aim.target, &folders.skills, module, file)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Tells of commands that run something before their text in Claude Code, where the target takes that for text.
fn warn_of_shell(landing: &mut Landing, modules: &[Module], target: Target) {
    for module in of_kind(modules, Kind::Command, target) {
        if module.files.iter().any(|file| words::runs_something(&file.bytes)) {
            landing.warn(format!(
                "module '{}' runs programs by !`...` before Claude Code sees its text; for {} that is text",
                module.id,
                target.name()
            ));
        }
    }
}

/// Lands a command as a skill, for agents that have no commands.
fn as_skill(landing: &mut Landing, target: Target, root: &Path, module: &Module, file: &ModuleFile) -> Result<()> {
    let name = skill::name(file.path.strip_suffix(".md").unwrap_or(&file.path));
    let bytes: Arc<[u8]> = skill::of_command(&name, &file.bytes, &file.arguments).into();
    let relative = format!("{name}/SKILL.md");
    landing.add(&[target], root, &relative, Form::CommandSkill, vec![part(module, file)], bytes, false)
}

/// The name of a rule file: the module's, without an ending.
fn rule_name(module: &Module) -> String {
    let name = file_name(module.name());
    let stem = [".mdc", ".md"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    sanitise(stem)
}
