//! Represents prompts, resources, MCP servers and agent-specific files in one common form, [`Stored`]. It has
//! everything that an export writes about an item.

use std::collections::HashMap;

use uuid::Uuid;

use super::answer::text;
use super::item::{self, Entry, Origin, What, server};
use crate::uri::decode;
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::{Error, Result};
use mcpkg_store::agent_files::{self, AgentFile, New};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::items::Ids;
use mcpkg_store::modules::{self, Applies, Row};
use mcpkg_store::page::Page;
use mcpkg_store::projects::Project;
use mcpkg_store::prompts::{self, Prompt};
use mcpkg_store::resources::{self, Key, Resource};
use mcpkg_store::revisions::Author;
use mcpkg_store::servers::{self, Definition, Server};
use mcpkg_store::{Db, blobs};

#[derive(Clone, Debug)]
pub struct Stored {
    pub item: Item,
    /// The item's name, attributes and origin. For prompts and resources, the origin comes from the modules table.
    pub entry: Entry,
}

/// The database row of an item.
#[derive(Clone, Debug)]
pub enum Item {
    Prompt(Prompt),
    Resource(Resource),
    /// A file that only one agent reads.
    AgentFile(AgentFile),
    /// An MCP server. Its content is not stored, but generated from the row.
    Server(Box<Server>),
}

impl Stored {
    /// Returns the key of the item's content; `None` for a server, whose content is generated.
    pub fn own_blob(&self) -> Option<i64> {
        match &self.item {
            Item::Prompt(prompt) => Some(prompt.blob),
            Item::Resource(resource) => Some(resource.blob),
            Item::AgentFile(file) => Some(file.blob),
            Item::Server(_) => None,
        }
    }

    /// Returns the key of the item's content. For a server, this stores the generated content, so it needs a write
    /// transaction.
    pub fn blob(&self, db: &Db<'_>) -> Result<i64> {
        match (&self.item, self.own_blob()) {
            (Item::Server(server), _) => blobs::put_source(db, &document(server)?),
            (_, Some(blob)) => Ok(blob),
            (_, None) => Err(Error::internal("an item without content")),
        }
    }

    pub fn content(&self, db: &Db<'_>) -> Result<Vec<u8>> {
        match (&self.item, self.own_blob()) {
            (Item::Server(server), _) => Ok(document(server)?.bytes()?.into_owned()),
            (_, Some(blob)) => blobs::get(db, blob),
            (_, None) => Err(Error::internal("an item without content")),
        }
    }

    /// Returns whether the item's content is the blob with this key.
    pub fn holds(&self, db: &Db<'_>, blob: i64) -> Result<bool> {
        match self.own_blob() {
            Some(own) => Ok(own == blob),
            None => Ok(sha256(db, self)? == blobs::sha256(db, blob)?),
        }
    }

    /// Returns the item's permanent key: `prompt:<uuid>`, `resource:<uuid>`, `agent_file:<path>` or
    /// `mcp_server:<uuid>`. Renaming a prompt, resource or server does not change its key.
    pub fn key(&self) -> String {
        match &self.item {
            Item::Prompt(prompt) => format!("prompt:{}", prompt.uuid),
            Item::Resource(resource) => format!("resource:{}", resource.uuid),
            Item::AgentFile(file) => format!("agent_file:{}", file.path),
            Item::Server(server) => format!("mcp_server:{}", server.uuid),
        }
    }

    /// Returns the item without reading the modules table, so a prompt or resource has no origin yet.
    fn bare(item: Item) -> Self {
        let (name, what) = match &item {
            Item::Prompt(prompt) => (prompt.name.clone(), What::Prompt(prompt.attributes.clone())),
            Item::Resource(resource) => (resource.name.clone(), What::Resource(resource.attributes.clone())),
            Item::Server(server) => {
                let servers::Origin { agent, path, .. } = server.origin.clone();
                let origin = Origin { applies: Applies::Always, agent, path };
                return Stored { entry: Entry { name: server.name.clone(), what: What::Server, origin }, item };
            }
            Item::AgentFile(file) => {
                let what = What::AgentFile { holds: file.kind, executable: file.executable };
                let path = Some(file.path.clone());
                let origin = Origin { applies: Applies::Always, agent: Some(file.agent.clone()), path };
                return Stored { entry: Entry { name: file.path.clone(), what, origin }, item };
            }
        };
        Stored { item, entry: Entry { name, what, origin: Origin::default() } }
    }

    /// Adds the origin that the item's row in the modules table records.
    fn with_row(mut self, row: Row) -> Self {
        let Row { applies, agent, path, .. } = row;
        self.entry.origin = Origin { applies, agent, path };
        self
    }

    /// Returns the key of the item's row in the modules table; `None` for servers and agent-specific files, which have
    /// no such row.
    pub fn module(&self) -> Option<String> {
        match &self.item {
            Item::Prompt(prompt) => Some(module(&self.entry.what, prompt.uuid)),
            Item::Resource(resource) => Some(module(&self.entry.what, resource.uuid)),
            Item::AgentFile(_) | Item::Server(_) => None,
        }
    }
}

/// Returns the key of an item's row in the modules table. All files of a skill share one row.
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

/// Returns a project's prompts and resources (each sorted by name), then the agent-specific files (by path), then the
/// MCP servers (by name).
pub fn all(db: &Db<'_>, project: &Project) -> Result<Vec<Stored>> {
    let rows: HashMap<String, Row> =
        modules::all(db, project.id)?.into_iter().map(|row| (row.item.clone(), row)).collect();
    let prompts = prompts::list(db, project.id, &Page::all())?.rows.into_iter().map(Item::Prompt);
    let resources = resources::list(db, project.id, &Page::all())?.rows.into_iter().map(Item::Resource);
    let kept = agent_files::all(db, project.id)?.into_iter().map(Item::AgentFile);
    let servers = servers::all(db, project.id)?.into_iter().map(|server| Item::Server(Box::new(server)));
    let all = prompts.chain(resources).chain(kept).chain(servers).map(Stored::bare);
    // Look rows up by [`module`] and not by [`Stored::key`], because all files of a skill share one row.
    Ok(all
        .map(|stored| match stored.module().and_then(|module| rows.get(&module)) {
            Some(row) => stored.with_row(row.clone()),
            None => stored,
        })
        .collect())
}

/// Returns the item with this permanent key ([`Stored::key`]), if it exists.
pub fn get(db: &Db<'_>, project: &Project, key: &str) -> Result<Option<Stored>> {
    let Some((kind, id)) = key.split_once(':') else { return Ok(None) };
    let item = match (kind, Uuid::parse_str(id)) {
        ("prompt", Ok(uuid)) => prompts::by_uuid(db, project.id, uuid)?.map(Item::Prompt),
        ("resource", Ok(uuid)) => resources::by_uuid(db, project.id, uuid)?.map(Item::Resource),
        ("mcp_server", Ok(uuid)) => {
            let mut servers = servers::all(db, project.id)?.into_iter();
            servers.find(|server| server.uuid == uuid).map(|server| Item::Server(Box::new(server)))
        }
        ("agent_file", _) => agent_files::find(db, project.id, id)?.map(Item::AgentFile),
        _ => None,
    };
    item.map(|item| stored(db, project, item)).transpose()
}

/// Returns the item with the URI or name of `entry`, if it exists.
pub fn find(db: &Db<'_>, project: &Project, entry: &Entry) -> Result<Option<Stored>> {
    let item = match &entry.what {
        What::Prompt(_) => prompts::find(db, project.id, &entry.name)?.map(Item::Prompt),
        What::Resource(attributes) => {
            let by_uri = resources::find(db, project.id, Key::Uri(&attributes.uri))?;
            let found = match by_uri {
                Some(found) => Some(found),
                None => resources::find(db, project.id, Key::Name(&entry.name))?,
            };
            found.map(Item::Resource)
        }
        What::AgentFile { .. } => agent_files::find(db, project.id, &entry.name)?.map(Item::AgentFile),
        What::Server => servers::find(db, project.id, &entry.name)?.map(|server| Item::Server(Box::new(server))),
    };
    item.map(|item| stored(db, project, item)).transpose()
}

/// Returns an item with the origin from the modules table.
fn stored(db: &Db<'_>, project: &Project, item: Item) -> Result<Stored> {
    let stored = Stored::bare(item);
    let row = stored.module().map(|module| modules::get(db, project.id, &module)).transpose()?.flatten();
    Ok(match row {
        Some(row) => stored.with_row(row),
        None => stored,
    })
}

/// Fails if the content is not valid for the entry's kind of item.
pub fn check(entry: &Entry, content: &NewContent) -> Result<()> {
    item::check(entry, content)?;
    if entry.what == What::Server { server::read(entry, content).map(drop) } else { Ok(()) }
}

/// Creates an item from `entry` and `content`, or replaces `before` with them. Returns the item's permanent key. Fails
/// with `E_ALREADY_EXISTS` if the name or URI is taken. An agent-specific file replaces one at the same path.
pub fn put(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    clock: &Clock,
    before: Option<Stored>,
    entry: &Entry,
    content: &NewContent,
) -> Result<String> {
    let ids = clock.uuid().into();
    let (key, module) = write(db, author, project, ids, before.map(|before| before.item), entry, content)?;
    if let Some(module) = module {
        let known = modules::get(db, project.id, &module)?;
        put_origin(db, project, module, &entry.origin, known.as_ref())?;
    }
    Ok(key)
}

/// Like [`put`], but does not store the item's origin. Also returns the key of the modules row to store the origin in, if the
/// item has one.
pub fn write(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    ids: Ids,
    before: Option<Item>,
    entry: &Entry,
    content: &NewContent,
) -> Result<(String, Option<String>)> {
    let name = entry.name.clone();
    let uuid = match (entry.what.clone(), before) {
        (What::Prompt(attributes), Some(Item::Prompt(prompt))) => {
            let content = text(content.bytes()?.into_owned())?;
            prompts::update(db, author, project, Prompt { name, attributes, ..prompt }, "update", &content)?.uuid
        }
        (What::Resource(attributes), Some(Item::Resource(resource))) => {
            let resource = Resource { name, attributes, ..resource };
            resources::update(db, author, project, resource, "update", Some(content))?.uuid
        }
        (What::Prompt(attributes), _) => {
            let content = text(content.bytes()?.into_owned())?;
            prompts::insert(db, author, project, ids, &name, attributes, &content)?.uuid
        }
        (What::Resource(attributes), _) => {
            resources::insert(db, author, project, ids, &name, attributes, content)?.uuid
        }
        (What::Server, before) => {
            let before = match before {
                Some(Item::Server(before)) => Some(*before),
                _ => None,
            };
            let server = server::read(entry, content)?;
            let uuid = put_server(db, project, ids.uuid, before, server, author.now)?;
            return Ok((format!("mcp_server:{uuid}"), None));
        }
        (What::AgentFile { holds: kind, executable }, before) => {
            if let Some(Item::AgentFile(before)) = before
                && before.path != name
            {
                agent_files::delete(db, project, &before.path)?;
            }
            let agent = entry.origin.agent.as_deref().unwrap_or_default();
            agent_files::put(db, project.id, New { path: &name, kind, agent, executable }, content, author.now)?;
            return Ok((format!("agent_file:{name}"), None));
        }
    };
    Ok((format!("{}:{uuid}", entry.what.word()), Some(module(&entry.what, uuid))))
}

/// Creates a server, or gives `before` the new definition. The definition may come from somebody else, so a server that is
/// new or that runs something else is disabled until a person has looked at it. Fails with `E_ALREADY_EXISTS` if the name is
/// taken.
fn put_server(
    db: &Db<'_>,
    project: &Project,
    uuid: Uuid,
    before: Option<servers::Server>,
    server: item::server::Server,
    now: Millis,
) -> Result<Uuid> {
    let item::server::Server { name, definition, origin, .. } = server;
    let Some(before) = before else {
        return Ok(servers::insert(db, project, uuid, &name, definition, origin, false, now)?.uuid);
    };
    let enabled = stays_on(&before, &definition);
    let after = servers::Server { name, definition, origin, enabled, ..before.clone() };
    Ok(servers::update(db, project, &before, after, now)?.uuid)
}

/// Returns whether a server stays enabled with a new definition: it is enabled now, and only its description changes.
pub fn stays_on(before: &servers::Server, definition: &Definition) -> bool {
    let described = Definition { description: before.definition.description.clone(), ..definition.clone() };
    before.enabled && described == before.definition
}

/// Stores an item's origin in its modules row; tags, targets and the enabled flag stay the same. `known` is the current row.
/// Returns the new row if it changed.
pub fn put_origin(
    db: &Db<'_>,
    project: &Project,
    item: String,
    origin: &Origin,
    known: Option<&Row>,
) -> Result<Option<Row>> {
    if known.is_none() && origin.is_empty() {
        return Ok(None);
    }
    let before = known.cloned().unwrap_or_else(|| Row { item, enabled: true, ..Row::default() });
    let Origin { applies, agent, path } = origin.clone();
    let row = match origin.is_empty() {
        // An item without an origin does not come from a file, so keep the recorded agent and path.
        true => Row { applies, ..before.clone() },
        false => Row { applies, agent, path, ..before.clone() },
    };
    if known.is_some() && row == before {
        return Ok(None);
    }
    modules::put(db, project.id, &row)?;
    Ok(Some(row))
}

/// Deletes an item. The revisions of a prompt or resource stay in the history; agent-specific files and servers have no
/// history.
pub fn delete(db: &Db<'_>, author: Author<'_>, project: &Project, stored: &Stored) -> Result<()> {
    match &stored.item {
        Item::Prompt(prompt) => prompts::delete(db, author, project, &prompt.name).map(drop),
        Item::Resource(resource) => resources::delete(db, author, project, &resource.name).map(drop),
        Item::AgentFile(file) => agent_files::delete(db, project, &file.path).map(drop),
        Item::Server(server) => servers::delete(db, project, &server.name).map(drop),
    }
}

/// Returns whether the item has the content `blob`. Two `None`s match: no item was expected, and there is none.
pub fn is_at(db: &Db<'_>, stored: Option<&Stored>, blob: Option<i64>) -> Result<bool> {
    match (stored, blob) {
        (Some(stored), Some(blob)) => stored.holds(db, blob),
        (stored, blob) => Ok(stored.is_none() && blob.is_none()),
    }
}

pub fn sha256(db: &Db<'_>, stored: &Stored) -> Result<[u8; 32]> {
    match (&stored.item, stored.own_blob()) {
        (Item::Server(server), _) => Ok(document(server)?.sha256()),
        (_, Some(blob)) => blobs::sha256(db, blob),
        (_, None) => Err(Error::internal("an item without content")),
    }
}

fn document(server: &Server) -> Result<NewContent> {
    Ok(server::of(&server.clone().into())?.1)
}
