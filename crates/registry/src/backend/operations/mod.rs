//! The commands for registries: `mcpkg registry`, and those of `mcpkg tool` that query or change registries.

mod add;
mod index;
mod info;
mod list;
mod publish;
mod remove;
mod search;
mod show;
mod yank;

use serde_json::{Value, json};

use crate::backend::approval::Use;
use crate::backend::known::Known;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Changes, Context, Entry, Names};
use mcpkg_store::tools::registries::{self, LOCAL};
use mcpkg_store::tools::{installs, listings};

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[
    Entry::of::<search::Search>(),
    Entry::of::<info::Info>(),
    Entry::of::<publish::Publish>(),
    Entry::of::<yank::YankVersion>(),
    Entry::of::<yank::Unyank>(),
    Entry::of::<add::Add>(),
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<index::Index>(),
    Entry::of::<remove::Remove>(),
];

/// No operation in this module changes a list that clients see.
const CHANGES: Changes = Changes::NO_LIST;

/// The names of all registries, including this database, for shell completion.
const REGISTRIES: Names = Names::Stored(|typed| {
    let rows = registries::list(typed.db)?;
    Ok(typed.matching([LOCAL.to_owned()].into_iter().chain(rows.into_iter().map(|row| row.place.name))))
});

/// The names of the added registries, for shell completion.
const ADDED: Names =
    Names::Stored(|typed| Ok(typed.matching(registries::list(typed.db)?.into_iter().map(|row| row.place.name))));

/// The names of installed tools, and of the tools in this database's search index, for shell completion.
const TOOLS: Names = Names::Stored(|typed| {
    let mut names = listings::names(typed.db, typed.prefix, typed.limit)?;
    names.extend(installs::names(typed.db)?);
    names.sort_unstable();
    names.dedup();
    Ok(typed.matching(names))
});

/// Returns a registry as JSON.
fn data(context: &Context, known: &Known) -> Result<Value> {
    let Some(place) = &known.place else {
        return Ok(json!({ "name": LOCAL, "kind": LOCAL, "priority": known.priority(), "approved": true }));
    };
    let mut data = json!({
        "name": place.name,
        "kind": place.kind.word(),
        "location": place.location,
        "priority": place.priority,
        "approved": Use(place).is_approved(context)?,
    });
    if let Some(token) = &place.token {
        data["token"] = json!(token);
    }
    if let Some(added_at) = known.added_at {
        data["added_at"] = json!(rfc3339(added_at));
    }
    Ok(data)
}
