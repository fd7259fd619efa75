//! Describes a module of a project before its content is read: which stored items contain its files.

use crate::module::Kind;
use crate::targets::Target;
use mcpkg_store::agent_files::AgentFile;
use mcpkg_store::modules::Row;
use mcpkg_store::prompts::Prompt;
use mcpkg_store::resources::Resource;
use mcpkg_store::servers::Server;

pub const SKILL: &str = "skill://";
pub const INSTRUCTIONS: &str = "instructions://";
pub const SUBAGENT: &str = "subagent://";

/// A module of a project, before its content is read.
#[derive(Clone, Debug)]
pub struct StoredModule {
    /// The id, such as `skill:review`.
    pub id: String,
    pub kind: Kind,
    /// The project's settings for the module; defaults if it has none.
    pub row: Row,
    /// The module's files, sorted by path.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug)]
pub struct Part {
    /// The path inside the module.
    pub path: String,
    /// The stored item that contains the file's bytes.
    pub source: Item,
}

/// A stored item that contains the bytes of a module's file.
#[derive(Clone, Debug)]
pub enum Item {
    Prompt(Box<Prompt>),
    Resource(Box<Resource>),
    Server(Box<Server>),
    AgentFile(Box<AgentFile>),
}

impl Item {
    /// Returns the item's key in module rows and proposals, such as `prompt:<uuid>`.
    pub fn item(&self) -> String {
        match self {
            Item::Prompt(prompt) => format!("prompt:{}", prompt.uuid),
            Item::Resource(resource) => format!("resource:{}", resource.uuid),
            Item::Server(server) => format!("mcp_server:{}", server.uuid),
            Item::AgentFile(file) => format!("agent_file:{}", file.path),
        }
    }

    /// Returns the key of the blob with the content. A server has none.
    pub fn blob(&self) -> Option<i64> {
        match self {
            Item::Prompt(prompt) => Some(prompt.blob),
            Item::Resource(resource) => Some(resource.blob),
            Item::AgentFile(file) => Some(file.blob),
            Item::Server(_) => None,
        }
    }

    /// Returns the name of the prompt, resource or server, or the path of the file.
    pub fn name(&self) -> &str {
        match self {
            Item::Prompt(prompt) => &prompt.name,
            Item::Resource(resource) => &resource.name,
            Item::Server(server) => &server.name,
            Item::AgentFile(file) => &file.path,
        }
    }
}

impl StoredModule {
    /// Whether the module is a resource that became a module only by its settings ([`StoredModule::row`]), not by its URI.
    pub fn is_added(&self) -> bool {
        match self.parts.first().map(|part| &part.source) {
            Some(Item::Resource(resource)) => {
                let uri = &resource.attributes.uri;
                self.kind != Kind::Skill && !uri.starts_with(INSTRUCTIONS) && !uri.starts_with(SUBAGENT)
            }
            _ => false,
        }
    }

    /// Returns the description of the prompt, resource or server. A skill's description is in its SKILL.md.
    pub fn description(&self) -> Option<&str> {
        match &self.parts.first()?.source {
            Item::Prompt(prompt) => prompt.attributes.description.as_deref(),
            Item::Resource(resource) => resource.attributes.description.as_deref(),
            Item::Server(server) => server.definition.description.as_deref(),
            Item::AgentFile(_) => None,
        }
    }

    /// Returns the module's targets, without unknown names. Empty means all targets.
    pub fn targets(&self) -> Vec<Target> {
        self.row.targets.iter().filter_map(|name| Target::named(name)).collect()
    }
}
