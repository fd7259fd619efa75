//! `mcpkg plugin check`: starts plugins, and shows which of their tools have changed since they were approved.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CHANGES, PLUGINS, Tried, get, left_out, try_out};
use crate::GROUP;
use crate::plugin::difference::Difference;
use crate::plugin::model::Plugin;
use crate::plugin::plugins::all;
use crate::plugin::supervise;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::plural;
use mcpkg_core::consent::approvable::Askable;
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::plugins;

/// Start plugins, and show which of their tools have changed
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Check {
    /// Name of the plugin [default: all enabled plugins]
    #[arg(add = PLUGINS)]
    name: Option<String>,
    /// Show changes without applying them; exit with status 3 if there are changes
    #[arg(long)]
    #[serde(default)]
    check: bool,
}

impl Operation for Check {
    const TOOL: &'static str = "check_plugin";
    const CLI: &'static [&'static str] = &["plugin", "check"];
    const TITLE: &'static str = "Check a plugin";
    const ABOUT: &'static str = "Start a plugin and show which tools changed since your last approval";
    const HELP: &'static str = "Each line of the output begins with a mark: + for a new tool, - for a removed tool, ~ for a changed \
        description. At a terminal, mcpkg asks whether to accept the changes. Until you accept the changes, mcpkg trusts nothing that \
        the plugin says about the changed tools. Without a terminal, or with --check, mcpkg exits with status 3 if a tool changed. If \
        mcpkg has paused a plugin because the plugin failed too often, checking the plugin retries it at once.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg plugin check memory", "mcpkg plugin check --check"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if let Some(name) = &self.name {
            return Ok(self.look(context, &get(context, name)?)?.reply(context));
        }
        let mut replies = Vec::new();
        for plugin in all(context)?.into_iter().filter(|plugin| plugin.server.enabled) {
            context.unless_cancelled()?;
            replies.push(match self.look(context, &plugin) {
                Ok(looked) => looked.reply(context),
                Err(error) => failed(&plugin, &error),
            });
        }
        Ok(together(replies))
    }
}

struct CheckResult {
    plugin: Plugin,
    tried: Tried,
    difference: Difference,
    is_taken_over: bool,
}

impl Check {
    fn look(&self, context: &Context, plugin: &Plugin) -> Result<CheckResult> {
        plugin.require(context)?;
        let seen = context.store.read(|db| plugins::tools(db, plugin.server.id))?;
        let tried = try_out(context, plugin)?;
        let difference = Difference::between(&seen, &tried.listing.tools)?;
        let mut looked = CheckResult { plugin: plugin.clone(), tried, difference, is_taken_over: false };
        if self.check {
            return Ok(looked);
        }
        supervise::keeping(context, plugin).tools(&looked.tried.listing)?;
        context.store.write(|db| plugins::set_failures(db, plugin.server.id, "[]", None))?;
        if !looked.difference.is_empty() && context.confirmation == Confirmation::Ask {
            let question = format!("Accept the current tools of the plugin '{}'?", plugin.name());
            (context.ask)(Body::lines(looked.difference.lines(plugin)), &question)?;
            let shown = &looked.tried.listing.tools;
            context.write("plugin.check", plugin.name(), |db, _, author| {
                // Store the tools that the person saw, because the plugin may have listed other tools since then.
                plugins::set_listed(db, plugin.server.id, shown, author.now)?;
                plugins::accept(db, plugin.server.id)
            })?;
            looked.is_taken_over = true;
        }
        Ok(looked)
    }
}

impl CheckResult {
    fn reply(&self, context: &Context) -> Reply {
        let Self { plugin, tried, difference, is_taken_over } = self;
        let name = plugin.name();
        let tools = plural::count(tried.listing.tools.len(), "tool");
        let mut data = difference.data();
        (data["name"], data["tools"]) = (json!(name), json!(tried.listing.tools.len()));
        (data["era"], data["taken_over"]) = (json!(tried.era.word()), json!(is_taken_over));
        let sentence = match (difference.is_empty(), is_taken_over) {
            (true, _) => format!("The plugin '{name}' lists {tools}, as before"),
            (false, true) => format!("The plugin '{name}' lists {tools}; accepted the changes"),
            (false, false) => {
                format!("The plugin '{name}' lists {tools}; some of them changed since a person last approved them")
            }
        };
        let body = match *is_taken_over || difference.is_empty() {
            true => Body::Sentence(sentence),
            false => Body::Several(vec![Body::lines(difference.lines(plugin)), Body::Sentence(sentence)]),
        };
        let reply = Reply { differs: !difference.is_empty() && !is_taken_over, ..Reply::new(body, data) };
        let reply = reply.warn(left_out(&tried.listing));
        match reply.differs && context.confirmation != Confirmation::Ask {
            true => reply.hint(format!("accept the changes with `mcpkg plugin check {name}` at a terminal")),
            false => reply,
        }
    }
}

/// Returns the report about a plugin that could not be checked. The other plugins are still checked.
fn failed(plugin: &Plugin, error: &Error) -> Reply {
    let data =
        json!({ "name": plugin.name(), "error": { "code": error.code().name(), "message": error.public_message() } });
    let mut reply = Reply::sentence(error.public_message().to_owned(), data);
    reply.hints = error.hints().to_vec();
    Reply { failed: true, ..reply }
}

/// Combines the reports about several plugins into one.
fn together(replies: Vec<Reply>) -> Reply {
    if replies.is_empty() {
        return Reply::sentence("No plugins are enabled", json!({ "plugins": [] }));
    }
    let (mut bodies, mut data): (Vec<Body>, Vec<Value>) = Default::default();
    let mut all = Reply::new(Body::Several(Vec::new()), Value::Null);
    for reply in replies {
        bodies.push(reply.body);
        data.push(reply.data);
        all.hints.extend(reply.hints);
        all.warnings.extend(reply.warnings);
        all.differs |= reply.differs;
        all.failed |= reply.failed;
    }
    Reply { body: Body::Several(bodies), data: json!({ "plugins": data }), ..all }
}
