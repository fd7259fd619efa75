//! `mcpkg tool uninstall` (`enact__uninstall`): uninstalls a tool.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{CHANGES, TOOLS, checked, named, publisher, schemas, visible};
use crate::GROUP;
use crate::alias;
use crate::package::Wanted;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, Operation, Reply, Shape};
use mcpkg_store::Db;
use mcpkg_store::tools::installs::{self, Install, Scope};

/// Uninstall a globally installed tool.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Uninstall {
    /// Tool name to uninstall
    #[arg(value_name = "TOOL[@VERSION]", add = TOOLS)]
    tool: String,
    /// Uninstall the tool only for the selected project
    #[arg(long)]
    #[serde(skip)]
    for_project: bool,
}

impl Operation for Uninstall {
    const TOOL: &'static str = "enact__uninstall";
    const CLI: &'static [&'static str] = &["tool", "uninstall"];
    const TITLE: &'static str = "Uninstall a tool";
    const ABOUT: &'static str = "Uninstall a globally installed tool.";
    const HELP: &'static str = "Unless you name a version, mcpkg removes all versions of the tool. The MCP name by which agents called \
        the tool stays reserved: mcpkg does not give this name to another tool.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool uninstall alice/utils/weather", "mcpkg tool uninstall alice/utils/weather@1.0.0"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = CHANGES;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(include_str!("schemas/uninstall.json"));
    const STRUCTURED: bool = true;
    type Output = schemas::Uninstalled;

    fn subject(&self) -> String {
        self.tool.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let reference = named(&alias::expanded(context, &self.tool)?, None)?;
        let scope = super::scope(context, self.for_project)?;
        let author = context.author();
        let remove = |db: &Db<'_>| {
            let gone = meant(db, context, &scope, reference.name.as_str(), &reference.version)?;
            publisher::remember_gone(context, &scope, &gone)?;
            let mut mcp_tools = seen(db, &scope, reference.name.as_str())?;
            for install in &gone {
                installs::remove(db, &scope, install.id)?;
            }
            promote(db, &scope, reference.name.as_str())?;
            // Another installed version may still provide some of these names.
            let left = seen(db, &scope, reference.name.as_str())?;
            mcp_tools.retain(|name| !left.contains(name));
            context.event(db, author, None, "tool.uninstall", &self.tool)?;
            Ok((gone, mcp_tools))
        };
        let (gone, mcp_tools) = scope.change(|| context.store.write(remove))?;
        let versions: Vec<&str> = gone.iter().map(|install| install.version.as_str()).collect();
        let message = format!("Uninstalled {}@{}", reference.name, versions.join(", "));
        let data = json!({
            "success": true,
            "message": message,
            "tool": reference.name.as_str(),
            "versions": versions,
            "mcp_tools": mcp_tools,
        });
        Ok(Reply::sentence(message, data))
    }
}

/// Returns the MCP names of the version that agents see in a scope.
fn seen(db: &Db<'_>, scope: &Scope, name: &str) -> Result<Vec<String>> {
    let Some(install) = installs::active(db, scope, name)? else { return Ok(Vec::new()) };
    match checked::manifest(db, &install) {
        Ok(manifest) => checked::mcp_names(db, name, &checked::projected_actions(&manifest)),
        // An unusable package provides no names.
        Err(_) => Ok(Vec::new()),
    }
}

/// Returns the installs that match the requested name and version in a scope.
fn meant(db: &Db<'_>, context: &Context, scope: &Scope, name: &str, version: &Wanted) -> Result<Vec<Install>> {
    let all = installs::of_tool(db, scope, name)?;
    let is_meant = |install: &Install| match version {
        Wanted::Latest => true,
        wanted => install.version.parse().is_ok_and(|version| wanted.choose([&version], true).is_some()),
    };
    let meant: Vec<Install> = all.into_iter().filter(is_meant).collect();
    if !meant.is_empty() {
        return Ok(meant);
    }
    let Some(found) = visible::active(db, &context.audience(), name)? else {
        // Do not suggest a similar name: following it could remove the wrong tool.
        return Err(Error::new(Code::ToolNotFound, format!("Tool '{name}' is not installed"))
            .hint("`mcpkg tool list` lists the installed tools")
            .with_details(json!({ "next_step": "enact__list" })));
    };
    // Only installs in the caller's scope can be removed, so name the scope of the version that was found.
    let whose = Scope::word(&found.scope);
    let what = format!(
        "This version of tool '{name}' is not installed in this scope; {} is installed (scope: {whose})",
        found.version
    );
    Err(Error::new(Code::VersionNotFound, what).hint("`mcpkg tool list` shows each version and its scope"))
}

/// Makes the most recently installed version visible to agents, unless another installed version is visible already.
fn promote(db: &Db<'_>, scope: &Scope, name: &str) -> Result<()> {
    let left = installs::of_tool(db, scope, name)?;
    match left.last() {
        Some(last) if !left.iter().any(|install| install.active) => {
            installs::activate(db, scope, name, &last.version).map(drop)
        }
        _ => Ok(()),
    }
}
