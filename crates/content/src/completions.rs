//! Completes the names of a project's items in the shell.

use mcpkg_base::error::Result;
use mcpkg_core::op::{Name, Names, Typed};
use mcpkg_store::page::Page;
use mcpkg_store::{agent_files, prompts, resources, servers, skills, sources};

/// Completes the project's prompts.
pub const PROMPTS: Names = Names::Stored(|typed| {
    let names = prompts::names(typed.db, typed.selection, typed.prefix, typed.limit)?;
    Ok(names.into_iter().map(Name::from).collect())
});

/// Completes the project's resources: their names, and also their URIs once the typed text contains a colon.
pub const RESOURCES: Names = Names::Stored(|typed| {
    let mut names = resources::names(typed.db, typed.selection, typed.prefix, typed.limit)?;
    if let (true, Some(project)) = (typed.prefix.contains(':'), typed.project()?) {
        let below = resources::below(typed.db, project.id, typed.prefix)?;
        names.extend(below.into_iter().map(|resource| resource.attributes.uri).take(typed.limit));
    }
    Ok(names.into_iter().map(Name::from).collect())
});

/// Completes the project's stored skills.
pub const STORED_SKILLS: Names = Names::Stored(|typed| Ok(typed.matching(stored_skills(typed)?)));

/// Completes the project's skills, and the prompts that agents see as skills.
pub const SKILLS: Names = Names::Stored(|typed| {
    let mut names = stored_skills(typed)?;
    if let Some(project) = typed.project()? {
        let prompts = skills::prompts(typed.db, project.id, &Page::all())?.rows;
        names.extend(prompts.iter().map(|prompt| skills::name(&prompt.name)));
    }
    names.sort_unstable();
    names.dedup();
    Ok(typed.matching(names))
});

/// Completes the project's sources.
pub const SOURCES: Names = Names::Stored(|typed| {
    let Some(project) = typed.project()? else { return Ok(Vec::new()) };
    let all = sources::list(typed.db, project.id)?;
    Ok(typed.matching(all.into_iter().map(|source| source.origin.name)))
});

/// Completes the project's MCP servers.
pub const MCP_SERVERS: Names = Names::Stored(|typed| {
    let Some(project) = typed.project()? else { return Ok(Vec::new()) };
    Ok(typed.matching(servers::names(typed.db, project.id)?))
});

/// Completes the paths of the files that the project keeps for one agent.
pub const AGENT_FILES: Names = Names::Stored(|typed| {
    let Some(project) = typed.project()? else { return Ok(Vec::new()) };
    Ok(typed.matching(agent_files::all(typed.db, project.id)?.into_iter().map(|file| file.path)))
});

fn stored_skills(typed: &Typed<'_>) -> Result<Vec<String>> {
    let Some(project) = typed.project()? else { return Ok(Vec::new()) };
    Ok(skills::names(typed.db, project.id, &Page::all())?.rows)
}
