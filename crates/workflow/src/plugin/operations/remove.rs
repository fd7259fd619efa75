//! `mcpkg plugin remove`: stops running an MCP server as a plugin.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{CHANGES, PLUGINS, get};
use crate::GROUP;
use mcpkg_base::error::Result;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::plugins;

/// Stop running an MCP server
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Name of the plugin
    #[arg(add = PLUGINS)]
    name: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_plugin";
    const CLI: &'static [&'static str] = &["plugin", "remove"];
    const TITLE: &'static str = "Remove a plugin";
    const ABOUT: &'static str = "Stop running an MCP server, and forget its approval and settings";
    const HELP: &'static str = "If the plugin is running in any mcpkg process, mcpkg interrupts the plugin's current call and ends \
        its program. The MCP server stays in the project and is still deployed to agents. To remove the MCP server too, use `mcpkg \
        mcp remove`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg plugin remove memory"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Destroy;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn question(&self) -> String {
        format!("Remove the plugin '{}', with its approval and settings?", self.name)
    }

    fn look(&self, context: &Context) -> Result<()> {
        get(context, &self.name).map(drop)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let plugin = get(context, &self.name)?;
        context.write("plugin.remove", &self.name, |db, _, _| plugins::delete(db, plugin.server.id))?;
        plugin.withdraw(context)?;
        let sentence = format!("Removed the plugin '{}'", self.name);
        Ok(Reply::sentence(sentence, json!({ "name": self.name, "removed": true }))
            .hint(format!("the MCP server stays in the project; remove it with `mcpkg mcp remove {}`", self.name)))
    }
}
