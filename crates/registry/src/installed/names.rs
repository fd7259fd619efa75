//! Assigns MCP tool names to the actions of installed tools.

use crate::package::{Name, longer_mcp_name, mcp_name};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::tools::names;

/// Assigns a name to an action of a tool and returns it; `None` is the main action. Once assigned, a name never
/// changes its meaning.
pub fn give(db: &Db<'_>, tool: &Name, action: Option<&str>) -> Result<Option<String>> {
    let wanted = [mcp_name(tool, action), longer_mcp_name(tool, action)];
    names::give(db, tool.as_str(), action.unwrap_or_default(), &wanted)
}

/// Returns the MCP names of a tool's actions; actions without a name are skipped.
pub fn of(db: &Db<'_>, tool: &str, actions: &[Option<&str>]) -> Result<Vec<String>> {
    let found = actions.iter().map(|action| names::of(db, tool, action.unwrap_or_default()));
    Ok(found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
