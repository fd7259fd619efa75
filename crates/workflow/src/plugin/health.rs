//! Checks the state of plugins without starting them.

use super::model::Plugin;
use super::plugins::all;
use super::standing::Health as Standing;
use super::tool::{News, news};
use crate::groups;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::plugins;

const AREA: &str = "plugins";

/// Returns the state of each plugin of the project.
pub fn health(context: &Context) -> Vec<Finding> {
    // An unreadable database is reported by its own health check.
    let plugins = all(context).unwrap_or_default();
    let look = |plugin: &Plugin| {
        look(context, plugin).unwrap_or_else(|error| Finding::new(AREA, Health::Problem, error.public_message()))
    };
    plugins.iter().map(look).collect()
}

fn look(context: &Context, plugin: &Plugin) -> Result<Finding> {
    let name = plugin.name();
    let check = |finding: Finding, why: &str| finding.action(format!("run `mcpkg plugin check {name}` {why}"));
    let (tools, is_taken) =
        context.store.read(|db| Ok((plugins::tools(db, plugin.server.id)?, groups::is_taken(db, name)?)))?;
    if is_taken {
        let what = format!("'{name}' has no commands: its name is already used by another group of commands");
        return Ok(Finding::new(AREA, Health::Problem, what)
            .action(format!("rename the plugin with `mcpkg mcp set {name} --rename OTHER`")));
    }
    if !plugin.server.enabled {
        return Ok(Finding::new(AREA, Health::Note, format!("'{name}' is disabled"))
            .action(format!("enable the plugin with `mcpkg mcp set {name} --enabled true`")));
    }
    if !plugin.is_approved(context)? {
        let what = format!("'{name}' is not approved on this machine in its current form");
        return Ok(check(Finding::new(AREA, Health::Note, what), "at a terminal to approve it"));
    }
    let reason = plugin.standing.reason.as_deref().unwrap_or("the reason is unknown");
    match plugin.standing.health(context.clock.now()) {
        Standing::Failed(_) => {
            let what = format!("'{name}' failed ten times within an hour: {reason}");
            return Ok(check(Finding::new(AREA, Health::Problem, what), "to try it now"));
        }
        Standing::BackingOff(_) => {
            let what = format!("'{name}' failed recently: {reason}");
            return Ok(check(Finding::new(AREA, Health::Problem, what), "to try it now"));
        }
        Standing::Well => {}
    }
    let changed = tools.iter().filter(|row| news(row) != News::Same).count();
    if changed > 0 {
        let what = format!("{} of '{name}' changed since a person last approved them", plural::count(changed, "tool"));
        return Ok(check(Finding::new(AREA, Health::Note, what), "at a terminal to see what changed"));
    }
    Ok(Finding::new(AREA, Health::Ok, format!("'{name}' has {}", plural::count(tools.len(), "tool"))))
}
