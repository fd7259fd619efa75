//! Writes the items of a plan, within the caller's transaction.

use std::collections::HashMap;

use super::Action;
use crate::item::Item;
use crate::stored::{self, module, put_origin};
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Error, Result};
use mcpkg_store::items::Ids;
use mcpkg_store::modules::{self, Row};
use mcpkg_store::projects::Project;
use mcpkg_store::revisions::{Author, Kind};
use mcpkg_store::{Db, search};

/// The number of items after which `written` is called again.
const BATCH: usize = 64;

/// Carries out the plan. Calls `written` regularly with the number of items so far; if it returns an error, the import
/// stops. `indexed` maps the index of an item to the key under which [`super::bulk`] indexed the item's words before
/// the transaction.
pub fn apply(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    clock: &Clock,
    (items, actions): (&[&Item], &[Action]),
    indexed: &HashMap<usize, i64>,
    mut written: impl FnMut(usize) -> Result<()>,
) -> Result<()> {
    let rows = modules::all(db, project.id)?.into_iter();
    let mut rows: HashMap<String, Row> = rows.map(|row| (row.item.clone(), row)).collect();
    // Write items without a reserved key first. After an item with a reserved key, the next free key could be one that
    // is reserved for a later item.
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|place| indexed.contains_key(place));
    let mut all = || {
        for (batch, places) in order.chunks(BATCH).enumerate() {
            written(batch * BATCH)?;
            for place in places {
                let one = (items[*place], &actions[*place], indexed.get(place).copied());
                apply_one(db, author, project, clock, one, &mut rows)?;
            }
        }
        written(order.len())
    };
    if items.len() > MANY { search::with_many(db, all) } else { all() }
}

/// The number of items above which the search index gets more memory.
const MANY: usize = 1000;

fn apply_one(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    clock: &Clock,
    (item, action, indexed): (&Item, &Action, Option<i64>),
    rows: &mut HashMap<String, Row>,
) -> Result<()> {
    if let (Some(key), false) = (indexed, matches!(action, Action::Create)) {
        // Somebody else wrote the item after it was planned, so discard the words that were indexed before the
        // transaction.
        let kind = if item.entry.what.is_prompt() { Kind::Prompt } else { Kind::Resource };
        search::unindex(db, kind, key)?;
    }
    let before = match action {
        Action::Create => None,
        Action::Update(existing) => Some((**existing).clone()),
        Action::Scope(_) | Action::Moved(_) | Action::Unchanged => None,
        Action::Conflict(_) => return Err(Error::internal("an item with a conflict was about to be written")),
    };
    let module = match action {
        Action::Unchanged => None,
        Action::Scope(uuid) | Action::Moved(uuid) => Some(module(&item.entry.what, *uuid)),
        _ => {
            let ids = Ids { uuid: clock.uuid(), indexed };
            stored::write(db, author, project, ids, before, &item.entry, &item.content)?.1
        }
    };
    if let Some(module) = module
        && let Some(row) = put_origin(db, project, module.clone(), &item.entry.origin, rows.get(&module))?
    {
        rows.insert(module, row);
    }
    Ok(())
}
