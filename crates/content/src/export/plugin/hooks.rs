//! Lays out hooks and the documents that hooks and servers name, and notes everything that a plugin cannot hold.

use std::collections::BTreeSet;

use super::hooks_file::{self, HOOKS, HooksFile, is_claudes};
use super::making::{CODEX, GEMINI, Making, of_copilot, word};
use super::manifest;
use super::name::named;
use crate::item::{Entry, What};
use crate::uri::decode;
use mcpkg_base::error::Result;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::blobs::NewContent;

/// Stands for the plugin's folder at the start of a path in hooks.
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}/";

/// Adds the hooks, and the documents that hooks and MCP servers name. `wanted` contains the paths in the plugin's
/// folder that MCP servers name.
pub(super) fn add(making: &mut Making, items: &[(Entry, NewContent)], mut wanted: BTreeSet<String>) -> Result<()> {
    manifest::add_remarks(making, items);
    let file = hooks_file::of(making, items)?;
    let mut merged = BTreeSet::new();
    if let Some(HooksFile { bytes, at, merged: others }) = file {
        let text = String::from_utf8_lossy(&bytes);
        wanted.extend(text.split(ROOT).skip(1).map(|rest| path_of(rest).to_owned()));
        making.put(&of_copilot(HOOKS), bytes.clone(), false);
        making.left_out(&[CODEX], word::AGENT_FILE, HOOKS, "it loads no hooks from such plugins");
        let why = "it runs the hooks whose events it has too, but does not set CLAUDE_PLUGIN_ROOT";
        making.changed(&[GEMINI], word::AGENT_FILE, HOOKS, why);
        let executable = items[at].0.name == HOOKS && items[at].0.what.is_executable();
        making.put(HOOKS, bytes, executable);
        making.expect(HOOKS, at, word::AGENT_FILE, HOOKS);
        merged = others;
    }
    for (at, (entry, content)) in items.iter().enumerate() {
        let What::AgentFile { holds, executable } = &entry.what else { continue };
        let path = entry.name.as_str();
        match holds {
            // The export generates the plugin's manifests and lists of servers, so skip those that were imported.
            Kind::Plugin | Kind::Servers => {}
            Kind::Hook if merged.contains(path) || (path == HOOKS && is_claudes(entry)) => {}
            Kind::Hook if path.starts_with("hooks/") && is_claudes(entry) => {
                if making.put(path, content.bytes()?.into_owned(), *executable) {
                    making.expect(path, at, word::AGENT_FILE, path);
                } else {
                    making.left_out(&[], word::AGENT_FILE, path, "its path is not valid on every file system");
                }
            }
            Kind::Hook => making.left_out(&[], word::AGENT_FILE, path, "only hooks in the folder `hooks` are written"),
            Kind::Permission | Kind::Ignore | Kind::Settings => {
                making.left_out(&[], word::AGENT_FILE, path, "plugins cannot hold such files");
            }
        }
    }
    documents(making, items, wanted)
}

/// Adds the documents that hooks and servers name, and notes which documents and instructions are left out.
fn documents(making: &mut Making, items: &[(Entry, NewContent)], wanted: BTreeSet<String>) -> Result<()> {
    let mut missing = wanted;
    for (entry, content) in items {
        let (word, name) = &named(entry);
        match *word {
            word::RULE => making.left_out(&[], word::RULE, name, "agents load no instructions from plugins"),
            word::DOCUMENT => {
                let path = entry.what.uri().and_then(|uri| uri.strip_prefix("file:///")).and_then(decode);
                let is_put = match path.filter(|path| missing.remove(path)) {
                    Some(path) => making.put(&path, content.bytes()?.into_owned(), entry.what.is_executable()),
                    None => false,
                };
                let why = match is_put {
                    true => "an import reads it only with --documents",
                    false => "no server and no hook of the plugin names it",
                };
                match is_put {
                    true => making.changed(&[], word::DOCUMENT, name, why),
                    false => making.left_out(&[], word::DOCUMENT, name, why),
                }
            }
            _ => {}
        }
    }
    missing.retain(|path| !making.files.iter().any(|file| file.path == *path));
    for path in &missing {
        let why = "a server or a hook names it, and the project does not hold it; import it with --documents";
        making.left_out(&[], word::DOCUMENT, path, why);
    }
    Ok(())
}

/// Returns the path at the start of a text: `hooks/a.sh" --now` -> `hooks/a.sh`.
fn path_of(text: &str) -> &str {
    let ends = |c: char| c.is_whitespace() || r#""'\;|&)<>`"#.contains(c);
    &text[..text.find(ends).unwrap_or(text.len())]
}
