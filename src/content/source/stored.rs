//! Items of a project as a source sees them.

use uuid::Uuid;

use crate::content::import::item::Item;
use crate::content::import::manifest::What;
use crate::error::Result;
use crate::store::Db;
use crate::store::agent_files::{self, AgentFile};
use crate::store::projects::Project;
use crate::store::prompts::{self, Prompt};
use crate::store::resources::{self, Key, Resource};

/// A prompt or resource of the project.
#[derive(Clone, Debug)]
pub enum Stored {
    /// A prompt.
    Prompt(Prompt),
    /// A resource.
    Resource(Resource),
    /// A file of one agent alone.
    AgentFile(AgentFile),
}

impl Stored {
    /// Returns `prompt:<uuid>`, `resource:<uuid>` or `agent_file:<path>`.
    pub fn key(&self) -> String {
        match self {
            Stored::Prompt(prompt) => format!("prompt:{}", prompt.uuid),
            Stored::Resource(resource) => format!("resource:{}", resource.uuid),
            Stored::AgentFile(file) => format!("agent_file:{}", file.path),
        }
    }
}

/// Returns what has an item's name or URI.
///
/// # Errors
/// `E_DAMAGED`, `E_DB_BUSY`, `E_STORAGE`.
pub fn find(db: &Db<'_>, project: &Project, item: &Item) -> Result<Option<Stored>> {
    match &item.entry.what {
        What::Prompt(_) => Ok(prompts::find(db, project.id, &item.entry.name)?.map(Stored::Prompt)),
        What::Resource(attributes) => {
            let by_uri = resources::find(db, project.id, Key::Uri(&attributes.uri))?;
            let found = match by_uri {
                Some(found) => Some(found),
                None => resources::find(db, project.id, Key::Name(&item.entry.name))?,
            };
            Ok(found.map(Stored::Resource))
        }
        What::AgentFile { .. } => Ok(agent_files::find(db, project.id, &item.entry.name)?.map(Stored::AgentFile)),
    }
}

/// Returns the item of a key; `None` where it was deleted.
///
/// # Errors
/// `E_DAMAGED`, `E_DB_BUSY`, `E_STORAGE`.
pub fn by_key(db: &Db<'_>, project: &Project, key: &str) -> Result<Option<Stored>> {
    let uuid = |text: &str| Uuid::parse_str(text).ok();
    if let Some(uuid) = key.strip_prefix("prompt:").and_then(uuid) {
        return Ok(prompts::by_uuid(db, project.id, uuid)?.map(Stored::Prompt));
    }
    if let Some(uuid) = key.strip_prefix("resource:").and_then(uuid) {
        return Ok(resources::by_uuid(db, project.id, uuid)?.map(Stored::Resource));
    }
    match key.strip_prefix("agent_file:") {
        Some(path) => Ok(agent_files::find(db, project.id, path)?.map(Stored::AgentFile)),
        None => Ok(None),
    }
}
