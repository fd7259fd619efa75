//! The source of commands that come from plugins. Looking a command up uses the stored lists of tools, and starts no plugin.

use std::path::PathBuf;
use std::sync::Arc;

use super::model::Plugin;
use super::{supervise, tool};
use crate::running::{Answered, Failed, Running, gone};
use crate::source::{Brief, CommandSource};
use crate::spec::{CommandSpec, SourceKind};
use crate::{contracts, groups};
use mcpkg_base::cache::Cache;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::approvable::Askable;
use mcpkg_core::op::Context;
use mcpkg_store::{plugins, projects};

/// The tools of the plugins of the selected project.
#[derive(Clone, Copy, Debug)]
pub struct Plugins;

/// The most recently used commands, by database and validator.
static SPECS: Cache<(PathBuf, String), Arc<Vec<CommandSpec>>> = Cache::new(8);

impl CommandSource for Plugins {
    fn kind(&self) -> SourceKind {
        SourceKind::Plugins
    }

    fn validator(&self, context: &Context) -> Result<String> {
        validator(context)
    }

    fn briefs(&self, context: &Context) -> Result<Vec<Brief>> {
        Ok(specs(context)?.iter().map(Brief::of).collect())
    }

    fn spec(&self, context: &Context, id: &str) -> Result<Option<CommandSpec>> {
        Ok(specs(context)?.iter().find(|spec| spec.id == id).cloned())
    }

    fn run(&self, context: &Context, running: &Running<'_>) -> Result<Answered, Failed> {
        let Running { spec, with, .. } = running;
        let plugin = of_group(context, &spec.group)?.ok_or_else(|| gone(&spec.id))?;
        if running.body.is_some() {
            let why = format!("The command '{}' takes no body", spec.id);
            return Err(Error::new(Code::InvalidArgument, why).into());
        }
        plugin.require(context)?;
        if !plugin.server.enabled {
            let name = plugin.name();
            let why = format!("The plugin '{name}' is disabled");
            return Err(Error::new(Code::PluginUnavailable, why)
                .hint(format!("enable the plugin with `mcpkg mcp set {name} --enabled true`"))
                .into());
        }
        // Refuse a tool that has changed since it was planned and approved. Some changes show only when the plugin runs.
        let is_same = || match self.spec(context, &spec.id)? {
            Some(now) if now.hash() == spec.hash() => Ok(()),
            Some(_) => Err(Error::new(Code::PlanChanged, format!("'{}' was not called: the tool changed", spec.id))
                .hint(format!("`mcpkg plugin check {}` shows what changed", plugin.name()))),
            None => Err(gone(&spec.id)),
        };
        supervise::call(context, &plugin, &spec.name, with, is_same)
    }
}

/// Returns the plugins of the selected project, by name.
pub fn all(context: &Context) -> Result<Vec<Plugin>> {
    let rows = context.store.read(|db| plugins::of_selection(db, &context.selection))?;
    rows.into_iter().map(Plugin::of).collect()
}

fn of_group(context: &Context, group: &str) -> Result<Option<Plugin>> {
    Ok(all(context)?.into_iter().find(|plugin| plugin.name() == group))
}

/// Returns a text that changes whenever a plugin's commands do. The text also says for each plugin whether its name is reserved
/// or is the group of a catalog: such a plugin has no commands.
fn validator(context: &Context) -> Result<String> {
    context.store.read(|db| {
        let Some(project) = projects::resolve(db, &context.selection)? else { return Ok(String::new()) };
        let mut validator = plugins::validator(db, project.id)?;
        for name in plugins::names(db, project.id)? {
            validator.push(if groups::is_taken(db, &name)? { 'x' } else { '.' });
        }
        Ok(validator)
    })
}

fn specs(context: &Context) -> Result<Arc<Vec<CommandSpec>>> {
    SPECS.get_or((context.database().to_owned(), validator(context)?), || {
        let mut specs = Vec::new();
        for plugin in all(context)? {
            let tools = context.store.read(|db| match groups::is_taken(db, plugin.name())? {
                true => Ok(Vec::new()),
                false => plugins::tools(db, plugin.server.id),
            })?;
            for row in &tools {
                let off = (!plugin.server.enabled).then(|| "its plugin is disabled".to_owned());
                let spec = tool::spec(&plugin, row)?;
                specs.extend(spec.map(|spec| CommandSpec { runnable: off.is_none(), why_not: off, ..spec }));
            }
        }
        contracts::complete(&mut specs);
        Ok(Arc::new(specs))
    })
}
