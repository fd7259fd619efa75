//! Reads the manifests of plugins, which determine what files are wherever they lie.
//!
//! A folder is one plugin, however many manifests it has. A file is imported if at least one agent would load it: each vendor's
//! manifest counts for that vendor's agent ([`lists`]), and an Agent Plugin's manifest for all agents that support the format
//! ([`open`]). No manifest can name a file outside of its plugin, because it only selects among the files that were found.

mod lists;
mod open;
pub mod servers;

use std::collections::{BTreeMap, BTreeSet};

use super::paths::agents::{self, Role};
use super::paths::destination::{Destination, PluginFile};
use super::reason::{Note, Reason};
use crate::skills::MAIN;
use lists::Lists;
use mcpkg_agents::agents::{ALL, Agent, open_plugins};
use mcpkg_store::agent_files::Kind;
use open::Manifest;

/// Returns the content of the file at a path, if it is a small file among those that were found.
pub type ReadFile<'r> = &'r dyn Fn(&str) -> Option<Vec<u8>>;

/// The largest manifest that is read, in bytes.
pub const MAX_MANIFEST: u64 = 4 << 20;

/// The plugins in a folder, and what their manifests say.
#[derive(Debug, Default)]
pub struct Plugins {
    /// The folders with a valid manifest at their top.
    folders: BTreeSet<String>,
    /// The folders with the manifest of a valid Agent Plugin.
    open: BTreeSet<String>,
    /// What lists say about files.
    listed: BTreeMap<String, Destination>,
    /// Files of hooks and MCP servers in lists, and the agents of these lists.
    kept: BTreeMap<String, (Kind, &'static str)>,
    /// Default folders that no agent reads, because a list replaces them.
    replaced: BTreeSet<String>,
    /// The folders of skills that violate the specification which their plugin follows.
    bad_skills: BTreeSet<String>,
    pub notes: Vec<Note>,
}

/// A manifest that was found.
struct Found<'p> {
    path: &'p str,
    /// The plugin's folder.
    folder: &'p str,
    /// The agent; `None` for `plugin.json` at the top of a plugin, which may belong to several.
    agent: Option<&'static Agent>,
}

impl Plugins {
    /// Reads the manifests among the files at `paths`.
    pub fn read<'p>(paths: impl Iterator<Item = &'p str> + Clone, read: ReadFile<'_>) -> Self {
        let mut plugins = Self::default();
        let mut by_folder: BTreeMap<&str, Vec<Found<'_>>> = BTreeMap::new();
        for found in paths.clone().filter_map(manifest) {
            by_folder.entry(found.folder).or_default().push(found);
        }
        if by_folder.is_empty() {
            return plugins;
        }
        let paths: BTreeSet<&str> = paths.collect();
        for (folder, manifests) in by_folder {
            plugins.plugin(folder, &manifests, &paths, read);
        }
        plugins
    }

    fn plugin(&mut self, folder: &str, manifests: &[Found<'_>], paths: &BTreeSet<&str>, read: ReadFile<'_>) {
        let top = manifests.iter().find(|found| found.agent.is_none());
        let root = top.and_then(|top| open::read(&read(top.path)?));
        let note = |path: &str, text: String| Note { path: path.to_owned(), line: None, text };
        let mut of_top = None;
        // Codex and Copilot read no other manifest in a folder whose `plugin.json` names a version of Agent Plugins, even if
        // they reject this one.
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
            (Some(Manifest::Plain(value)), Some(top)) if has_parts(folder, &value, paths) => {
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
            self.notes.extend(lists.notes.iter().cloned());
            self.notes.extend(lists.forgotten(path, agent, paths, read));
            if of_top.is_some_and(|(top, _)| top == path) {
                self.folders.insert(folder.to_owned());
                self.kept.insert(path.to_owned(), (Kind::Plugin, agent.id));
            }
            for (path, to) in lists.files {
                self.listed.entry(path).or_insert(to);
            }
            for (path, kind) in lists.kept {
                self.kept.entry(path).or_insert((kind, agent.id));
            }
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
            // Claude Code loads the same folder by its own rules, if it finds its own manifest there.
            let is_of_all = manifests.iter().all(|found| found.agent.is_none());
            if is_of_all {
                self.check_skills(folder, paths, read);
            }
        }
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

    /// Returns the folders of plugins, apart from those that their paths prove.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }

    /// Returns what a manifest says about a file, whatever other files are next to it; `None` if it says nothing.
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

    /// Returns the kind and agent of a file that only agents read, if a manifest decides it.
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

    /// Whether agents read this default folder of a plugin.
    pub fn reads(&self, plugin: &str, folder: &str) -> bool {
        self.replaced.is_empty() || !self.replaced.contains(&join(plugin, folder))
    }

    /// Whether a folder with a SKILL.md is not a skill, because an Agent Plugin has its skills directly in `skills`.
    pub fn hides_skill(&self, folder: &str) -> bool {
        self.inside(folder).is_some_and(|(_, rest)| {
            let first = rest.split('/').next().unwrap_or_default();
            is_namespace(first) || (first == "skills" && rest.matches('/').count() > 1)
        })
    }

    /// Returns the folder of the Agent Plugin of which the file at a path is a part.
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

/// Recognizes a manifest by its path.
fn manifest(path: &str) -> Option<Found<'_>> {
    let above = path.strip_suffix(open_plugins::MANIFEST)?;
    if above.is_empty() {
        return Some(Found { path, folder: "", agent: None });
    }
    let above = above.strip_suffix('/')?;
    let of_agent = |folder: &str| {
        let last = folder.rsplit('/').next().unwrap_or_default();
        ALL.iter().copied().find(|agent| agent.imports.plugins.contains(&last))
    };
    let parent = |folder: &'_ str| folder.rsplit_once('/').map_or(0, |(parent, _)| parent.len());
    let in_github = || above == ".github/plugin" || above.ends_with("/.github/plugin");
    if let Some(agent) = of_agent(above) {
        return Some(Found { path, folder: &above[..parent(above)], agent: Some(agent) });
    }
    if in_github() {
        let github = &above[..parent(above)];
        return Some(Found { path, folder: &github[..parent(github)], agent: copilot() });
    }
    Some(Found { path, folder: above, agent: None })
}

/// Whether the content of the file at a path decides what other files are.
pub fn decides(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == open_plugins::MANIFEST || path == MAIN || name == super::paths::folders::LOWER_MAIN
}

/// Returns the paths of manifests at the top of a plugin.
pub fn manifests_at_top() -> impl Iterator<Item = String> {
    let own = ALL.iter().flat_map(|agent| agent.imports.plugins).map(|folder| format!("{folder}/plugin.json"));
    own.chain([open_plugins::MANIFEST.to_owned()])
}

/// The agent that reads a `plugin.json` without a schema.
fn copilot() -> Option<&'static Agent> {
    ALL.iter().copied().find(|agent| agent.imports.namespace.is_some())
}

/// Whether a `plugin.json` that names no schema is a plugin's manifest: it lists parts, or parts lie next to it. Many programs
/// have files of this name.
fn has_parts(folder: &str, value: &serde_json::Map<String, serde_json::Value>, paths: &BTreeSet<&str>) -> bool {
    let lists = copilot().and_then(|agent| agent.imports.manifest.as_ref()).map(|form| form.lists).unwrap_or_default();
    let lies_next = |part: &str| {
        let from = format!("{}/", join(folder, part));
        paths.range(from.as_str()..).take_while(|path| path.starts_with(&from)).any(|path| path.ends_with(".md"))
    };
    value.get("name").is_some_and(serde_json::Value::is_string)
        && lists.iter().any(|list| value.contains_key(list.key) || list.replaces.is_some_and(lies_next))
}

/// Whether a folder at the top of an Agent Plugin belongs to one client: `com.vendor.client`.
fn is_namespace(folder: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    folder.matches('.').count() >= 2 && folder.split('.').all(is_word)
}

/// Returns what a file in a client's folder is. A client that mcpkg does not know has only plain files.
fn of_client(path: &str, namespace: &str, below: &str) -> Destination {
    let client = agents::with_namespace(namespace);
    let (Some(agent), Some((_, folders))) = (client, agents::in_plugins()) else { return Destination::as_file(path) };
    let agent_file = |role, folder: &str, endings: &[&str]| {
        let label = below.strip_prefix(folder)?.strip_prefix('/')?;
        let ending = endings.iter().find(|ending| label.ends_with(**ending))?;
        Some(Destination {
            agent: Some(agent),
            ..Destination::plain(role, label[..label.len() - ending.len()].to_owned())
        })
    };
    if let Some(to) = agent_file(Role::Subagent, folders.subagents, &[".agent.md", ".md"]) {
        return to;
    }
    if let Some(to) = agent_file(Role::Prompt, folders.commands, &[".md"]) {
        return Destination { file: Some(format!("{}.md", to.label)), ..to };
    }
    match below.strip_prefix(folders.hooks) {
        Some("/hooks.json") => Destination::kept(Kind::Hook, agent, path, PluginFile::Vendor),
        _ => Destination::as_file(path),
    }
}

fn join(folder: &str, below: &str) -> String {
    match (folder.is_empty(), below.is_empty()) {
        (true, _) => below.to_owned(),
        (_, true) => folder.to_owned(),
        _ => format!("{folder}/{below}"),
    }
}
