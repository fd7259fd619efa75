//! Plans the import of toolsets from Enact's `mcp.json`, and of the active toolset.

use super::plan::{Follow, LeftOut, Plan};
use super::tools_file::File;
use crate::installed::toolsets::check_name;
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::tools::installs::{self, Scope};
use mcpkg_store::tools::toolsets::{self, Toolset};

struct Stored {
    sets: Vec<(Toolset, Vec<String>)>,
    active: Option<Toolset>,
    followed: Option<String>,
    installed: Vec<String>,
}

impl Stored {
    fn read(context: &Context) -> Result<Self> {
        context.store.read(|db| {
            let sets = toolsets::list(db)?.into_iter().map(|set| {
                let tools = toolsets::tools(db, set.id)?;
                Ok((set, tools))
            });
            let installed = installs::of_scope(db, &Scope::Global)?.into_iter().map(|install| install.name);
            Ok(Self {
                sets: sets.collect::<Result<_>>()?,
                active: toolsets::active(db)?,
                followed: toolsets::followed(db)?,
                installed: installed.collect(),
            })
        })
    }

    fn tools(&self, name: &str) -> Option<&[String]> {
        self.sets.iter().find(|(set, _)| set.name == name).map(|(_, tools)| tools.as_slice())
    }

    /// Returns the tools that a toolset will have after the plan is written, without the changes that a person has
    /// to approve.
    fn after(&self, name: &str, plan: &Plan) -> Vec<String> {
        if let Some(tools) = plan.toolsets.get(name) {
            return tools.clone();
        }
        let taken_out = plan.taken_out.get(name);
        let stays = |tool: &&String| !taken_out.is_some_and(|out| out.contains(tool));
        self.tools(name).unwrap_or_default().iter().filter(stays).cloned().collect()
    }
}

/// Plans the toolsets of a file. New toolsets are imported. An existing toolset loses the tools that the file does
/// not list; tools that the file adds need a person's approval.
pub(super) fn take(context: &Context, (file, from): File, plan: &mut Plan) -> Result<()> {
    let mut stored = Stored::read(context)?;
    let taken = plan.packages.iter().filter(|package| package.scope == Scope::Global);
    stored.installed.extend(taken.map(|package| package.manifest().name.to_string()));
    for (name, tools) in file.toolsets {
        if let Err(error) = check_name(&name) {
            let what = format!("toolset {}", name.escape_debug());
            plan.left.push(LeftOut::new(what, &from, error.message()));
            continue;
        }
        let before = stored.tools(&name);
        let is_there = |tool: &String| stored.installed.contains(tool) || before.is_some_and(|set| set.contains(tool));
        let (tools, missing): (Vec<String>, Vec<String>) = tools.into_iter().partition(is_there);
        plan.left.extend(missing.into_iter().map(|tool| {
            let what = format!("tool {} in toolset {name}", tool.escape_debug());
            LeftOut::new(what, &from, "it is not installed")
        }));
        let Some(before) = before else {
            plan.toolsets.insert(name, tools);
            continue;
        };
        let added: Vec<String> = tools.iter().filter(|tool| !before.contains(tool)).cloned().collect();
        let taken_out: Vec<String> = before.iter().filter(|tool| !tools.contains(tool)).cloned().collect();
        if added.is_empty() && taken_out.is_empty() {
            plan.left.push(LeftOut::new(format!("toolset {name}"), &from, "mcpkg already has it"));
        }
        if !added.is_empty() {
            plan.added.insert(name.clone(), added);
        }
        if !taken_out.is_empty() {
            plan.taken_out.insert(name, taken_out);
        }
    }
    plan.follow = follow(&stored, file.active_toolset.as_deref(), plan);
    activate(&stored, file.active_toolset, &from, plan);
    Ok(())
}

/// Returns the new toolset for the servers that run in place of Enact (`mcpkg serve --as enact`), if it changes.
fn follow(stored: &Stored, wanted: Option<&str>, plan: &Plan) -> Option<Follow> {
    let before = stored.followed.clone();
    if before.as_deref() == wanted {
        return None;
    }
    let widens = match (&before, wanted) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(before), Some(wanted)) => {
            let before = stored.after(before, plan);
            stored.after(wanted, plan).iter().any(|tool| !before.contains(tool))
        }
    };
    Some(Follow { before, wanted: wanted.map(str::to_owned), widens })
}

/// Plans to activate an imported toolset for all agents, if no toolset is active yet. Otherwise reports why the toolset
/// is not activated.
fn activate(stored: &Stored, wanted: Option<String>, from: &str, plan: &mut Plan) {
    let Some(wanted) = wanted else { return };
    let why = match (plan.toolsets.contains_key(&wanted), &stored.active) {
        (true, None) => {
            plan.active = Some(wanted);
            return;
        }
        (_, Some(active)) if active.name == wanted => "mcpkg already has it".to_owned(),
        (_, Some(active)) => format!("agents already see only '{}'; `mcpkg toolset use` changes that", active.name),
        (false, None) if stored.tools(&wanted).is_some() => {
            format!("to show agents only this toolset: `mcpkg toolset use {wanted}`")
        }
        // Report a missing toolset instead of ignoring it: agents keep seeing every tool.
        (false, None) => {
            "the file has no such toolset, or the toolset was not imported; agents see every tool".to_owned()
        }
    };
    plan.left.push(LeftOut::new(format!("active toolset {}", wanted.escape_debug()), from, why));
}
