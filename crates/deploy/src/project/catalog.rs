//! Lists the modules of a project. By default these are its prompts, some of its resources, its MCP servers, and files
//! that only one agent reads. Rows of the modules table can change the list.

use std::collections::{BTreeMap, HashMap, HashSet};

use uuid::Uuid;

use super::stored_module::{INSTRUCTIONS, Item, Part, SKILL, SUBAGENT, StoredModule};
use crate::module::Kind;
use crate::targets::Target;
use mcpkg_agents::{agents, commands};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::uri;
use mcpkg_store::Db;
use mcpkg_store::agent_files::{self, AgentFile};
use mcpkg_store::modules::{self, Row};
use mcpkg_store::page::Page;
use mcpkg_store::projects::Project;
use mcpkg_store::prompts::{self, Prompt};
use mcpkg_store::resources::{self, Resource};
use mcpkg_store::servers::{self, Server};

/// Returns all modules of a project, sorted by id and including disabled ones, and warnings about what was left out.
pub fn list(db: &Db<'_>, project: &Project) -> Result<(Vec<StoredModule>, Vec<String>)> {
    let mut catalog = Catalog {
        rows: modules::all(db, project.id)?.into_iter().map(|row| (row.item.clone(), row)).collect(),
        ..Catalog::default()
    };
    for resource in resources::below(db, project.id, INSTRUCTIONS)? {
        catalog.named_by_uri(INSTRUCTIONS, Kind::Instructions, resource);
    }
    for resource in resources::below(db, project.id, SUBAGENT)? {
        catalog.named_by_uri(SUBAGENT, Kind::Subagent, resource);
    }
    catalog.skills(resources::below(db, project.id, SKILL)?);
    for prompt in prompts::list(db, project.id, &Page::all())?.rows {
        catalog.prompt(prompt);
    }
    for server in servers::all(db, project.id)? {
        catalog.server(server);
    }
    for file in agent_files::all(db, project.id)? {
        catalog.agent_file(file);
    }
    // The remaining rows refer to resources that are not modules by default, or to deleted resources.
    let added: Vec<Uuid> =
        catalog.rows.keys().filter_map(|item| item.strip_prefix("resource:")?.parse().ok()).collect();
    for uuid in added {
        if let Some(resource) = resources::by_uuid(db, project.id, uuid)? {
            catalog.added(resource);
        }
    }
    catalog.listed.sort_by(|a, b| a.id.cmp(&b.id));
    Ok((catalog.listed, catalog.warnings))
}

/// Finds a module by its id.
///
/// # Errors
/// `E_NOT_FOUND`, with a suggestion: the id that was probably meant.
pub fn get(db: &Db<'_>, project: &Project, id: &str) -> Result<StoredModule> {
    let (listed, _) = list(db, project)?;
    match listed.iter().position(|module| module.id == id) {
        Some(at) => listed.into_iter().nth(at).ok_or_else(|| Error::internal("a module went away")),
        None => Err(missing(&listed, project, id)),
    }
}

fn missing(listed: &[StoredModule], project: &Project, id: &str) -> Error {
    let error = Error::new(Code::NotFound, format!("Module '{id}' does not exist in project '{}'", project.name))
        .with_details(serde_json::json!({ "name": id }));
    let ids = || listed.iter().map(|module| module.id.as_str());
    let by_name = ids().find(|known| known.split_once(':').is_some_and(|(_, name)| name == id));
    match by_name {
        Some(meant) => error.hint(format!("did you mean '{meant}'?")),
        None => error.suggest(id, ids(), "`mcpkg module list` shows the existing modules"),
    }
}

#[derive(Default)]
struct Catalog {
    rows: HashMap<String, Row>,
    listed: Vec<StoredModule>,
    ids: HashSet<String>,
    commands: HashSet<String>,
    warnings: Vec<String>,
}

impl Catalog {
    /// Takes an item's row out of the map, or creates a default row. Also returns the kind that the row sets. If the
    /// row has no targets, but its path is in a folder of one client, that client becomes the target.
    fn row(&mut self, item: String) -> (Row, Option<Kind>) {
        let mut row = self.rows.remove(&item).unwrap_or_else(|| Row { item, enabled: true, ..Row::default() });
        if row.targets.is_empty()
            && let Some(client) = row.path.as_deref().and_then(agents::client_of)
        {
            row.targets = Target::all()
                .iter()
                .map(|target| target.name())
                .filter(|name| *name == client.id)
                .map(str::to_owned)
                .collect();
        }
        let kind = row.kind.as_deref().and_then(Kind::named);
        (row, kind)
    }

    fn add(&mut self, kind: Kind, name: &str, row: Row, parts: Vec<Part>) {
        let id = format!("{}:{name}", kind.word());
        if self.ids.insert(id.clone()) {
            self.listed.push(StoredModule { id, kind, row, parts });
        } else {
            self.warnings.push(format!("{id} exists twice; the second one is left out until you rename one of them"));
        }
    }

    fn prompt(&mut self, prompt: Prompt) {
        let (row, kind) = self.row(format!("prompt:{}", prompt.uuid));
        let kind = kind.filter(|kind| *kind != Kind::Skill).unwrap_or(Kind::Command);
        let own = format!("{}.md", prompt.name);
        let path = match kind {
            Kind::Instructions => "AGENTS.md".to_owned(),
            Kind::Command => {
                let path = commands::path(&prompt.name, &prompt.attributes);
                if is_inside(&path) && self.commands.insert(path.to_lowercase()) { path } else { own }
            }
            Kind::Prompt | Kind::Skill | Kind::Subagent | Kind::McpServer | Kind::AgentFile => own,
        };
        let name = prompt.name.clone();
        self.add(kind, &name, row, vec![Part { path, source: Item::Prompt(Box::new(prompt)) }]);
    }

    /// Adds a resource whose URI determines its kind and name, such as `instructions://NAME`.
    fn named_by_uri(&mut self, below: &str, default: Kind, resource: Resource) {
        let (row, kind) = self.row(format!("resource:{}", resource.uuid));
        let encoded = resource.attributes.uri.strip_prefix(below).unwrap_or_default();
        match uri::decode(encoded).filter(|name| is_inside(name)) {
            Some(name) => self.resource(kind.unwrap_or(default), &name, row, resource),
            None => self.refused(&resource),
        }
    }

    /// Adds a resource that is a module only because of its row.
    fn added(&mut self, resource: Resource) {
        let (row, kind) = self.row(format!("resource:{}", resource.uuid));
        if let Some(kind) = kind {
            let name = resource.name.clone();
            self.resource(kind, &name, row, resource);
        }
    }

    fn resource(&mut self, kind: Kind, name: &str, row: Row, resource: Resource) {
        let path = if kind == Kind::Instructions { "AGENTS.md".to_owned() } else { format!("{}.md", resource.name) };
        self.add(kind, name, row, vec![Part { path, source: Item::Resource(Box::new(resource)) }]);
    }

    fn skills(&mut self, resources: Vec<Resource>) {
        let mut skills: BTreeMap<String, BTreeMap<String, Part>> = BTreeMap::new();
        for resource in resources {
            let path = resource.attributes.uri.strip_prefix(SKILL).and_then(uri::decode).filter(|path| is_inside(path));
            let Some((name, path)) = path.as_ref().and_then(|path| path.split_once('/')) else {
                self.refused(&resource);
                continue;
            };
            let source = Item::Resource(Box::new(resource));
            let part = Part { path: path.to_owned(), source };
            if let Some(twice) = skills.entry(name.to_owned()).or_default().insert(part.path.clone(), part) {
                self.warnings
                    .push(format!("skill:{name} has {} twice, under two URIs; one of them is left out", twice.path));
            }
        }
        for (name, parts) in skills {
            let (row, _) = self.row(format!("skill:{name}"));
            if parts.contains_key("SKILL.md") {
                self.add(Kind::Skill, &name, row, parts.into_values().collect());
            } else {
                self.warnings.push(format!("{SKILL}{name}/ has no SKILL.md, so it is not a skill; it is left out"));
            }
        }
    }

    /// Adds an MCP server. A disabled server stays disabled, whatever its row says.
    fn server(&mut self, server: Server) {
        let (row, _) = self.row(format!("mcp_server:{}", server.uuid));
        let enabled = row.enabled && server.enabled;
        let row = Row { enabled, agent: server.origin.agent.clone(), path: server.origin.path.clone(), ..row };
        let name = server.name.clone();
        let part = Part { path: format!("{name}.json"), source: Item::Server(Box::new(server)) };
        self.add(Kind::McpServer, &name, row, vec![part]);
    }

    /// Adds a file that belongs to one agent, if targets of that agent read it at the root.
    fn agent_file(&mut self, file: AgentFile) {
        let targets = Target::all().iter().filter(|target| target.is_called(&file.agent));
        let targets: Vec<String> = targets.map(|target| target.name().to_owned()).collect();
        let reads = match file.kind {
            agent_files::Kind::Hook | agent_files::Kind::Permission | agent_files::Kind::Settings => {
                file.path.split_once('/').is_some_and(|(folder, _)| agents::with_folder(folder).is_some())
            }
            agent_files::Kind::Ignore => true,
            agent_files::Kind::Plugin | agent_files::Kind::Servers => false,
        };
        if targets.is_empty() || !reads || !is_inside(&file.path) {
            return;
        }
        let (row, _) = self.row(format!("agent_file:{}", file.path));
        let row = Row { targets, agent: Some(file.agent.clone()), path: Some(file.path.clone()), ..row };
        let path = file.path.clone();
        let part = Part { path: path.clone(), source: Item::AgentFile(Box::new(file)) };
        self.add(Kind::AgentFile, &path, row, vec![part]);
    }

    fn refused(&mut self, resource: &Resource) {
        self.warnings.push(format!(
            "resource '{}' is left out: {} is not a valid file path",
            resource.name,
            resource.attributes.uri.escape_debug()
        ));
    }
}

/// Whether a relative path is valid and stays inside its folder.
pub fn is_inside(path: &str) -> bool {
    !path.contains('\\')
        && !path.contains(char::is_control)
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
