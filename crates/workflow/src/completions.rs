//! Shell completion for arguments that name commands, workflows and drafts.

use super::{operations, tools};
use mcpkg_core::op::{Name, Names};
use mcpkg_store::page::Page;
use mcpkg_store::{drafts, workflows};

/// The built-in command groups. Groups of catalogs and plugins are not completed.
pub const GROUPS: Names = Names::Known(|_| [operations::GROUP, tools::GROUP].map(str::to_owned).into());

pub const IDS: Names = Names::Known(operations::ids);

pub const WORKFLOWS: Names = Names::Stored(|typed| {
    let names = workflows::names(typed.db, typed.selection, typed.prefix, typed.limit)?;
    Ok(names.into_iter().map(Name::from).collect())
});

/// The ids of drafts that no person has decided about yet.
pub const DRAFTS: Names = Names::Stored(|typed| {
    let Some(project) = typed.project()? else { return Ok(Vec::new()) };
    let waiting = drafts::list(typed.db, project.id, true, &Page::all())?.rows;
    let named = waiting.into_iter().map(|draft| Name { name: draft.uuid.to_string(), about: Some(draft.name) });
    Ok(named.filter(|named| named.name.starts_with(typed.prefix)).take(typed.limit).collect())
});
