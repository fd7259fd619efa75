//! Merges an import into a project: compares each item with the stored one, then writes the differences.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::answer::text;
use crate::item::Item;
use crate::item::server;
use crate::item::server::Server;
use crate::item::{Origin, What};
use crate::same::twins;
use crate::same::variants;
use crate::uri::decode;
use mcpkg_agents::commands;
use mcpkg_agents::commands::skill::split_front;
use mcpkg_agents::forms::{self, sections::with_newline, skill};
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::agent_files::{self, New};
use mcpkg_store::items::Ids;
use mcpkg_store::modules::{self, Applies, Row};
use mcpkg_store::projects::Project;
use mcpkg_store::prompts::{self, Prompt};
use mcpkg_store::resources::{self, Key, Resource};
use mcpkg_store::revisions::{Author, Kind};
use mcpkg_store::servers::{self, Definition};
use mcpkg_store::{Db, blobs, search};

/// What an import does with an item.
#[derive(Clone, Debug)]
pub enum Action {
    Create,
    /// The stored item gets the imported version.
    Update(Existing),
    /// Nothing: the project already has this version.
    Unchanged,
    /// The content is equal, but the item's file is now at another path. The file at the former path is a duplicate of it.
    Moved(Uuid),
    /// The stored item differs, for this reason.
    Conflict(&'static str),
}

/// The stored item with an imported item's name or URI.
#[derive(Clone, Debug)]
pub enum Existing {
    Prompt(Box<Prompt>),
    Resource(Box<Resource>),
    /// An item with the same content. Only the scope differs.
    Same(Uuid),
    /// A file that only one agent reads.
    AgentFile,
    Server,
}

impl Action {
    /// Returns the word in output for people and in JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Update(_) => "update",
            Action::Unchanged | Action::Moved(_) => "unchanged",
            Action::Conflict(_) => "conflict",
        }
    }
}

/// What an import has to know about a project.
struct Known<'p> {
    project: &'p Project,
    /// The scopes of its modules, except those that always apply.
    applies: HashMap<String, Applies>,
    /// The modules whose files are now duplicates, with the path of the file that each equals.
    moved: HashMap<String, &'p str>,
    /// The rows that an item of the import already matched.
    claimed: HashSet<(bool, i64)>,
}

impl Known<'_> {
    /// Returns the id of the resource that equals an item, unless an earlier item matched it. When a folder is imported
    /// again, this is the case for most items. It needs only the resource's row, not the content.
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

/// Returns the action for each item. An item that differs is updated if `update` is set; otherwise it is a conflict.
pub fn plan(
    db: &Db<'_>,
    project: &Project,
    items: &[Item],
    same: &[(String, String)],
    update: bool,
) -> Result<Vec<Action>> {
    let rows = modules::all(db, project.id)?;
    let same: HashMap<&str, &str> = same.iter().map(|(path, other)| (path.as_str(), other.as_str())).collect();
    let moved = |row: &Row| Some((row.item.clone(), *same.get(row.path.as_deref()?)?));
    let moved = if same.is_empty() { HashMap::new() } else { rows.iter().filter_map(moved).collect() };
    let of_some = rows.into_iter().filter(|row| row.applies != Applies::Always);
    let applies = of_some.map(|row| (row.item, row.applies)).collect();
    let mut known = Known { project, applies, moved, claimed: HashSet::new() };
    items.iter().map(|item| action(db, item, update, &mut known)).collect()
}

fn action(db: &Db<'_>, item: &Item, update: bool, known: &mut Known<'_>) -> Result<Action> {
    let name = &item.entry.name;
    let project = known.project.id;
    if let Some(uuid) = known.has(db, item)? {
        return Ok(known.is_there(item, uuid));
    }
    let (existing, uuid, id, content, same) = match &item.entry.what {
        What::Prompt(attributes) => {
            let Some(prompt) = prompts::find(db, project, name)? else {
                return Ok(Action::Create);
            };
            let same = prompt.attributes == *attributes;
            let (uuid, id, content) = (prompt.uuid, prompt.id, (prompt.blob, prompt.sha256));
            (Existing::Prompt(prompt.into()), uuid, id, content, same)
        }
        What::Resource(attributes) => {
            let by_name = resources::find(db, project, Key::Name(name))?;
            let by_uri = match &by_name {
                Some(resource) if resource.attributes.uri == attributes.uri => None,
                _ => resources::find(db, project, Key::Uri(&attributes.uri))?,
            };
            let resource = match (by_name, by_uri) {
                (None, None) => {
                    let is_known = rule_of(db, item, known)?.is_some();
                    return Ok(if is_known { Action::Unchanged } else { Action::Create });
                }
                (Some(one), Some(other)) if one.id != other.id => {
                    return Ok(Action::Conflict("its name is used by one resource, and its URI by another"));
                }
                (Some(resource), _) | (None, Some(resource)) => resource,
            };
            let same = resource.name == *name && resource.attributes == *attributes;
            let (uuid, id, content) = (resource.uuid, resource.id, (resource.blob, resource.sha256));
            (Existing::Resource(resource.into()), uuid, id, content, same)
        }
        What::Server => {
            let Some(server) = servers::find(db, project, name)? else { return Ok(Action::Create) };
            let (_, content) = server::of(&server.into())?;
            return Ok(match (content == item.content, update) {
                (true, _) => Action::Unchanged,
                (false, true) => Action::Update(Existing::Server),
                (false, false) => Action::Conflict("it differs"),
            });
        }
        What::AgentFile { holds, executable } => {
            let Some(file) = agent_files::find(db, project, name)? else { return Ok(Action::Create) };
            let same = file.kind == *holds
                && file.executable == *executable
                && item.entry.origin.agent.as_deref() == Some(file.agent.as_str())
                && blobs::find(db, &item.content)? == Some(file.blob);
            return Ok(match (same, update) {
                (true, _) => Action::Unchanged,
                (false, true) => Action::Update(Existing::AgentFile),
                (false, false) => Action::Conflict("it differs"),
            });
        }
    };
    if !known.claimed.insert((item.entry.what.is_prompt(), id)) {
        return Ok(Action::Conflict("two files would change the same resource"));
    }
    let (blob, sha256) = content;
    let equal = item.content.sha256() == sha256;
    let is_whole = same && equal;
    let is_same = is_whole || is_written_for_agents(db, item, &existing, blob, equal)?;
    if is_same && known.applies_alike(item, uuid) {
        return Ok(if is_whole { known.is_there(item, uuid) } else { Action::Unchanged });
    }
    Ok(match (update, is_same) {
        (true, true) => Action::Update(Existing::Same(uuid)),
        (true, false) => Action::Update(existing),
        (false, true) => Action::Conflict("it applies to different files or at different times"),
        (false, false) => Action::Conflict("it differs"),
    })
}

/// Returns whether an item is what a deploy writes from the stored item for some agent.
fn is_written_for_agents(db: &Db<'_>, item: &Item, existing: &Existing, blob: i64, equal: bool) -> Result<bool> {
    match (&item.entry.what, existing) {
        (What::Prompt(attributes), Existing::Prompt(prompt)) => {
            let before = blobs::content(db, blob)?;
            let now = text(item.content.bytes()?.into_owned())?;
            let Ok(file) = commands::source(&item.entry.name, attributes, &now) else { return Ok(false) };
            Ok(twins::forms(&prompt.name, &prompt.attributes, &before).contains(&file))
        }
        (What::Resource(attributes), Existing::Resource(resource)) => {
            let is_named_by_uri = ["skill://", "instructions://", "subagent://"]
                .iter()
                .any(|scheme| attributes.uri.starts_with(scheme) && resource.attributes.uri == attributes.uri);
            let is_whole = equal
                || (item.entry.origin.path.is_none() && is_text_of(db, item, blob)?)
                || is_subagent_of(db, item, resource)?
                || is_skill_of(db, item, resource)?;
            Ok(is_named_by_uri && is_whole && resource.attributes.executable == attributes.executable)
        }
        _ => Ok(false),
    }
}

/// Returns whether a file is what a deploy writes from the stored subagent for its agent.
fn is_subagent_of(db: &Db<'_>, item: &Item, resource: &Resource) -> Result<bool> {
    let Some(name) = resource.attributes.uri.strip_prefix("subagent://") else { return Ok(false) };
    let agent = item.entry.origin.agent.as_deref().unwrap_or_default();
    let (own, file) = (blobs::get(db, resource.blob)?, item.content.bytes()?);
    Ok(variants::is_form_of(name, resource.attributes.description.as_deref(), &own, agent, &file))
}

/// Returns whether a SKILL.md is what a deploy writes from the stored one.
fn is_skill_of(db: &Db<'_>, item: &Item, resource: &Resource) -> Result<bool> {
    let uri = &resource.attributes.uri;
    if !uri.starts_with("skill://") || !uri.ends_with("/SKILL.md") {
        return Ok(false);
    }
    let (own, file) = (blobs::get(db, resource.blob)?, item.content.bytes()?);
    Ok(skill::mended(&own).is_some_and(|mended| *mended == *file))
}

/// Finds the instructions from which a deploy wrote this rule: same file name, text and scope.
fn rule_of(db: &Db<'_>, item: &Item, known: &Known<'_>) -> Result<Option<Resource>> {
    let Some(uri) = item.entry.what.uri().filter(|_| item.entry.origin.path.is_some()) else { return Ok(None) };
    let Some(name) = uri.strip_prefix("instructions://").filter(|name| forms::stem(name) != *name) else {
        return Ok(None);
    };
    let own = format!("instructions://{}", forms::stem(name));
    let Some(resource) = resources::find(db, known.project.id, Key::Uri(&own))? else { return Ok(None) };
    let (before, now) = (blobs::get(db, resource.blob)?, item.content.bytes()?);
    let same_text = with_newline(split_front(&before).1) == with_newline(split_front(&now).1);
    let applies = known.applies.get(&format!("resource:{}", resource.uuid)).unwrap_or(&Applies::Always);
    Ok((same_text && variants::apply_alike(applies, &item.entry.origin.applies)).then_some(resource))
}

/// Returns whether a text equals the stored one without its front matter, as in a file with several sections.
fn is_text_of(db: &Db<'_>, item: &Item, blob: i64) -> Result<bool> {
    let (before, now) = (blobs::get(db, blob)?, item.content.bytes()?);
    Ok(with_newline(split_front(&before).1) == with_newline(&now))
}

/// Returns the key of an item's module row.
pub fn module(what: &What, uuid: Uuid) -> String {
    match what {
        What::Prompt(_) => format!("prompt:{uuid}"),
        What::Resource(attributes) => match skill_of(&attributes.uri) {
            Some(skill) => format!("skill:{skill}"),
            None => format!("resource:{uuid}"),
        },
        What::AgentFile { .. } | What::Server => format!("{}:{uuid}", what.word()),
    }
}

/// Returns the name of the skill that a URI belongs to.
fn skill_of(uri: &str) -> Option<String> {
    let path = decode(uri.strip_prefix("skill://")?)?;
    path.split_once('/').map(|(name, _)| name.to_owned())
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
            let mut told = item.data();
            told["reason"] = (*why).into();
            told
        })
        .collect();
    let message = format!("The import would change existing items; nothing was imported:\n  {}", named.join("\n  "));
    Err(Error::new(Code::ImportConflict, message).with_details(serde_json::json!({ "conflicts": details })).hint(
        "`--update` replaces these items and keeps their old versions as revisions; `--dry-run` shows what would \
            happen",
    ))
}

/// The number of items that are written between two calls of `written`.
const BATCH: usize = 64;

/// Carries out the plan. Calls `written` regularly with the number of items so far; an error from it stops the import.
/// `indexed` contains the keys of words that were indexed ahead, by the items' indexes.
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
    // Write items without a reserved key first. Each gets the next free key, which must not be one reserved for a later item.
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
        // Somebody else wrote the item in the meantime, so drop the words that were indexed ahead.
        let kind = if item.entry.what.is_prompt() { Kind::Prompt } else { Kind::Resource };
        search::unindex(db, kind, key)?;
    }
    let ids = || Ids { uuid: clock.uuid(), indexed };
    let name = item.entry.name.clone();
    let uuid = match (item.entry.what.clone(), action.clone()) {
        (What::Server, Action::Create | Action::Update(Existing::Server)) => {
            let before = servers::find(db, project.id, &name)?;
            put_server(db, project, clock, before, server::read(&item.entry, &item.content)?, author.now)?;
            return Ok(());
        }
        (What::AgentFile { holds, executable }, Action::Create | Action::Update(Existing::AgentFile)) => {
            let agent = item.entry.origin.agent.as_deref().unwrap_or_default();
            let new = New { path: &name, kind: holds, agent, executable };
            agent_files::put(db, project.id, new, &item.content, author.now)?;
            return Ok(());
        }
        (What::Prompt(attributes), Action::Create) => {
            let content = text(item.content.bytes()?.into_owned())?;
            prompts::insert(db, author, project, ids(), &name, attributes, &content)?.uuid
        }
        (What::Prompt(attributes), Action::Update(Existing::Prompt(prompt))) => {
            let content = text(item.content.bytes()?.into_owned())?;
            prompts::update(db, author, project, Prompt { attributes, ..*prompt }, "update", &content)?.uuid
        }
        (What::Resource(attributes), Action::Create) => {
            resources::insert(db, author, project, ids(), &name, attributes, &item.content)?.uuid
        }
        (What::Resource(attributes), Action::Update(Existing::Resource(resource))) => {
            let resource = Resource { name, attributes, ..*resource };
            resources::update(db, author, project, resource, "update", Some(&item.content))?.uuid
        }
        (_, Action::Update(Existing::Same(uuid)) | Action::Moved(uuid)) => uuid,
        (_, Action::Unchanged) => return Ok(()),
        (_, Action::Conflict(_) | Action::Update(_)) => {
            return Err(Error::internal("an item with a conflict was about to be written"));
        }
    };
    let module = module(&item.entry.what, uuid);
    if let Some(row) = say(db, project, module.clone(), &item.entry.origin, rows.get(&module))? {
        rows.insert(module, row);
    }
    Ok(())
}

/// Creates a server, or gives `before` the definition of `server`. Others may have brought the definition, so a server that
/// is new or runs something else is disabled until a person has looked at it. Fails with `E_ALREADY_EXISTS` if the name is
/// taken.
pub fn put_server(
    db: &Db<'_>,
    project: &Project,
    clock: &Clock,
    before: Option<servers::Server>,
    server: Server,
    now: Millis,
) -> Result<Uuid> {
    let Server { name, definition, origin, .. } = server;
    let Some(before) = before else {
        return Ok(servers::insert(db, project, clock.uuid(), &name, definition, origin, false, now)?.uuid);
    };
    let enabled = stays_on(&before, &definition);
    let after = servers::Server { name, definition, origin, enabled, ..before.clone() };
    Ok(servers::update(db, project, &before, after, now)?.uuid)
}

/// Returns whether a server stays enabled with a new definition. It does only if nothing but the description changes.
pub fn stays_on(before: &servers::Server, definition: &Definition) -> bool {
    let described = Definition { description: before.definition.description.clone(), ..definition.clone() };
    before.enabled && described == before.definition
}

/// Stores an item's origin in its module row; tags, targets and the enabled flag stay the same. `known` is the current row.
/// Returns the new row if it changed.
pub fn say(db: &Db<'_>, project: &Project, item: String, origin: &Origin, known: Option<&Row>) -> Result<Option<Row>> {
    if known.is_none() && origin.is_empty() {
        return Ok(None);
    }
    let before = known.cloned().unwrap_or_else(|| Row { item, enabled: true, ..Row::default() });
    let Origin { applies, agent, path } = origin.clone();
    let row = match origin.is_empty() {
        // An item without an origin does not come from a file, so keep the recorded one.
        true => Row { applies, ..before.clone() },
        false => Row { applies, agent, path, ..before.clone() },
    };
    if known.is_some() && row == before {
        return Ok(None);
    }
    modules::put(db, project.id, &row)?;
    Ok(Some(row))
}
