//! `mcpkg plugin set`: changes the settings of a plugin.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CHANGES, PLUGINS, data, get};
use crate::GROUP;
use crate::plugin::model::{Plugin, Provider};
use mcpkg_base::error::{Code, Error, Result, nearest};
use mcpkg_core::consent::approvable::{Approvable, Askable};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::plugins::{self, ToolRow};

/// Change a plugin
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Set {
    /// Name of the plugin
    #[arg(add = PLUGINS)]
    name: String,
    /// Whether to trust the plugin's own descriptions of its tools, such as whether a tool is read-only
    #[arg(long, value_name = "BOOL")]
    #[serde(default)]
    trust_annotations: Option<bool>,
    /// Also allow addresses that are not public
    #[arg(long, conflicts_with = "public")]
    #[serde(default)]
    private: bool,
    /// Allow public addresses only
    #[arg(long)]
    #[serde(default)]
    public: bool,
    /// Timeout in seconds, for the start and for each call (at most 600)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=600))]
    #[serde(default)]
    timeout: Option<u32>,
    /// Seconds without a call before mcpkg ends the program (at most 86400)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    #[serde(default)]
    idle: Option<u32>,
    /// Read-only tool whose results mcpkg suggests as argument values
    #[arg(long, value_name = "TOOL", requires = "value")]
    #[serde(default)]
    provider: Option<String>,
    /// Path of the list in the --provider tool's result, such as data.items; `.` is the whole result [default: .]
    #[arg(long, value_name = "PATH", requires = "provider")]
    #[serde(default)]
    items: Option<String>,
    /// Field of each element to use as the value
    #[arg(long, value_name = "FIELD", requires = "provider")]
    #[serde(default)]
    value: Option<String>,
    /// Field of each element to show to people
    #[arg(long, value_name = "FIELD", requires = "provider")]
    #[serde(default)]
    label: Option<String>,
    /// Tool to stop using as a provider of lists
    #[arg(long, value_name = "TOOL")]
    #[serde(default)]
    no_provider: Option<String>,
}

impl Operation for Set {
    const TOOL: &'static str = "set_plugin";
    const CLI: &'static [&'static str] = &["plugin", "set"];
    const TITLE: &'static str = "Change a plugin";
    const ABOUT: &'static str = "Set a plugin's trust and timeouts, and choose which of its tools provide lists";
    const HELP: &'static str = "A setting that lets the plugin do more needs your confirmation at a terminal; --yes \
        cannot skip the question. If the plugin's program is running and a changed setting affects it, the program \
        ends. To change the program itself, or to enable or disable the plugin, use `mcpkg mcp set`.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg plugin set memory --timeout 120",
        "mcpkg plugin set memory --trust-annotations true",
        "mcpkg plugin set tracker --provider list_issues --items issues --value id --label title",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let before = get(context, &self.name)?;
        let tools = context.store.read(|db| plugins::tools(db, before.server.id))?;
        // The stored settings may come from someone else's database. Changing one field must not approve the other
        // fields unseen.
        before.require(context)?;
        let after = self.changed(before.clone(), &tools)?;
        let (stored, wanted) = (before.facts()?, after.facts()?);
        if stored == wanted {
            let sentence = format!("The plugin '{}' already has these settings", self.name);
            return Ok(Reply::sentence(sentence, data(context, &before, &tools)?));
        }
        if loosens(&before, &after) {
            after.ask(context)?;
        }
        context.write("plugin.set", &self.name, |db, project, _| {
            let now = plugins::find(db, project.id, &self.name)?;
            if now.is_none_or(|now| now.facts != stored || now.server != before.server) {
                let why =
                    format!("Somebody else changed the plugin '{}' in the meantime; nothing was written", self.name);
                return Err(Error::new(Code::PlanChanged, why).hint("try again"));
            }
            plugins::update(db, before.server.id, &wanted)
        })?;
        after.approve(context)?;
        Ok(Reply::sentence(format!("Changed the plugin '{}'", self.name), data(context, &after, &tools)?))
    }
}

impl Set {
    /// Returns the plugin with the new settings.
    fn changed(&self, mut plugin: Plugin, tools: &[ToolRow]) -> Result<Plugin> {
        plugin.trusted = self.trust_annotations.unwrap_or(plugin.trusted);
        plugin.private = (plugin.private || self.private) && !self.public;
        if let Some(seconds) = self.timeout {
            plugin.timeout = Duration::from_secs(seconds.into());
        }
        if let Some(seconds) = self.idle {
            plugin.idle = Duration::from_secs(seconds.into());
        }
        if let Some(tool) = &self.no_provider
            && plugin.providers.remove(tool).is_none()
        {
            let why = format!("The tool '{}' is not used as a list", tool.escape_debug());
            return Err(Error::new(Code::NotFound, why));
        }
        if let (Some(tool), Some(value)) = (&self.provider, &self.value) {
            let names = || tools.iter().filter(|row| row.listed.is_some()).map(|row| row.name.as_str());
            if !names().any(|name| name == tool) {
                let why = format!("The plugin '{}' has no tool '{}'", self.name, tool.escape_debug());
                let error = Error::new(Code::NotFound, why);
                return Err(match nearest(tool, names()) {
                    Some(near) => error.hint(format!("did you mean '{near}'?")),
                    None => error.hint(format!("`mcpkg command search --group {}` lists its tools", self.name)),
                });
            }
            let items = self.items.clone().unwrap_or_else(|| ".".to_owned());
            let provider = Provider { items, value: value.clone(), label: self.label.clone() };
            plugin.providers.insert(tool.clone(), provider);
        }
        Ok(plugin)
    }
}

/// Returns whether a change gives a plugin more permissions or more trust.
fn loosens(before: &Plugin, after: &Plugin) -> bool {
    let is_more = |(now, before): (bool, bool)| now && !before;
    [(after.trusted, before.trusted), (after.private, before.private)].into_iter().any(is_more)
        || after.providers.keys().any(|tool| !before.providers.contains_key(tool))
}
