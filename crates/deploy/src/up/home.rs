//! Counts the content of the agents' folders in the home folder. `mcpkg up` does not import this content, because agents
//! load it in every folder.

use std::path::PathBuf;

use super::wish::Wish;
use mcpkg_agents::agents::homes::Homes;
use mcpkg_agents::agents::places::Commands;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::Result;
use mcpkg_base::shell::quote;
use mcpkg_content::import::gathered::Gathered;
use mcpkg_content::import::{Group, find, recognise};
use mcpkg_core::op::Context;

pub(super) struct Home {
    pub(super) groups: Vec<Group>,
    /// The command that imports this content.
    pub(super) command: String,
}

/// Counts the content of the agents' folders. Returns `None` if there is no content, or if the folders cannot be read.
pub(super) fn find(context: &Context, wish: &Wish) -> Option<Home> {
    let homes = Homes::find().ok()?;
    let paths = places(&homes, wish);
    let groups = count(context, &paths).ok().filter(|groups| !groups.is_empty())?;
    let shown = paths.iter().map(|path| match path.strip_prefix(&homes.home) {
        Ok(rest) => format!("~/{}", quote(&rest.to_string_lossy())),
        Err(_) => quote(&path.to_string_lossy()),
    });
    Some(Home { groups, command: format!("mcpkg import {}", shown.collect::<Vec<_>>().join(" ")) })
}

fn count(context: &Context, paths: &[PathBuf]) -> Result<Vec<Group>> {
    let found = find::find(paths, false, context)?;
    let recognised = recognise::recognise(found, &recognise::Choice::default(), context)?;
    Ok(Gathered::of(recognised, Secrets::default())?.groups(None))
}

/// Returns the files and folders from which the agents read the user's own content.
fn places(homes: &Homes, wish: &Wish) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for agent in wish.deployed() {
        let (own, user) = (agent.folder(homes), &agent.user);
        let below_home = user.also_skills.iter().copied().chain([user.skills]).filter(|folder| !folder.is_empty());
        paths.extend(below_home.map(|folder| homes.home.join(folder)));
        paths.extend(user.instructions.map(|file| own.join(file)));
        paths.extend(user.scoped_rules.map(|rules| homes.home.join(rules.folder)));
        paths.extend(agent.subagents.and_then(|subagents| subagents.user).map(|folder| own.join(folder)));
        if let Commands::Files(folder) | Commands::Numbered(folder) | Commands::Toml(folder) = user.commands {
            paths.push(homes.home.join(folder));
        }
    }
    paths.retain(|path| path.exists());
    paths.sort();
    paths.dedup();
    paths
}
