//! Writes plugins to a folder, for `mcpkg export --plugin` and `--marketplace`.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::marketplace::{self, Market};
use super::{About, Content, Plugin, PluginFile, Remark, Wish, of_project};
use crate::export::write;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_base::shell::quote;
use mcpkg_core::op::{Context, Reply};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::projects;

/// The options of an export as a plugin.
#[derive(Debug, Default, clap::Args, Deserialize, JsonSchema)]
pub struct AsPlugin {
    /// Write a plugin that Claude Code, Codex, Copilot CLI and Gemini CLI can install
    #[arg(long)]
    #[serde(default)]
    plugin: bool,
    /// Write a repository from which agents can install plugins: one for each project in --projects
    #[arg(long, conflicts_with = "plugin")]
    #[serde(default)]
    marketplace: bool,
    /// Projects for the marketplace, instead of the selected one
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires = "marketplace")]
    #[serde(default)]
    projects: Vec<String>,
    /// Name of the plugin or marketplace, instead of the project's name
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    name: Option<String>,
    /// Version of the plugin; Claude Code then updates it only when the version changes (without a version, with every commit)
    #[arg(long, value_name = "VERSION")]
    #[serde(default)]
    plugin_version: Option<String>,
    /// What the plugin is for
    #[arg(long, value_name = "TEXT", requires = "plugin")]
    #[serde(default)]
    description: Option<String>,
    /// Person or team that offers the plugin or marketplace
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    owner: Option<String>,
}

/// The output of an export: the files, the plugins in them, and the marketplace.
struct Given {
    files: Vec<PluginFile>,
    plugins: Vec<Plugin>,
    market: Market,
}

impl AsPlugin {
    pub fn is_wanted(&self) -> bool {
        self.plugin || self.marketplace
    }

    /// Fails if the user gives an option that only an export as a plugin or marketplace supports.
    pub fn refuse_alone(&self) -> Result<()> {
        let given = [
            ("--name", self.name.is_some()),
            ("--plugin-version", self.plugin_version.is_some()),
            ("--owner", self.owner.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => {
                let why = format!("{option} needs --plugin or --marketplace");
                Err(Error::new(Code::InvalidArgument, why).hint("see `mcpkg export --help`"))
            }
        }
    }

    pub fn write(self, folder: &Path, context: &Context) -> Result<Reply> {
        let Given { files, plugins, market } =
            if self.marketplace { self.several(context)? } else { self.one(context)? };
        if let Some(plugin) = plugins.iter().find(|plugin| plugin.holds.is_empty()) {
            let why = format!("Nothing in project '{}' can be in a plugin", plugin.project);
            let lines: Vec<String> = plugin.remarks.iter().map(Remark::line).collect();
            let error = Error::new(Code::InvalidArgument, [&[why], lines.as_slice()].concat().join("; "));
            return Err(
                error.hint("a plugin can hold commands, skills, subagents, MCP servers that are enabled, and hooks")
            );
        }
        write::make(folder)?;
        let contents: Vec<NewContent> = files.iter().map(|file| NewContent::from(file.bytes.clone())).collect();
        let all = files.iter().zip(&contents).map(|(file, content)| (file.path.as_str(), content, file.executable));
        write::files(folder, all)?;
        Ok(self.reply(folder, &files, &plugins, &market))
    }

    fn one(&self, context: &Context) -> Result<Given> {
        let wish = Wish {
            name: self.name.clone(),
            version: self.plugin_version.clone(),
            description: self.description.clone(),
            owner: self.owner.clone(),
        };
        let plugin = context.read(|db, project| of_project(db, project, &wish))?;
        let market = Market { name: plugin.about.name.clone(), owner: self.owner(&plugin.about.name) };
        Ok(Given { files: marketplace::of_one(&plugin, &market)?, plugins: vec![plugin], market })
    }

    fn several(&self, context: &Context) -> Result<Given> {
        let wish = Wish { version: self.plugin_version.clone(), owner: self.owner.clone(), ..Wish::default() };
        let (plugins, selected) = context.store.read(|db| {
            let chosen = match self.projects.as_slice() {
                [] => vec![projects::require(db, &context.selection)?],
                names => names.iter().map(|name| projects::get(db, name)).collect::<Result<Vec<_>>>()?,
            };
            let plugins = chosen.iter().map(|project| of_project(db, project, &wish)).collect::<Result<Vec<_>>>()?;
            Ok((plugins, chosen.into_iter().next().map(|project| project.name)))
        })?;
        let mut by_name: BTreeMap<&str, &str> = BTreeMap::new();
        for plugin in &plugins {
            if let Some(other) = by_name.insert(&plugin.about.name, &plugin.project) {
                let (name, project) = (&plugin.about.name, &plugin.project);
                let why = format!("Projects '{other}' and '{project}' would both become the plugin '{name}'");
                return Err(
                    Error::new(Code::InvalidArgument, why).hint("name each project once, or rename one of them")
                );
            }
        }
        let wish = Wish { name: self.name.clone(), ..Wish::default() };
        let name = About::new(&wish, &Content { project: selected.unwrap_or_default(), ..Content::default() })?.name;
        let market = Market { owner: self.owner(&name), name };
        Ok(Given { files: marketplace::of_several(&plugins, &market)?, plugins, market })
    }

    fn owner(&self, name: &str) -> String {
        self.owner.clone().unwrap_or_else(|| name.to_owned())
    }

    fn reply(&self, folder: &Path, files: &[PluginFile], plugins: &[Plugin], market: &Market) -> Reply {
        let place = folder.display().to_string();
        let named: Vec<String> =
            plugins.iter().map(|plugin| format!("'{}' ({})", plugin.about.name, plugin.counts())).collect();
        let what = if plugins.len() == 1 { "plugin" } else { "plugins" };
        let into = plural::count(files.len(), "file");
        let sentence = format!("Exported {what} {} to {place}: {into}", named.join(", "));
        let each = plugins.iter().map(|plugin| {
            let remarks: Vec<_> = plugin.remarks.iter().map(Remark::json).collect();
            let holds: serde_json::Map<_, _> =
                plugin.holds.iter().map(|(word, count)| ((*word).to_owned(), json!(count))).collect();
            json!({
                "project": plugin.project, "name": plugin.about.name, "version": plugin.about.version, "holds": holds,
                "remarks": remarks,
            })
        });
        let data = json!({
            "folder": place, "files": files.len(), "marketplace": market.name, "plugins": each.collect::<Vec<_>>(),
        });
        let mut reply = Reply::sentence(sentence, data);
        for plugin in plugins {
            let whose = if plugins.len() == 1 { String::new() } else { format!("{}: ", plugin.about.name) };
            reply.warnings.extend(plugin.remarks.iter().map(|remark| whose.clone() + &remark.line()));
        }
        let path = mcpkg_base::platform::real(folder).unwrap_or_else(|_| folder.to_owned());
        let path = quote(&path.display().to_string());
        let first = plugins.first().map_or("", |plugin| plugin.about.name.as_str());
        let id = format!("{first}@{}", market.name);
        let mut hints = vec![
            format!("`claude plugin marketplace add {path} && claude plugin install {id}` installs it in Claude Code"),
            format!("`codex plugin marketplace add {path} && codex plugin add {id}` installs it in Codex"),
            format!(
                "`copilot plugin marketplace add {path} && copilot plugin install {id}` installs it in Copilot CLI"
            ),
        ];
        if self.plugin {
            hints.push(format!("`gemini extensions install {path}` installs it in Gemini CLI"));
        }
        reply.hints.extend(hints);
        reply
    }
}

impl Plugin {
    /// Describes what the plugin contains: `1 command, 2 skills`.
    fn counts(&self) -> String {
        let counts = self
            .holds
            .iter()
            .map(|(word, count)| plural::count(*count, word).replace("agent's files", "agents' files"));
        counts.collect::<Vec<_>>().join(", ")
    }
}
