//! `mcpkg export --plugin`: lays a project out as one folder that Claude Code, Codex, Copilot CLI and Gemini CLI install.
//!
//! [`files`] is a pure function from a project's [`Content`] to the files of the plugin. Everything is in the agents'
//! default folders, because the agents read lists in manifests differently:
//!
//! | file | read by |
//! | --- | --- |
//! | `.claude-plugin/plugin.json`, `.mcp.json`, `commands/*.md`, `agents/*.md` | Claude Code |
//! | `plugin.json`, `mcp.json` (Agent Plugins 1.0) | Codex, Copilot CLI |
//! | `com.github.copilot/` | Copilot CLI |
//! | `gemini-extension.json`, `commands/*.toml` | Gemini CLI |
//! | `skills/` | all four |
//! | `hooks/` | Claude Code; Gemini CLI has other events |

mod about;
mod check;
mod command;
mod commands;
mod hooks;
mod hooks_file;
mod making;
mod manifest;
pub mod marketplace;
mod name;
mod portable;
mod read;
mod remark;
mod servers;
mod skills;
mod subagents;

use super::layout::Layout;
use making::Making;
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::projects::Project;

pub use about::{About, Wish};
pub use command::AsPlugin;
pub use making::{Content, PluginFile};
pub use name::named;
pub use remark::{Kind, Remark};

#[derive(Debug)]
pub struct Plugin {
    pub project: String,
    pub about: About,
    /// How many skills, commands and so on the plugin contains, such as `("skill", 2)`.
    pub holds: Vec<(&'static str, usize)>,
    /// The files, by path.
    pub files: Vec<PluginFile>,
    /// What the plugin lacks, or contains in a changed form. One remark covers all items of one kind with the same
    /// reason.
    pub remarks: Vec<Remark>,
}

/// Returns a project as a plugin.
pub fn of_project(db: &Db<'_>, project: &Project, wish: &Wish) -> Result<Plugin> {
    let content = Content::read(db, project)?;
    let about = About::new(wish, &content)?;
    files(content, about)
}

/// Lays the content out as the files of a plugin.
pub fn files(content: Content, about: About) -> Result<Plugin> {
    let Content { project, items, servers, remarks } = content;
    let mut making = Making { layout: Layout::default(), files: Vec::new(), expected: Vec::new(), servers: 0, remarks };
    for (path, json) in about.manifests() {
        making.json(path, &json)?;
    }
    let skills = skills::add(&mut making, &items)?;
    commands::add(&mut making, &items, &skills)?;
    subagents::add(&mut making, &items)?;
    let named = servers::add(&mut making, &about, &servers)?;
    hooks::add(&mut making, &items, named)?;
    check::add_remarks(&mut making, &items, &servers)?;
    let holds = making.holds();
    let Making { mut files, remarks, .. } = making;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Plugin { project, about, holds, files, remarks })
}
