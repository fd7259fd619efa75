//! Stage 5 of an import: compares each item with the stored one, and decides what to do ([`plan`]). Stage 6 carries this out
//! ([`write`]).

pub mod apply;
pub mod bulk;
pub mod servers;
pub mod write;

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::item::{Item, What, server};
use crate::same::{self, Duplicate, Original, variants};
use crate::stored::{self, module};
use mcpkg_agents::commands::skill::split_front;
use mcpkg_agents::forms::{self, sections::with_newline};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::modules::{self, Applies, Row};
use mcpkg_store::projects::Project;
use mcpkg_store::resources::{self, Key};
use mcpkg_store::revisions::{self, Kind};
use mcpkg_store::{Db, agent_files, blobs, prompts};

/// What an import does with an item.
#[derive(Clone, Debug)]
pub enum Action {
    Create,
    /// Replaces the stored item with the imported version.
    Update(Box<stored::Item>),
    /// Changes only the scope of the stored item, because its content is the same.
    Scope(Uuid),
    /// Does nothing: the project already has this version.
    Unchanged,
    /// Changes only the path of the stored item. Its file is now at another path, and the file at the former path is a
    /// duplicate.
    Moved(Uuid),
    /// Stores nothing, because the item conflicts with the stored items, for this reason. One conflict makes the import
    /// fail.
    Conflict(&'static str),
}

impl Action {
    pub const fn word(&self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Update(_) | Action::Scope(_) => "update",
            Action::Unchanged | Action::Moved(_) => "unchanged",
            Action::Conflict(_) => "conflict",
        }
    }

    /// Returns whether the import changes more than the item's path.
    pub const fn is_written(&self) -> bool {
        matches!(self, Action::Create | Action::Update(_) | Action::Scope(_))
    }
}

/// Whether an import replaces stored items that differ from the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// An item that differs is a conflict.
    Never,
    Always,
    /// Like `Always`, but a stored prompt or resource stays if the file has the content of one of its earlier
    /// revisions: then the project's version is newer.
    IfNewer,
}

impl From<bool> for Update {
    fn from(update: bool) -> Self {
        if update { Self::Always } else { Self::Never }
    }
}

/// What an import knows about a project.
struct Known<'p> {
    project: &'p Project,
    /// The scopes of the project's modules, except those that always apply.
    applies: HashMap<String, Applies>,
    /// For each module whose file has become a duplicate, the path of the original.
    moved: HashMap<String, &'p str>,
    /// The rows that an earlier item of the import has already matched.
    claimed: HashSet<(bool, i64)>,
}

impl Known<'_> {
    /// Returns the id of the resource that equals an item, unless an earlier item matched the resource. When a folder is
    /// imported again, there is such a resource for most items. The check only reads the resource's row, and not its content.
    fn has(&mut self, db: &Db<'_>, item: &Item) -> Result<Option<Uuid>> {
        let What::Resource(attributes) = &item.entry.what else { return Ok(None) };
        let (name, sha256) = (&item.entry.name, item.content.sha256());
        let found = resources::unchanged(db, self.project.id, name, attributes, &sha256)?;
        let is_same = |(id, uuid): &(i64, Uuid)| self.applies_alike(item, *uuid) && self.claimed.insert((false, *id));
        Ok(found.filter(is_same).map(|(_, uuid)| uuid))
    }

    /// Returns the action for an item that equals the stored item with this id.
    fn is_there(&self, item: &Item, uuid: Uuid) -> Action {
        let moved = || self.moved.get(&module(&item.entry.what, uuid)).copied();
        let is_moved =
            !self.moved.is_empty() && item.entry.origin.path.is_some() && item.entry.origin.path.as_deref() == moved();
        if is_moved { Action::Moved(uuid) } else { Action::Unchanged }
    }

    /// Returns whether an item has the same scope as the stored item with this id.
    fn applies_alike(&self, item: &Item, uuid: Uuid) -> bool {
        let applies = match self.applies.is_empty() {
            true => None,
            false => self.applies.get(&module(&item.entry.what, uuid)),
        };
        variants::apply_alike(applies.unwrap_or(&Applies::Always), &item.entry.origin.applies)
    }
}

/// Returns the action for each item.
pub fn plan(db: &Db<'_>, project: &Project, items: &[Item], same: &[Duplicate], update: Update) -> Result<Vec<Action>> {
    let rows = modules::all(db, project.id)?;
    let same: HashMap<&str, &str> = same.iter().map(|Duplicate { path, of }| (path.as_str(), of.as_str())).collect();
    let moved = |row: &Row| Some((row.item.clone(), *same.get(row.path.as_deref()?)?));
    let moved = if same.is_empty() { HashMap::new() } else { rows.iter().filter_map(moved).collect() };
    let of_some = rows.into_iter().filter(|row| row.applies != Applies::Always);
    let applies = of_some.map(|row| (row.item, row.applies)).collect();
    let mut known = Known { project, applies, moved, claimed: HashSet::new() };
    items.iter().map(|item| action(db, item, update, &mut known)).collect()
}

fn action(db: &Db<'_>, item: &Item, update: Update, known: &mut Known<'_>) -> Result<Action> {
    let name = &item.entry.name;
    let project = known.project.id;
    if let Some(uuid) = known.has(db, item)? {
        return Ok(known.is_there(item, uuid));
    }
    let differs = |existing: stored::Item, why| match update {
        Update::Never => Action::Conflict(why),
        Update::Always | Update::IfNewer => Action::Update(Box::new(existing)),
    };
    let (existing, uuid, id, (blob, sha256), has_same_attributes) = match &item.entry.what {
        What::Prompt(attributes) => {
            let Some(prompt) = prompts::find(db, project, name)? else { return Ok(Action::Create) };
            let same = prompt.attributes == *attributes;
            let (uuid, id, content) = (prompt.uuid, prompt.id, (prompt.blob, prompt.sha256));
            (stored::Item::Prompt(prompt), uuid, id, content, same)
        }
        What::Resource(attributes) => {
            let by_name = resources::find(db, project, Key::Name(name))?;
            let by_uri = match &by_name {
                Some(resource) if resource.attributes.uri == attributes.uri => None,
                _ => resources::find(db, project, Key::Uri(&attributes.uri))?,
            };
            let resource = match (by_name, by_uri) {
                (None, None) if has_original_rule(db, item, known)? => return Ok(Action::Unchanged),
                (None, None) => return Ok(Action::Create),
                (Some(one), Some(other)) if one.id != other.id => {
                    return Ok(Action::Conflict("its name is used by one resource, and its URI by another"));
                }
                (Some(resource), _) | (None, Some(resource)) => resource,
            };
            let same = resource.name == *name && resource.attributes == *attributes;
            let (uuid, id, content) = (resource.uuid, resource.id, (resource.blob, resource.sha256));
            (stored::Item::Resource(resource), uuid, id, content, same)
        }
        What::Server => {
            let Some(found) = mcpkg_store::servers::find(db, project, name)? else { return Ok(Action::Create) };
            let (_, content) = server::of(&found.clone().into())?;
            let existing = stored::Item::Server(Box::new(found));
            return Ok(if content == item.content { Action::Unchanged } else { differs(existing, DIFFERS) });
        }
        What::AgentFile { holds, executable } => {
            let Some(file) = agent_files::find(db, project, name)? else { return Ok(Action::Create) };
            let same = file.kind == *holds
                && file.executable == *executable
                && item.entry.origin.agent.as_deref() == Some(file.agent.as_str())
                && blobs::find(db, &item.content)? == Some(file.blob);
            return Ok(if same { Action::Unchanged } else { differs(stored::Item::AgentFile(file), DIFFERS) });
        }
    };
    if !known.claimed.insert((item.entry.what.is_prompt(), id)) {
        return Ok(Action::Conflict("two files would change the same resource"));
    }
    let is_whole = has_same_attributes && item.content.sha256() == sha256;
    let original = match &existing {
        stored::Item::Prompt(prompt) => Some(Original::Prompt { name: &prompt.name, attributes: &prompt.attributes }),
        stored::Item::Resource(resource) => Some(Original::Resource(&resource.attributes)),
        stored::Item::AgentFile(_) | stored::Item::Server(_) => None,
    };
    let is_same = is_whole
        || match original {
            Some(original) => same::is_variant(item, &original, || blobs::get(db, blob))?,
            None => false,
        };
    Ok(match (is_same, known.applies_alike(item, uuid), update) {
        (true, true, _) if is_whole => known.is_there(item, uuid),
        (true, true, _) => Action::Unchanged,
        (true, false, Update::Never) => Action::Conflict("it applies to different files or at different times"),
        (true, false, Update::Always | Update::IfNewer) => Action::Scope(uuid),
        (false, _, Update::IfNewer)
            if item.content.sha256() != sha256 && is_outdated(db, project, item, &existing)? =>
        {
            Action::Unchanged
        }
        (false, ..) => differs(existing, DIFFERS),
    })
}

const DIFFERS: &str = "it differs";

/// Returns whether the file has the content of an earlier revision of the stored item.
fn is_outdated(db: &Db<'_>, project: i64, item: &Item, existing: &stored::Item) -> Result<bool> {
    let (kind, name) = match existing {
        stored::Item::Prompt(prompt) => (Kind::Prompt, &prompt.name),
        stored::Item::Resource(resource) => (Kind::Resource, &resource.name),
        stored::Item::AgentFile(_) | stored::Item::Server(_) => return Ok(false),
    };
    let sha256 = item.content.sha256();
    for revision in revisions::history(db, project, kind, name)? {
        if blobs::sha256(db, revision.blob)? == sha256 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether the project has the instructions that a deploy wrote this rule from: same file name, text and scope.
fn has_original_rule(db: &Db<'_>, item: &Item, known: &Known<'_>) -> Result<bool> {
    let Some(uri) = item.entry.what.uri().filter(|_| item.entry.origin.path.is_some()) else { return Ok(false) };
    let Some(name) = uri.strip_prefix("instructions://").filter(|name| forms::stem(name) != *name) else {
        return Ok(false);
    };
    let own = format!("instructions://{}", forms::stem(name));
    let Some(resource) = resources::find(db, known.project.id, Key::Uri(&own))? else { return Ok(false) };
    let (before, now) = (blobs::get(db, resource.blob)?, item.content.bytes()?);
    let same_text = with_newline(split_front(&before).1) == with_newline(split_front(&now).1);
    let applies = known.applies.get(&format!("resource:{}", resource.uuid)).unwrap_or(&Applies::Always);
    Ok(same_text && variants::apply_alike(applies, &item.entry.origin.applies))
}

/// Fails with `E_IMPORT_CONFLICT` if the plan has conflicts, and lists all of them.
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
            let mut data = item.data();
            data["reason"] = (*why).into();
            data
        })
        .collect();
    let message = format!("The import would change existing items; nothing was imported:\n  {}", named.join("\n  "));
    Err(Error::new(Code::ImportConflict, message).with_details(serde_json::json!({ "conflicts": details })).hint(
        "`--update` replaces these items and keeps their old versions as revisions; `--dry-run` shows what would \
            happen",
    ))
}
