//! What an import does to a project: compare each item with what is there, then write the differences.

use std::collections::HashSet;

use super::item::Item;
use super::manifest::What;
use crate::clock::Clock;
use crate::content::answer::text;
use crate::error::{Code, Error, Result};
use crate::store::projects::Project;
use crate::store::prompts::{self, Prompt};
use crate::store::resources::{self, Key, Resource};
use crate::store::revisions::Author;
use crate::store::{Db, blobs};

/// What happens to an item.
#[derive(Clone, Debug)]
pub enum Action {
    /// It is new.
    Create,
    /// It becomes the new state of what is there.
    Update(Existing),
    /// It is there already.
    Unchanged,
    /// Something else is there, for this reason.
    Conflict(&'static str),
}

/// What is there under an item's name or URI.
#[derive(Clone, Debug)]
pub enum Existing {
    /// A prompt.
    Prompt(Prompt),
    /// A resource.
    Resource(Resource),
}

impl Action {
    /// The word for people and programs.
    pub const fn word(&self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Update(_) => "update",
            Action::Unchanged => "unchanged",
            Action::Conflict(_) => "conflict",
        }
    }
}

/// Returns what happens to each item. With `update` what differs is updated, else it is a conflict.
///
/// # Errors
/// `E_DAMAGED`, `E_FILE_FAILED`, `E_DB_BUSY`, `E_STORAGE`.
pub fn plan(db: &Db<'_>, project: &Project, items: &[Item], update: bool) -> Result<Vec<Action>> {
    let mut claimed = HashSet::new();
    items.iter().map(|item| action(db, project, item, update, &mut claimed)).collect()
}

fn action(
    db: &Db<'_>,
    project: &Project,
    item: &Item,
    update: bool,
    claimed: &mut HashSet<(bool, i64)>,
) -> Result<Action> {
    let name = &item.entry.name;
    let (existing, id, blob, same) = match &item.entry.what {
        What::Prompt(attributes) => {
            let Some(prompt) = prompts::find(db, project.id, name)? else {
                return Ok(Action::Create);
            };
            let same = prompt.attributes == *attributes;
            (Existing::Prompt(prompt.clone()), prompt.id, prompt.blob, same)
        }
        What::Resource(attributes) => {
            let by_name = resources::find(db, project.id, Key::Name(name))?;
            let by_uri = resources::find(db, project.id, Key::Uri(&attributes.uri))?;
            let resource = match (by_name, by_uri) {
                (None, None) => return Ok(Action::Create),
                (Some(one), Some(other)) if one.id != other.id => {
                    return Ok(Action::Conflict("its name is one resource's and its URI another's"));
                }
                (Some(resource), _) | (None, Some(resource)) => resource,
            };
            let same = resource.name == *name && resource.attributes == *attributes;
            (Existing::Resource(resource.clone()), resource.id, resource.blob, same)
        }
    };
    if !claimed.insert((item.entry.what.is_prompt(), id)) {
        return Ok(Action::Conflict("two files would change one resource"));
    }
    if same && blobs::find(db, &item.content)? == Some(blob) {
        return Ok(Action::Unchanged);
    }
    Ok(if update { Action::Update(existing) } else { Action::Conflict("it differs") })
}

/// Returns the failure of a plan with conflicts.
///
/// # Errors
/// `E_IMPORT_CONFLICT` that lists them all.
pub fn refuse_conflicts(items: &[Item], actions: &[Action]) -> Result<()> {
    let conflicts: Vec<_> = items
        .iter()
        .zip(actions)
        .filter_map(|(item, action)| match action {
            Action::Conflict(why) => Some((item, *why)),
            _ => None,
        })
        .collect();
    if conflicts.is_empty() {
        return Ok(());
    }
    let named: Vec<_> = conflicts
        .iter()
        .map(|(item, why)| format!("{} '{}' ({}): {why}", item.entry.what.word(), item.entry.name, item.path))
        .collect();
    let details: Vec<_> = conflicts
        .iter()
        .map(|(item, why)| {
            let mut told = item.data();
            told["reason"] = (*why).into();
            told
        })
        .collect();
    let message = format!("The import would change what is there; nothing was imported:\n  {}", named.join("\n  "));
    Err(Error::new(Code::ImportConflict, message).with_details(serde_json::json!({ "conflicts": details })).hint(
        "`--update` makes what differs as the files are, and keeps revisions; `--dry-run` shows what would happen",
    ))
}

/// Does what was planned.
///
/// # Errors
/// `E_FILE_FAILED` where a file is no longer what it was; `E_READ_ONLY`, `E_DISK_FULL`, `E_DB_BUSY`, `E_STORAGE`.
pub fn apply(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    clock: &Clock,
    items: &[Item],
    actions: Vec<Action>,
) -> Result<()> {
    for (item, action) in items.iter().zip(actions) {
        let name = item.entry.name.clone();
        match (item.entry.what.clone(), action) {
            (What::Prompt(attributes), Action::Create) => {
                let content = text(item.content.bytes()?.into_owned())?;
                prompts::insert(db, author, project, clock.uuid(), &name, attributes, &content)?;
            }
            (What::Prompt(attributes), Action::Update(Existing::Prompt(prompt))) => {
                let content = text(item.content.bytes()?.into_owned())?;
                prompts::update(db, author, project, Prompt { attributes, ..prompt }, "update", &content)?;
            }
            (What::Resource(attributes), Action::Create) => {
                resources::insert(db, author, project, clock.uuid(), &name, attributes, &item.content)?;
            }
            (What::Resource(attributes), Action::Update(Existing::Resource(resource))) => {
                let resource = Resource { name, attributes, ..resource };
                resources::update(db, author, project, resource, "update", Some(&item.content))?;
            }
            (_, Action::Unchanged) => {}
            (_, Action::Conflict(_) | Action::Update(_)) => {
                return Err(Error::internal("a conflict came to be written"));
            }
        }
    }
    Ok(())
}
