//! Reads the modules of a project, and writes edited files back to it.

pub mod catalog;
pub mod stored_module;

use std::collections::HashMap;
use std::sync::Arc;

use self::stored_module::{Item, Part, StoredModule};
use crate::module::{About, Kind, Layer, Module, ModuleFile, ServerFile};
use crate::targets::Target;
use mcpkg_agents::commands;
use mcpkg_agents::commands::skill::{keys, split_front};
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::files;
use mcpkg_store::agent_files::{self, New};
use mcpkg_store::projects::Project;
use mcpkg_store::prompts::{self, Prompt};
use mcpkg_store::revisions::Author;
use mcpkg_store::{Db, blobs, modules};

/// The modules of a project, for a deploy.
#[derive(Debug, Default)]
pub struct Composition {
    /// The modules, sorted by id.
    pub modules: Vec<Module>,
    /// Warnings about what was left out.
    pub warnings: Vec<String>,
    pub broken: Vec<Broken>,
}

/// A module whose text cannot be written, such as a template that does not render. The other modules are still
/// deployed. The file that was deployed from this module earlier stays unchanged.
#[derive(Debug)]
pub struct Broken {
    pub id: String,
    /// The module's targets. Empty means all targets.
    pub targets: Vec<Target>,
    /// Why it cannot be written, and what the user can do.
    pub why: Error,
}

impl Broken {
    /// Returns the warning for the user.
    pub fn warning(&self) -> String {
        let hints: String = self.why.hints().iter().map(|hint| format!("; {hint}")).collect();
        let (id, why) = (&self.id, self.why.message());
        format!("module '{id}' is left out, and its deployed files stay unchanged: {why}{hints}")
    }
}

/// Contents that were already read, by the keys of their blobs.
type Contents = HashMap<i64, Vec<u8>>;

/// The number of modules that are read in one query.
const BATCH: usize = 64;

/// Returns a project's enabled modules, sorted by id, and warnings about what was left out. By default, each prompt is
/// a command, each `skill://NAME/` with a SKILL.md is a skill, and each resource below `instructions://` is
/// instructions. Subagents, MCP servers and files of a single agent are modules too. Calls `told` to report progress if
/// there are more than [`BATCH`] modules.
pub fn compose(db: &Db<'_>, project: &Project, told: impl Fn(u64, u64)) -> Result<Composition> {
    let (listed, warnings) = catalog::list(db, project)?;
    let enabled: Vec<&StoredModule> = listed.iter().filter(|listed| listed.row.enabled).collect();
    let mut composition = Composition { warnings, ..Composition::default() };
    let told = |done: usize| {
        if enabled.len() > BATCH {
            told(done as u64, enabled.len() as u64);
        }
    };
    for (at, batch) in enabled.chunks(BATCH).enumerate() {
        told(at * BATCH);
        let parts = batch.iter().flat_map(|listed| &listed.parts);
        let contents = blobs::get_all(db, parts.filter_map(|part| part.source.blob()))?;
        for listed in batch {
            match module_of(db, &contents, listed) {
                Ok(module) => composition.modules.push(module),
                Err(why) if matches!(why.code(), Code::TemplateFailed | Code::TooLarge | Code::InvalidArgument) => {
                    composition.broken.push(Broken { id: listed.id.clone(), targets: listed.targets(), why });
                }
                Err(error) => return Err(error),
            }
        }
    }
    told(enabled.len());
    Ok(composition)
}

/// Returns the SHA-256 of what [`compose`] would read, without reading the contents. An apply compares it in its
/// transaction.
pub fn fingerprint(db: &Db<'_>, project: i64) -> Result<[u8; 32]> {
    modules::fingerprint(db, project)
}

/// Returns the item that contains a module's file, such as `prompt:<uuid>` or `resource:<uuid>`. Returns `None` for a
/// file that a skill does not have yet.
///
/// # Errors
/// `E_NOT_FOUND` if the module does not exist.
pub fn item_of(db: &Db<'_>, project: &Project, module_id: &str, file: &str) -> Result<Option<String>> {
    let listed = catalog::get(db, project, module_id)?;
    Ok(listed.parts.iter().find(|part| part.path == file).map(|part| part.source.item()))
}

/// Writes the edited bytes of a module's file to its prompt or resource as a new revision, or to its agent-specific
/// file. A file that a skill does not have yet becomes a new resource. [`compose`] then returns these bytes.
///
/// # Errors
/// `E_NOT_FOUND` if the module or the file does not exist; `E_INVALID_ARGUMENT` if the bytes cannot be converted back
/// to the prompt, or if the module is an MCP server.
pub fn write_back(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    module_id: &str,
    file: &str,
    bytes: &[u8],
    clock: &Clock,
) -> Result<()> {
    let StoredModule { kind, parts, row, .. } = catalog::get(db, project, module_id)?;
    let Some(part) = parts.into_iter().find(|part| part.path == file) else {
        let skill = module_id.strip_prefix("skill:").filter(|_| catalog::is_inside(file));
        let skill = skill.ok_or_else(|| Error::new(Code::NotFound, format!("{module_id} has no file `{file}`")))?;
        let content = files::File { content: bytes.to_vec().into(), executable: false };
        return files::add_to_skill(db, author, project, clock, skill, file, &content).map(drop);
    };
    match part.source {
        Item::Resource(resource) => files::replace(db, author, project, *resource, bytes).map(drop),
        Item::Prompt(prompt) => edit(db, author, project, (kind, row.agent.as_deref()), *prompt, bytes),
        Item::AgentFile(kept) => {
            let new = New { path: &kept.path, kind: kept.kind, agent: &kept.agent, executable: kept.executable };
            agent_files::put(db, project.id, new, &bytes.to_vec().into(), author.now)
        }
        Item::Server(server) => {
            let why =
                format!("The change to '{}' in an agent's file cannot be brought back into the project", server.name);
            Err(Error::new(Code::InvalidArgument, why)
                .hint(format!("change the server with `mcpkg mcp set {}`", server.name)))
        }
    }
}

fn edit(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    (kind, agent): (Kind, Option<&str>),
    mut prompt: Prompt,
    bytes: &[u8],
) -> Result<()> {
    let edited = std::str::from_utf8(bytes).map_err(|error| {
        Error::new(Code::InvalidArgument, format!("The edited text of prompt '{}' is not valid UTF-8", prompt.name))
            .with_source(error)
    })?;
    let before = text(db, &Contents::new(), &prompt)?;
    let (attributes, content) = match kind {
        Kind::Instructions => {
            commands::check_text(edited)?;
            (prompt.attributes.clone(), edited.to_owned())
        }
        _ => commands::from_deployed(edited, &prompt.attributes, &before, agent)?,
    };
    if before != content || prompt.attributes != attributes {
        prompt.attributes = attributes;
        prompts::update(db, author, project, prompt, "update", &content)?;
    }
    Ok(())
}

/// Reads a module with its content.
///
/// # Errors
/// `E_TEMPLATE_FAILED`, `E_TOO_LARGE` or `E_INVALID_ARGUMENT` if its text cannot be written.
pub fn module(db: &Db<'_>, listed: &StoredModule) -> Result<Module> {
    module_of(db, &Contents::new(), listed)
}

fn module_of(db: &Db<'_>, contents: &Contents, listed: &StoredModule) -> Result<Module> {
    let files = listed.parts.iter().map(|part| file(db, contents, listed, part)).collect::<Result<Vec<_>>>()?;
    let about = About {
        applies: listed.row.applies.clone(),
        description: listed.description().map(str::to_owned).or_else(|| described(listed.kind, &files)),
        agent: listed.row.agent.clone(),
        path: listed.row.path.clone(),
    };
    Ok(Module { id: listed.id.clone(), kind: listed.kind, targets: listed.targets(), files, about })
}

/// Returns the description in the front matter of instructions, which says when they apply.
fn described(kind: Kind, files: &[ModuleFile]) -> Option<String> {
    let front = split_front(&files.first().filter(|_| kind == Kind::Instructions)?.bytes).0?;
    keys(front)?.get("description")?.as_str().map(str::to_owned)
}

fn file(db: &Db<'_>, contents: &Contents, listed: &StoredModule, part: &Part) -> Result<ModuleFile> {
    let (bytes, executable) = match &part.source {
        Item::Prompt(prompt) => (written(listed, prompt, &text(db, contents, prompt)?)?.into_bytes(), false),
        Item::Resource(resource) => (content(db, contents, resource.blob)?, resource.attributes.executable),
        Item::AgentFile(kept) => (content(db, contents, kept.blob)?, kept.executable),
        Item::Server(server) => (ServerFile::of(server).to_bytes()?, false),
    };
    let arguments = match &part.source {
        Item::Prompt(prompt) => {
            commands::as_deployed(&prompt.attributes, listed.row.agent.as_deref()).arguments.as_slice().into()
        }
        Item::Resource(_) | Item::Server(_) | Item::AgentFile(_) => Arc::default(),
    };
    let own = match &part.source {
        Item::Prompt(prompt) if listed.row.agent.is_some() => {
            own_form(prompt, &text(db, contents, prompt)?, listed.row.agent.as_deref(), &bytes)
        }
        _ => None,
    };
    let (path, bytes) = (part.path.clone(), Arc::from(bytes));
    Ok(ModuleFile { path, bytes, executable, layer: Layer::Upstream, arguments, own })
}

/// Returns the original file of an imported prompt, if it differs from the file for Claude Code.
fn own_form(prompt: &Prompt, text: &str, agent: Option<&str>, written: &[u8]) -> Option<Arc<[u8]>> {
    let own = commands::source_of(&prompt.name, &prompt.attributes, text, agent).ok();
    own.filter(|own| own.as_bytes() != written).map(|own| own.into_bytes().into())
}

/// Returns the text of the file that a prompt becomes.
fn written(listed: &StoredModule, prompt: &Prompt, text: &str) -> Result<String> {
    if listed.kind != Kind::Instructions {
        let attributes = commands::as_deployed(&prompt.attributes, listed.row.agent.as_deref());
        return commands::to_file(&prompt.name, &attributes, text).map_err(|error| {
            let (name, id) = (&prompt.name, &listed.id);
            Error::new(error.code(), format!("Prompt '{name}' cannot be written as a file: {}", error.message())).hint(
                format!(
                    "fix the prompt with `mcpkg prompt edit {name}`, or exclude it from deploys with `mcpkg module remove {id}`"
                ),
            )
        });
    }
    if prompt.attributes.template {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("Prompt '{}' is a template, so it cannot be instructions", prompt.name),
        )
        .hint(format!("make it a command again with `mcpkg module set {} --type command`", listed.id)));
    }
    Ok(text.to_owned())
}

/// Returns the content of a blob, from `contents` if it was already read.
fn content(db: &Db<'_>, contents: &Contents, blob: i64) -> Result<Vec<u8>> {
    contents.get(&blob).map_or_else(|| blobs::get(db, blob), |bytes| Ok(bytes.clone()))
}

fn text(db: &Db<'_>, contents: &Contents, prompt: &Prompt) -> Result<String> {
    String::from_utf8(content(db, contents, prompt.blob)?)
        .map_err(|error| blobs::damaged_value("a prompt's content is not UTF-8").with_source(error))
}
