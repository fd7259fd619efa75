//! Recognizes manifests of plugins by their paths.

use serde_json::{Map, Value};

use crate::skills::{LOWER_MAIN, MAIN};
use mcpkg_agents::agents::{ALL, Agent, open_plugins};

/// A function that returns the content of the file at a path, if it is a small file among those that were found.
pub type ReadFile<'r> = &'r dyn Fn(&str) -> Option<Vec<u8>>;

/// The maximum size of a manifest in bytes.
pub const MAX_MANIFEST: u64 = 4 << 20;

/// The file at the top of a repository in which Copilot looks for a marketplace.
pub const AT_TOP: &str = "marketplace.json";

/// The files in which agents look for a marketplace. If several list the same plugin, the first one counts.
pub const FILES: [&str; 6] = [
    ".claude-plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
    ".cursor-plugin/marketplace.json",
    ".plugin/marketplace.json",
    ".github/plugin/marketplace.json",
    AT_TOP,
];

/// A plugin that the marketplace of a repository lists.
#[derive(Clone, Debug)]
pub struct Listed {
    pub name: String,
    /// The marketplace's file.
    pub file: &'static str,
    pub folder: String,
    /// Whether everything in the folder belongs to the plugin.
    pub is_whole: bool,
    /// The plugin's entry, if it lists files in the format of Claude Code's manifest.
    pub entry: Option<Map<String, Value>>,
}

/// A plugin's manifest among the files that were found.
pub(super) struct Found<'p> {
    pub path: &'p str,
    pub folder: &'p str,
    /// The agent; `None` for `plugin.json` at the top of a plugin, which several agents may read.
    pub agent: Option<&'static Agent>,
}

/// Recognizes a manifest by its path.
pub(super) fn manifest(path: &str) -> Option<Found<'_>> {
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

/// Returns whether the content of the file at a path decides what other files become.
pub fn decides(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == open_plugins::MANIFEST || path == MAIN || name == LOWER_MAIN || FILES.contains(&path)
}

/// Returns all paths at which a plugin's manifest may be, relative to the plugin's folder.
pub fn manifests_at_top() -> impl Iterator<Item = String> {
    let own = ALL.iter().flat_map(|agent| agent.imports.plugins).map(|folder| format!("{folder}/plugin.json"));
    own.chain([open_plugins::MANIFEST.to_owned()])
}

/// Returns the agent that reads a `plugin.json` without a schema: Copilot.
pub(super) fn copilot() -> Option<&'static Agent> {
    ALL.iter().copied().find(|agent| agent.imports.namespace.is_some())
}

pub(super) fn join(folder: &str, below: &str) -> String {
    match (folder.is_empty(), below.is_empty()) {
        (true, _) => below.to_owned(),
        (_, true) => folder.to_owned(),
        _ => format!("{folder}/{below}"),
    }
}
