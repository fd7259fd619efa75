//! Warns about deployed files that an agent ignores or reads differently because of the user's own files.

use std::collections::BTreeSet;
use std::path::Path;

use crate::desired::layout::hidden;
use crate::desired::{Desired, Output};
use crate::source::Site;
use crate::targets::{Layout, Target, TargetConfig};
use mcpkg_agents::agents::places::{AgentsMd, Commands};
use mcpkg_base::disk;
use mcpkg_base::error::Result;

const AGENTS_MD: &str = "AGENTS.md";

/// Returns all warnings.
pub fn warnings(site: &Site, desired: &Desired) -> Result<Vec<String>> {
    let chosen = site.configs.iter().filter(|config| site.selected.contains(&config.target));
    let mut said = Vec::new();
    for config in chosen.filter(|config| config.project && config.layout == Layout::Current) {
        if let Some(root) = &site.bases.root {
            said.extend(agents_md(config, site, desired, root)?);
            said.extend(overrides(config.target, desired, root));
        }
        said.extend(skills(config.target, site, desired));
        said.extend(commands(config.target, site, desired));
    }
    said.extend(servers(site, desired));
    Ok(said)
}

/// Warns about each target whose MCP server file below the root is hidden by another agent's file.
pub fn servers(site: &Site, desired: &Desired) -> Vec<String> {
    let Some(root) = &site.bases.root else { return Vec::new() };
    let stands = |file: &str| root.join(file).is_file() || desired.output(&root.join(file)).is_some();
    let chosen = site.configs.iter().filter(|config| config.project && config.layout == Layout::Current);
    let chosen = chosen.map(|config| config.target).filter(|target| site.selected.contains(target));
    let hidden = chosen.filter_map(|target| {
        let dialect = &target.facts().servers;
        let (own, other) = (dialect.project?, dialect.hidden_by?);
        (stands(own) && stands(other))
            .then(|| format!("{} reads `{other}` and ignores `{own}` if both exist", target.facts().title))
    });
    hidden.collect()
}

/// Warns about a file that keeps a target from reading the root's AGENTS.md.
fn agents_md(config: &TargetConfig, site: &Site, desired: &Desired, root: &Path) -> Result<Option<String>> {
    let AgentsMd::UnlessHiddenBy(files) = config.target.facts().project.agents_md else { return Ok(None) };
    let path = root.join(AGENTS_MD);
    let output = desired.output(&path);
    // The target gets the text of AGENTS.md because one of its own files imports AGENTS.md.
    let is_imported = output.is_some_and(|output| output.targets.contains(&config.target));
    if is_imported || !path.is_file() && output.is_none() {
        return Ok(None);
    }
    let title = config.target.facts().title;
    Ok(hidden::by(root, &site.bases.home, files)?.map(|found| {
        let hiding = found.path.display();
        // If both files contain the same text, do not suggest the line `@AGENTS.md`: the agent would load the text
        // twice.
        let users = found.users_text();
        let stands_in_both =
            output.is_some_and(|output| output.parts.iter().any(|part| part.bytes.trim_ascii() == users.trim_ascii()));
        let how = match found.path.parent() == Some(root) {
            true if stands_in_both => String::new(),
            true => format!("; to fix this, add the line `@AGENTS.md` to `{hiding}`"),
            false => " (it is above the root)".to_owned(),
        };
        format!("{title} does not read `{}`: `{hiding}` hides it{how}", path.display())
    }))
}

/// Warns about the user's own files that a target reads instead of AGENTS.md.
fn overrides(target: Target, desired: &Desired, root: &Path) -> Vec<String> {
    let Some(over) = target.facts().project.agents_md_override else { return Vec::new() };
    let of_target = |output: &&Output| output.targets.contains(&target) && output.path.ends_with(AGENTS_MD);
    let folders = desired.outputs.values().filter(of_target).filter_map(|output| output.path.parent());
    let folders: BTreeSet<&Path> = folders.chain([root]).collect();
    let title = target.facts().title;
    let is_there = |file: &Path| file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
    let files = folders.into_iter().map(|folder| folder.join(over));
    let files = files.filter(|file| is_there(file) && desired.output(file).is_none());
    files.map(|file| format!("{title} reads `{}` instead of the AGENTS.md next to it", file.display())).collect()
}

/// Warns about skills in the user's home folder that hide different skills of the project.
fn skills(target: Target, site: &Site, desired: &Desired) -> Vec<String> {
    let facts = target.facts();
    let Some(root) = site.bases.root.as_ref().filter(|_| facts.reading.user_skills_win) else { return Vec::new() };
    let (below, of_user) = (root.join(facts.project.skills), site.bases.home.join(facts.user.skills));
    let named = |output: &Output| {
        let path = output.path.strip_prefix(&below).ok()?;
        let own = of_user.join(path);
        // Two equal skills do no harm.
        let differs =
            path.ends_with("SKILL.md") && own.is_file() && disk::read(&own).is_ok_and(|bytes| bytes != *output.bytes);
        path.parent().filter(|_| differs).map(Path::to_owned)
    };
    let of_target = desired.outputs.values().filter(|output| output.targets.contains(&target));
    let names: BTreeSet<_> = of_target.filter_map(named).collect();
    names
        .iter()
        .map(|name| {
            let own = of_user.join(name);
            format!("{} uses the skill `{}` instead of the project's", facts.title, own.display())
        })
        .collect()
}

/// Warns about commands that exist both in the user's folder and in the project, if the target renames both.
fn commands(target: Target, site: &Site, desired: &Desired) -> Vec<String> {
    let facts = target.facts();
    let (Commands::Toml(project) | Commands::Numbered(project) | Commands::Files(project)) = facts.project.commands
    else {
        return Vec::new();
    };
    let (Commands::Toml(user) | Commands::Numbered(user) | Commands::Files(user)) = facts.user.commands else {
        return Vec::new();
    };
    let Some(root) = site.bases.root.as_ref().filter(|_| facts.reading.renames_commands) else { return Vec::new() };
    let (below, of_user) = (root.join(project), site.bases.home.join(user));
    let of_target = desired.outputs.values().filter(|output| output.targets.contains(&target));
    let paths: BTreeSet<&Path> = of_target.filter_map(|output| output.path.strip_prefix(&below).ok()).collect();
    let both = paths.into_iter().filter(|path| of_user.join(path).is_file());
    both.map(|path| {
        let path = path.display();
        format!(
            "{} finds `{path}` both in the user's folder and in the project, and renames both commands",
            facts.title
        )
    })
    .collect()
}
