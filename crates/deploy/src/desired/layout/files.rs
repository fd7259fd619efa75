//! Writes the kinds of files that the current and the original layout ([`crate::targets::Layout`]) have in common.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::desired::builder::Builder;
use crate::desired::output::{Form, part};
use crate::module::{Kind, Module, ModuleFile, sanitise};
use crate::targets::Target;
use mcpkg_agents::commands::words::Spelling;
use mcpkg_agents::forms::{self, sections};
use mcpkg_base::error::Result;
use mcpkg_base::inside::stays_inside;

/// Returns the modules of a kind that are meant for a target.
pub(super) fn of_kind(modules: &[Module], kind: Kind, target: Target) -> impl Iterator<Item = &Module> {
    modules.iter().filter(move |module| module.kind == kind && module.is_for(target))
}

/// Returns a folder below `root`. An empty `folder` means `root` itself.
pub(super) fn below(root: &Path, folder: &str) -> PathBuf {
    if folder.is_empty() { root.to_owned() } else { root.join(folder) }
}

pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Adds skills, each in a folder with the skill's name.
pub(super) fn skills(builder: &mut Builder, modules: &[Module], target: Target, root: &Path) -> Result<()> {
    builder.root(target, root, true);
    for module in of_kind(modules, Kind::Skill, target) {
        let name = match module.id.split_once(':') {
            Some((_, name)) => name.to_owned(),
            None => sanitise(&module.id),
        };
        for file in &module.files {
            builder.copy(target, root, &format!("{name}/{}", file.path), module, file)?;
        }
    }
    Ok(())
}

/// Adds prompts as VS Code prompt files. `rewritten` is a spelling and a folder. If it is given, arguments are
/// rewritten in this spelling, except in prompts that were imported from this folder of the target.
pub(super) fn prompt_files(
    builder: &mut Builder,
    modules: &[Module],
    kinds: &[Kind],
    target: Target,
    root: &Path,
    rewritten: Option<(Spelling, &str)>,
) -> Result<()> {
    builder.root(target, root, true);
    for module in kinds.iter().flat_map(|kind| of_kind(modules, *kind, target)) {
        for file in &module.files {
            let name = file_name(&file.path);
            let name = match name.strip_suffix(".prompt.md") {
                Some(_) => name.to_owned(),
                None => format!("{}.prompt.md", name.strip_suffix(".md").unwrap_or(name)),
            };
            match rewritten {
                Some((spelling, folder))
                    if as_it_came(builder, target, folder, root, module, file, Form::Spelled(spelling))? => {}
                Some((spelling, _)) => builder.spelled(target, root, &name, module, file, spelling)?,
                None => builder.copy(target, root, &name, module, file)?,
            }
        }
    }
    Ok(())
}

/// Adds a command's original file if the command was imported from `folder` of this target. Returns whether the file
/// was added.
pub(super) fn as_it_came(
    builder: &mut Builder,
    target: Target,
    folder: &str,
    place: &Path,
    module: &Module,
    file: &ModuleFile,
    form: Form,
) -> Result<bool> {
    if !module.about.is_of(target) {
        return Ok(false);
    }
    let path = module.about.path.as_deref().and_then(|path| path.strip_prefix(folder)?.strip_prefix('/'));
    let (path, own, form) = match (path, &file.own) {
        (Some(path), Some(own)) => (path, own, form),
        // Without `own`, the file in Claude Code's syntax is the original.
        (Some(path), None) if path.ends_with(".md") => (path, &file.bytes, Form::Copy),
        _ => return Ok(false),
    };
    builder.add(&[target], place, path, form, vec![part(module, file)], Arc::clone(own), false)?;
    Ok(true)
}

/// Adds an instructions module as a Cursor rule that always applies.
pub(super) fn cursor_rule(
    builder: &mut Builder,
    target: Target,
    root: &Path,
    name: &str,
    module: &Module,
    description: &str,
) -> Result<()> {
    let Some(file) = module.files.first() else { return Ok(()) };
    let bytes = [rule_head(description).as_bytes(), &sections::with_newline(&file.bytes)].concat();
    builder.add(&[target], root, name, Form::CursorRule, vec![part(module, file)], bytes.into(), false)
}

/// Returns the path of a module's file in a target's folder: the path that it was imported from, else one made from
/// the module's name.
pub(super) fn path_in(folder: &str, ending: &str, module: &Module, target: Target) -> String {
    let imported = module.about.path.as_deref().filter(|_| module.about.is_of(target));
    let inside = imported.and_then(|path| path.strip_prefix(folder)?.strip_prefix('/'));
    match inside.filter(|path| path.ends_with(ending) && stays_inside(path)) {
        Some(path) => path.to_owned(),
        None => own_name(module, ending),
    }
}

/// Whether a file may be too long for an agent once mcpkg's front matter is added. `most` is the agent's limit in
/// characters.
pub(super) fn is_longer(file: &[u8], most: usize) -> bool {
    /// Characters reserved for mcpkg's front matter: a description and globs.
    const HEAD: usize = 500;
    file.len() > most.saturating_sub(HEAD) && String::from_utf8_lossy(file).chars().count() > most.saturating_sub(HEAD)
}

/// Converts a module's name to a file name.
fn own_name(module: &Module, ending: &str) -> String {
    let name = file_name(module.name());
    format!("{}{ending}", sanitise(forms::stem(name)))
}

fn rule_head(description: &str) -> String {
    // Every JSON string is also a YAML string.
    let description = serde_json::Value::from(description);
    format!("---\ndescription: {description}\nglobs: []\nalwaysApply: true\n---\n\n")
}
