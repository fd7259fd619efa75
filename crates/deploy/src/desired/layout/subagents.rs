//! Places subagents in each target's own format.

use std::path::Path;

use super::files::{of_kind, path_in};
use crate::desired::builder::Builder;
use crate::desired::left_out::Reason;
use crate::desired::output::{Form, part};
use crate::module::{Kind, Module};
use crate::targets::Target;
use mcpkg_agents::agents::places::Subagents;
use mcpkg_agents::forms::subagent::{self, Subagent, SubagentForm};
use mcpkg_base::error::Result;

/// Adds a target's subagents below the deploy root.
pub(super) fn for_project(builder: &mut Builder, modules: &[Module], target: Target, root: &Path) -> Result<()> {
    for module in of_kind(modules, Kind::Subagent, target) {
        match target.facts().subagents {
            Some(places) => add(builder, module, target, places, &root.join(places.project))?,
            None => builder.leave_out(module, target, Reason::NoSubagents),
        }
    }
    Ok(())
}

/// Adds a target's subagents in its own folder.
pub(super) fn for_user(builder: &mut Builder, modules: &[Module], target: Target, own: &Path) -> Result<()> {
    let places = target.facts().subagents.and_then(|places| Some((places, places.user?)));
    for module in of_kind(modules, Kind::Subagent, target) {
        match places {
            Some((places, folder)) => add(builder, module, target, places, &own.join(folder))?,
            None if target.facts().subagents.is_none() => builder.leave_out(module, target, Reason::NoSubagents),
            None => builder.leave_out(module, target, Reason::NotForTheUser),
        }
    }
    Ok(())
}

fn add(builder: &mut Builder, module: &Module, target: Target, places: Subagents, folder: &Path) -> Result<()> {
    let Some(file) = module.files.first() else { return Ok(()) };
    let path = path_in(places.project, places.ending, module, target);
    let title = target.facts().title;
    let is_toml = module.about.path.as_deref().is_some_and(|path| path.ends_with(".toml"));
    let subagent = Subagent::of(module.name(), module.about.description.as_deref(), is_toml, &file.bytes);
    let is_plain = module.about.agent.is_none() && places.takes_plain && subagent.is_in(&places.form);
    if module.about.is_of(target) || is_plain {
        builder.root(target, folder, false);
        return builder.copy(target, folder, &path, module, file);
    }
    let written = match subagent.write(&places.form) {
        Ok(written) => written,
        Err(reason) => {
            builder.leave_out(module, target, reason.into());
            return Ok(());
        }
    };
    let part = part(module, file);
    match places.form {
        SubagentForm::Markdown { .. } if subagent.text().is_some() => {
            let text = subagent.text().unwrap_or_default();
            let bytes = format!("{}\n{text}{}", written.head, if text.ends_with('\n') { "" } else { "\n" });
            builder.add(&[target], folder, &path, Form::OfToml, vec![part], bytes.into_bytes().into(), false)?;
        }
        SubagentForm::Markdown { .. } => builder.rule(&[target], folder, &path, module, &written.head)?,
        SubagentForm::Toml => {
            let Ok(body) = subagent.text().map_or_else(|| std::str::from_utf8(part.body()), Ok) else {
                builder.leave_out(module, target, Reason::NotText);
                return Ok(());
            };
            let bytes = subagent::toml(&written.head, body);
            builder.add(&[target], folder, &path, Form::Toml, vec![part], bytes.into(), false)?;
        }
    }
    builder.root(target, folder, false);
    if let Some(lost) = written.lost {
        builder.remark(module, target, format!("written for {title}, {lost}"));
    }
    if !subagent.others().is_empty() {
        let keys: Vec<String> = subagent.others().iter().map(|key| format!("`{key}`")).collect();
        let said = format!("only the agent it was written for receives {}", keys.join(", "));
        builder.remark(module, target, said);
    }
    Ok(())
}
