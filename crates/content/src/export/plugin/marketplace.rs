//! Lays out a repository from which agents install plugins: `.claude-plugin/marketplace.json` and the plugins. Claude
//! Code, Codex and Copilot CLI read that file, and Gemini CLI installs a repository with its manifest at the root.

use serde_json::{Map, Value, json};

use super::Plugin;
use super::making::{PluginFile, json_bytes};
use mcpkg_base::error::Result;

const FILE: &str = ".claude-plugin/marketplace.json";

/// The folder of each plugin in a repository of several.
const PLUGINS: &str = "plugins";

/// A marketplace's name, and the name of the person or team that offers it.
#[derive(Clone, Debug)]
pub struct Market {
    pub name: String,
    pub owner: String,
}

/// Returns the files of a repository whose root is a plugin, so that all four agents can install it.
pub fn of_one(plugin: &Plugin, market: &Market) -> Result<Vec<PluginFile>> {
    let mut files = plugin.files.clone();
    files.push(list(market, plugin.about.description.as_deref(), [(plugin, "./".to_owned())])?);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns the files of a repository with several plugins. The plugins' names must differ.
pub fn of_several(plugins: &[Plugin], market: &Market) -> Result<Vec<PluginFile>> {
    let folder = |plugin: &Plugin| format!("{PLUGINS}/{}", plugin.about.name);
    let sources = plugins.iter().map(|plugin| (plugin, format!("./{}", folder(plugin))));
    let mut files = vec![list(market, None, sources)?];
    for plugin in plugins {
        let folder = folder(plugin);
        files.extend(
            plugin.files.iter().map(|file| PluginFile { path: format!("{folder}/{}", file.path), ..file.clone() }),
        );
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns the file that lists the plugins. Copilot rejects a list without `owner`. The list has no versions, because
/// every agent prefers the version in a plugin's manifest.
fn list<'p>(
    market: &Market,
    description: Option<&str>,
    plugins: impl IntoIterator<Item = (&'p Plugin, String)>,
) -> Result<PluginFile> {
    let entry = |(plugin, source): (&Plugin, String)| {
        let mut entry = Map::new();
        entry.insert("name".to_owned(), plugin.about.name.as_str().into());
        entry.insert("source".to_owned(), source.into());
        entry.extend(plugin.about.description.as_ref().map(|text| ("description".to_owned(), text.as_str().into())));
        Value::from(entry)
    };
    let plugins: Vec<Value> = plugins.into_iter().map(entry).collect();
    let mut list = json!({ "name": market.name, "owner": { "name": market.owner } });
    if let Some(description) = description {
        list["description"] = description.into();
    }
    list["plugins"] = plugins.into();
    Ok(PluginFile { path: FILE.to_owned(), bytes: json_bytes(&list)?, executable: false })
}
