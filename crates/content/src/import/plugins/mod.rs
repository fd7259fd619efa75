//! Reads the manifests of plugins, which decide what a file becomes regardless of its path.
//!
//! A folder is one plugin, even if it has several manifests. A file is imported if at least one agent would load it.
//! Each vendor's manifest counts for that vendor's agent ([`lists`]), and an Agent Plugin's manifest for all agents
//! that support the format ([`open`]). A manifest cannot name a file outside its plugin, because it only selects among
//! the files that were found.

mod client;
pub mod entries;
mod lists;
pub mod marketplace;
mod open;
pub mod place;
pub mod servers;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::paths::destination::{Destination, PluginFile};
use super::reason::{Note, Reason};
use crate::skills::MAIN;
use client::{is_namespace, of_client};
use lists::Lists;
use marketplace::Marketplace;
use mcpkg_agents::agents::{ALL, Agent, open_plugins};
use mcpkg_store::agent_files::Kind;
use open::Manifest;
use place::{AT_TOP, FILES, Found, Listed, ReadFile, copilot, join, manifest};

/// The path of Claude Code's manifest in a plugin.
const CLAUDES: &str = ".claude-plugin/plugin.json";
const SERVERS: &str = "mcpServers";

/// The plugins in a folder, and what their manifests say.
#[derive(Debug, Default)]
pub struct Plugins {
    /// The folders with a valid manifest at their top.
    folders: BTreeSet<String>,
    /// The folders that a marketplace lists as whole plugins.
    of_marketplace: BTreeSet<String>,
    /// The folders with the manifest of a valid Agent Plugin.
    open: BTreeSet<String>,
    /// The destinations of the files that lists name, by path.
    listed: BTreeMap<String, Destination>,
    /// The texts of commands that are written in manifests, by the paths under which they are imported.
    pub inline: BTreeMap<String, String>,
    /// The files of hooks and MCP servers that lists name, by path, each with the agent of its list.
    kept: BTreeMap<String, (Kind, &'static str)>,
    /// The skills' own folders that lists name, and listed folders that contain such folders.
    skills: BTreeSet<String>,
    /// The plugins whose MCP servers Claude Code loads from their entries in its marketplace.
    entries: Vec<String>,
    /// Default folders that no agent reads, because a list replaces them.
    replaced: BTreeSet<String>,
    /// The folders of skills that agents skip: they violate the specification of skills, which an Agent Plugin must
    /// follow.
    bad_skills: BTreeSet<String>,
    pub notes: Vec<Note>,
}

impl Plugins {
    /// Reads the manifests and marketplaces among the files at `paths`.
    pub fn read<'p>(paths: impl Iterator<Item = &'p str> + Clone, read: ReadFile<'_>) -> Self {
        let mut plugins = Self::default();
        let mut by_folder: BTreeMap<&str, Vec<Found<'_>>> = BTreeMap::new();
        for found in paths.clone().filter_map(manifest) {
            by_folder.entry(found.folder).or_default().push(found);
        }
        if by_folder.is_empty() && !paths.clone().any(|path| FILES.contains(&path)) {
            return plugins;
        }
        let paths: BTreeSet<&str> = paths.collect();
        for (folder, manifests) in by_folder {
            plugins.plugin(folder, &manifests, &paths, read);
        }
        let market = Marketplace::among(&paths, read);
        for plugin in market.listed() {
            plugins.add(&plugin, &paths);
            if let (AT_TOP, Some(agent)) = (plugin.file, copilot()) {
                plugins.kept.insert(AT_TOP.to_owned(), (Kind::Plugin, agent.id));
            }
        }
        plugins.notes.extend(market.notes);
        plugins
    }

    fn plugin(&mut self, folder: &str, manifests: &[Found<'_>], paths: &BTreeSet<&str>, read: ReadFile<'_>) {
        let top = manifests.iter().find(|found| found.agent.is_none());
        let root = top.and_then(|top| open::read(&read(top.path)?));
        let note = |path: &str, text: String| Note { path: path.to_owned(), line: None, text };
        let mut of_top = None;
        // If `plugin.json` names a version of Agent Plugins, Codex and Copilot read no other manifest in the folder,
        // even if they reject this one.
        let decides = matches!(root, Some(Manifest::Valid(_) | Manifest::Rejected(_)));
        match (root, top) {
            (Some(Manifest::Valid(notes)), Some(top)) => {
                self.folders.insert(folder.to_owned());
                self.open.insert(folder.to_owned());
                self.notes.extend(notes.into_iter().map(|text| note(top.path, text)));
            }
            (Some(Manifest::Rejected(why)), Some(top)) => {
                self.notes.push(note(top.path, format!("was ignored, and no agent loads the plugin with it: {why}")));
            }
            (Some(Manifest::Plain(value)), Some(top)) if value.get("name").is_some_and(Value::is_string) => {
                of_top = copilot().map(|agent| (top.path, agent));
            }
            _ => {}
        }
        let skips = |agent: &Agent| decides && agent.id != "claude_code" && agent.id != "cursor";
        let own = manifests.iter().filter_map(|found| Some((found.path, found.agent?)));
        let mut claudes = None;
        let mut others = Vec::new();
        for (path, agent) in own.filter(|(_, agent)| !skips(agent)).chain(of_top) {
            let Some(form) = &agent.imports.manifest else { continue };
            let Some(text) = read(path) else { continue };
            let lists = Lists::read(path, folder, agent, form, &text, paths);
            let is_top = of_top.is_some_and(|(top, _)| top == path);
            // Many programs have a file called `plugin.json`. It is a plugin's manifest only if the plugin has parts.
            if is_top && lists.files.is_empty() && lists.kept.is_empty() && !has_parts(folder, paths) {
                continue;
            }
            self.notes.extend(lists.notes.iter().cloned());
            self.notes.extend(lists.forgotten(path, agent, paths, read));
            if is_top {
                self.folders.insert(folder.to_owned());
                self.kept.insert(path.to_owned(), (Kind::Plugin, agent.id));
            }
            self.inline.extend(lists.inline);
            self.take(lists.files, lists.kept, lists.skills, agent);
            match agent.imports.in_plugins {
                Some(_) => claudes = Some(lists.replaced),
                None => others.push((agent, lists.replaced)),
            }
        }
        // Claude Code reads the default folders even without a manifest.
        for replaced in claudes.unwrap_or_default() {
            let reads = |(agent, not): &(&Agent, BTreeSet<&str>)| {
                let lists = agent.imports.manifest.as_ref().map(|form| form.lists).unwrap_or_default();
                lists.iter().any(|list| list.replaces == Some(replaced)) && !not.contains(replaced)
            };
            if !others.iter().any(reads) {
                self.replaced.insert(join(folder, replaced));
            }
        }
        if self.open.contains(folder) {
            // If an agent has a manifest of its own in the folder, it loads the skills by its own rules, so do not
            // check them.
            let is_of_all = manifests.iter().all(|found| found.agent.is_none());
            if is_of_all {
                self.check_skills(folder, paths, read);
            }
        }
    }

    /// Adds the files that a plugin's entry in a marketplace lists. Unlike the lists in a manifest, the entry's lists
    /// do not replace default folders.
    fn add(&mut self, plugin: &Listed, paths: &BTreeSet<&str>) {
        if plugin.is_whole {
            self.of_marketplace.insert(plugin.folder.clone());
        }
        let claude = ALL.iter().copied().find(|agent| agent.imports.in_plugins.is_some());
        let form = claude.and_then(|agent| Some((agent, agent.imports.manifest.as_ref()?)));
        let (Some((agent, form)), Some(entry)) = (form, &plugin.entry) else { return };
        let mut entry = entry.clone();
        let has_manifest = paths.contains(join(&plugin.folder, CLAUDES).as_str());
        match (entry.get(SERVERS), has_manifest) {
            (None, _) => {}
            (Some(_), true) => {
                let text = format!(
                    "lists MCP servers of the plugin '{}', which {} does not load, because the plugin has its own manifest",
                    plugin.name, agent.title
                );
                self.notes.push(Note { path: plugin.file.to_owned(), line: None, text });
                entry.shift_remove(SERVERS);
            }
            (Some(servers), false) => self.entries.extend(servers.is_object().then(|| plugin.name.clone())),
        }
        let entry = Value::Object(entry).to_string();
        let lists = Lists::read(plugin.file, &plugin.folder, agent, form, entry.as_bytes(), paths);
        self.notes.extend(lists.notes);
        self.inline.extend(lists.inline);
        self.take(lists.files, lists.kept, lists.skills, agent);
    }

    fn take(
        &mut self,
        files: BTreeMap<String, Destination>,
        kept: BTreeMap<String, Kind>,
        skills: Vec<String>,
        agent: &Agent,
    ) {
        for (path, to) in files {
            self.listed.entry(path).or_insert(to);
        }
        for (path, kind) in kept {
            self.kept.entry(path).or_insert((kind, agent.id));
        }
        self.skills.extend(skills);
    }

    /// Finds the skills of an Agent Plugin that violate the specification of skills.
    fn check_skills(&mut self, folder: &str, paths: &BTreeSet<&str>, read: ReadFile<'_>) {
        let skills = format!("{}/", join(folder, "skills"));
        for path in paths.range(skills.as_str()..).take_while(|path| path.starts_with(&skills)) {
            let Some((name, MAIN)) = path[skills.len()..].split_once('/') else { continue };
            let Some(text) = read(path) else { continue };
            if let Err(why) = open::check_skill(name, &text) {
                let text = format!("was skipped, because its plugin follows Agent Plugins 1.0: {why}");
                self.notes.push(Note { path: (*path).to_owned(), line: None, text });
                self.bad_skills.insert(format!("{skills}{name}"));
            }
        }
    }

    /// Returns the plugins that are recognized only by a manifest at the top of their folder, and not by a path.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }

    /// Returns the folders that a marketplace lists as whole plugins.
    pub fn of_marketplace(&self) -> impl Iterator<Item = &str> {
        self.of_marketplace.iter().map(String::as_str)
    }

    /// Returns what the manifests decide about a file: its destination, or the reason to skip it. `None` if they decide
    /// nothing.
    pub fn of(&self, path: &str) -> Option<Result<Destination, Reason>> {
        if let Some(to) = self.listed.get(path) {
            return Some(Ok(to.clone()));
        }
        let (plugin, rest) = self.inside(path)?;
        let (first, below) = rest.split_once('/')?;
        if is_namespace(first) {
            return Some(Ok(of_client(path, first, below)));
        }
        if first == "skills" {
            let name = below.split('/').next().unwrap_or_default();
            let is_bad =
                !self.bad_skills.is_empty() && self.bad_skills.contains(&join(plugin, &format!("skills/{name}")));
            return is_bad.then_some(Err(Reason::Malformed));
        }
        None
    }

    /// Returns the kind and agent of an agent's file, such as `mcp.json`, if a manifest decides them.
    pub fn kept(&self, path: &str) -> Option<(Kind, &'static str, PluginFile)> {
        if let Some((kind, agent)) = self.kept.get(path) {
            return Some((*kind, agent, PluginFile::Vendor));
        }
        let (_, rest) = self.inside(path)?;
        let kind = match rest {
            open_plugins::MANIFEST => Kind::Plugin,
            open_plugins::SERVERS => Kind::Servers,
            _ => return None,
        };
        Some((kind, open_plugins::ID, PluginFile::Open))
    }

    /// Returns the plugins whose MCP servers are loaded from their entries in the marketplace's file at a path.
    pub fn entries(&self, path: &str) -> &[String] {
        if path == FILES[0] { &self.entries } else { &[] }
    }

    /// Returns whether a list names a skill's folder, or the folder that contains it.
    pub fn lists_skill(&self, folder: &str) -> bool {
        let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
        self.skills.contains(folder) || self.skills.contains(above)
    }

    /// Returns whether agents read this default folder of a plugin.
    pub fn reads(&self, plugin: &str, folder: &str) -> bool {
        self.replaced.is_empty() || !self.replaced.contains(&join(plugin, folder))
    }

    /// Returns whether a folder with a SKILL.md is not a skill. An Agent Plugin has its skills directly in `skills`,
    /// and none in a client's folder.
    pub fn hides_skill(&self, folder: &str) -> bool {
        self.inside(folder).is_some_and(|(_, rest)| {
            let first = rest.split('/').next().unwrap_or_default();
            is_namespace(first) || (first == "skills" && rest.matches('/').count() > 1)
        })
    }

    /// Returns the folder of the Agent Plugin that the file at a path is part of.
    pub fn open_part(&self, path: &str) -> Option<&str> {
        let (plugin, rest) = self.inside(path)?;
        let first = rest.split('/').next().unwrap_or_default();
        let is_part = matches!(first, "skills" | open_plugins::MANIFEST | open_plugins::SERVERS) || is_namespace(first);
        is_part.then_some(plugin)
    }

    /// Returns the innermost Agent Plugin that contains a path, and the path within it.
    fn inside<'p>(&self, path: &'p str) -> Option<(&str, &'p str)> {
        if self.open.is_empty() {
            return None;
        }
        let ends = path.rmatch_indices('/').map(|(at, _)| at).chain([0]);
        ends.filter_map(|end| {
            self.open.get(&path[..end]).map(|open| (open.as_str(), path[end..].trim_start_matches('/')))
        })
        .next()
    }
}

/// Returns whether a plugin has parts: Markdown files in the default folders that Copilot reads next to the manifest.
fn has_parts(folder: &str, paths: &BTreeSet<&str>) -> bool {
    let lists = copilot().and_then(|agent| agent.imports.manifest.as_ref()).map(|form| form.lists).unwrap_or_default();
    lists.iter().filter_map(|list| list.replaces).any(|part| {
        let from = format!("{}/", join(folder, part));
        paths.range(from.as_str()..).take_while(|path| path.starts_with(&from)).any(|path| path.ends_with(".md"))
    })
}
