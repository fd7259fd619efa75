//! Chooses the paths of items in an exported folder. Names and URIs come from users, so no path may leave the folder,
//! differ from another only by case, or be too long for a file system.

use std::collections::{HashMap, HashSet};

use crate::answer;
use crate::item::{Entry, File, What, manifest, name::digest};
use crate::skills::{LOWER_MAIN, MAIN};
use crate::uri::decode;
use mcpkg_agents::commands;
use mcpkg_agents::commands::dialect::Dialect;
use mcpkg_agents::forms::matter;
use mcpkg_base::error::Result;
use mcpkg_base::inside::{is_windows_name, stays_inside};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::prompts::Attributes;

/// The folder for items that get none of their own paths ([`own_paths`]).
const OTHERS: &str = "mcpkg.files";

const MAX_PART: usize = 200;
const MAX_PATH: usize = 1000;

/// The paths assigned so far, in lower case.
pub struct Layout {
    files: HashSet<String>,
    folders: HashSet<String>,
    /// The skill that each assigned skill folder belongs to, by folder.
    skills: HashMap<String, String>,
}

impl Default for Layout {
    fn default() -> Self {
        Self { files: HashSet::from([manifest::FILE.to_owned()]), folders: HashSet::new(), skills: HashMap::new() }
    }
}

impl Layout {
    /// Returns the file for an item. If the item gets none of its own paths, the manifest lists the file.
    pub fn file(&mut self, entry: &Entry, content: &NewContent) -> Result<File> {
        let (relative, is_own) = self.place(entry);
        let listed = (!is_own).then(|| entry.clone());
        file(relative, entry, content, listed)
    }

    /// Reserves a free path for an item, and returns whether it is one of the item's own paths ([`own_paths`]).
    pub fn place(&mut self, entry: &Entry) -> (String, bool) {
        for relative in own_paths(entry) {
            if self.is_of_skill(entry, &relative) && self.claim(&relative) {
                return (relative, true);
            }
        }
        let mut relative = format!("{OTHERS}/{}", entry.name);
        let mut seed = format!("{} {}", entry.what.word(), entry.name);
        while !(is_safe(&relative) && self.claim(&relative)) {
            seed = digest(&seed, 16);
            relative = format!("{OTHERS}/{seed}");
        }
        (relative, false)
    }

    /// Returns whether the item may have a file at this path. The files of a skill share one folder, in which there are no
    /// files of other skills. All other items may be anywhere.
    fn is_of_skill(&mut self, entry: &Entry, path: &str) -> bool {
        let Some((name, below)) = entry.what.in_skill() else { return true };
        let folder = decode(below).and_then(|below| path.strip_suffix(&below).map(str::to_lowercase));
        folder.is_none_or(|folder| self.skills.entry(folder).or_insert_with(|| name.to_owned()) == name)
    }

    /// Reserves a path. Returns false if the path is already a file or folder, or is below a file.
    pub fn claim(&mut self, path: &str) -> bool {
        let path = path.to_lowercase();
        let above: Vec<&str> = path.match_indices('/').map(|(at, _)| &path[..at]).collect();
        let free = !self.files.contains(&path)
            && !self.folders.contains(&path)
            && !above.iter().any(|folder| self.files.contains(*folder));
        if free {
            self.folders.extend(above.into_iter().map(str::to_owned));
            self.files.insert(path);
        }
        free
    }
}

/// Returns the file for an item at a path. `listed` is the item's entry in the manifest, if it gets one.
pub fn file(relative: String, entry: &Entry, content: &NewContent, listed: Option<Entry>) -> Result<File> {
    let executable = entry.what.is_executable();
    let content = match &entry.what {
        What::Prompt(attributes) => prompt(entry, attributes, content, listed.is_some())?,
        _ => content.clone(),
    };
    Ok(File { relative, content, executable, listed })
}

/// Returns a prompt's file. If the manifest lists the file, it also holds the prompt's attributes. Otherwise the file
/// is a slash command or, if that would not import back, the text with generated front matter.
fn prompt(entry: &Entry, attributes: &Attributes, content: &NewContent, is_listed: bool) -> Result<NewContent> {
    let text = answer::text(content.bytes()?.into_owned())?;
    let file = match is_listed {
        true => commands::to_list(&entry.name, attributes, &text),
        false => commands::exact(&entry.name, attributes, &text).unwrap_or_else(|| matter::write(attributes) + &text),
    };
    // Keep `content` if nothing changed: it may be a file on disk, which can be moved instead of written.
    Ok(if file == text { content.clone() } else { file.into_bytes().into() })
}

/// Returns the preferred paths of an item: its original path, then the path at which agents or people would look for it.
pub fn own_paths(entry: &Entry) -> impl Iterator<Item = String> {
    [first_path(entry), own_path(entry)].into_iter().flatten().filter(|path| is_safe(path))
}

fn first_path(entry: &Entry) -> Option<String> {
    let path = entry.origin.path.clone().filter(|_| entry.what != What::Server)?;
    match entry.what.uri().and_then(|uri| uri.strip_prefix("skill://")) {
        None => Some(path),
        Some(file) => {
            let (_, below) = file.split_once('/')?;
            let (folder, below) = (path.strip_suffix(MAIN).or(path.strip_suffix(LOWER_MAIN))?, decode(below)?);
            Some(if below == MAIN { path } else { format!("{folder}{below}") })
        }
    }
}

/// Returns the path at which agents or people would look for an item.
pub fn own_path(entry: &Entry) -> Option<String> {
    let attributes = match &entry.what {
        What::Prompt(attributes) => {
            let folder = match attributes.dialect {
                Some(Dialect::OpenCode) => ".opencode/command",
                Some(Dialect::Claude) | None => ".claude/commands",
            };
            return Some(format!("{folder}/{}", commands::path(&entry.name, attributes)));
        }
        What::Resource(attributes) => attributes,
        What::AgentFile { .. } | What::Server => return None,
    };
    let uri = attributes.uri.as_str();
    if let Some(path) = uri.strip_prefix("file:///") {
        return decode(path);
    }
    if let Some(path) = uri.strip_prefix("skill://").filter(|path| path.contains('/')) {
        return Some(format!(".claude/skills/{}", decode(path)?));
    }
    if let Some(name) = uri.strip_prefix("subagent://").filter(|name| !name.contains(['/', '%'])) {
        return Some(format!(".claude/agents/{name}.md"));
    }
    let name = uri.strip_prefix("instructions://").filter(|name| !name.contains(['/', '%']))?;
    Some(match name {
        "CLAUDE.md" | "AGENTS.md" => name.to_owned(),
        "copilot-instructions.md" => format!(".github/{name}"),
        _ if name.ends_with(".mdc") => format!(".cursor/rules/{name}"),
        _ => format!(".claude/rules/{name}"),
    })
}

/// Returns whether a path stays inside the folder and outside `.git`, and is valid on every common file system.
pub fn is_safe(path: &str) -> bool {
    let is_portable = |part: &str| part.len() <= MAX_PART && is_windows_name(part);
    stays_inside(path) && path.len() <= MAX_PATH && path.split('/').all(is_portable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_safe() {
        for good in ["CLAUDE.md", "a/b c.md", ".claude/commands/x.md"] {
            assert!(is_safe(good), "{good}");
        }
        let long = "x".repeat(201);
        for bad in
            ["", "/a", "a//b", "../a", "a/..", "a\0", "a\nb", "c:/a", "a\\b", ".Git/hooks/x", "a./b", "a/nul.md", &long]
        {
            assert!(!is_safe(bad), "{bad}");
        }
    }

    #[test]
    fn paths_do_not_collide() {
        let mut layout = Layout::default();
        assert!(layout.claim("a/b"));
        for taken in ["A/B", "a", "a/b/c", "mcpkg.export.json"] {
            assert!(!layout.claim(taken), "{taken}");
        }
        assert!(layout.claim("a/c"));
    }
}
