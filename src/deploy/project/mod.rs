//! A project as a source of modules.

pub mod catalog;

use std::sync::Arc;

use self::catalog::{Item, Listed, Part};
use crate::clock::Clock;
use crate::content::command;
use crate::content::command::skill::{keys, split_front};
use crate::content::files;
use crate::deploy::module::{About, Kind, Layer, Module, ModuleFile, ServerFile};
use crate::error::{Code, Error, Result};
use crate::store::agent_files::{self, New};
use crate::store::projects::Project;
use crate::store::prompts::{self, Prompt};
use crate::store::revisions::Author;
use crate::store::{Db, blobs, modules};

/// Returns a project's modules by id, and what was left out and why. Each prompt is a command, each `skill://NAME/`
/// with a SKILL.md a skill, each resource below `instructions://` instructions, unless the project says otherwise.
///
/// # Errors
/// `E_TEMPLATE_FAILED` where a prompt does not render, `E_DAMAGED`.
pub fn compose(db: &Db<'_>, project: &Project) -> Result<(Vec<Module>, Vec<String>)> {
    let (listed, warnings) = catalog::list(db, project)?;
    let enabled = listed.iter().filter(|listed| listed.row.enabled);
    Ok((enabled.map(|listed| module(db, listed)).collect::<Result<_>>()?, warnings))
}

/// Returns the SHA-256 of what [`compose`] would read, without reading contents: an apply compares it inside its
/// transaction.
///
/// # Errors
/// `E_DB_BUSY`, `E_STORAGE`.
pub fn fingerprint(db: &Db<'_>, project: i64) -> Result<[u8; 32]> {
    modules::fingerprint(db, project)
}

/// Returns what the file of a module comes from, `prompt:<uuid>` or `resource:<uuid>`; `None` for a file that a skill
/// does not have yet.
///
/// # Errors
/// `E_NOT_FOUND` for the module.
pub fn item_of(db: &Db<'_>, project: &Project, module_id: &str, file: &str) -> Result<Option<String>> {
    let listed = catalog::get(db, project, module_id)?;
    Ok(listed.parts.iter().find(|part| part.path == file).map(|part| part.source.item()))
}

/// Takes the edited bytes of a module's file back into the prompt or resource that it comes from, as a new revision; a
/// file that a skill does not have yet becomes a resource. What [`compose`] gives afterwards are these bytes.
///
/// # Errors
/// `E_NOT_FOUND` for the module or the file; `E_INVALID_ARGUMENT` where the bytes cannot become the prompt again.
pub fn write_back(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    module_id: &str,
    file: &str,
    bytes: &[u8],
    clock: &Clock,
) -> Result<()> {
    let Listed { kind, parts, .. } = catalog::get(db, project, module_id)?;
    let Some(part) = parts.into_iter().find(|part| part.path == file) else {
        let skill = module_id.strip_prefix("skill:").filter(|_| catalog::is_inside(file));
        let skill = skill.ok_or_else(|| Error::new(Code::NotFound, format!("{module_id} has no file `{file}`")))?;
        let content = files::File { content: bytes.to_vec().into(), executable: false };
        return files::add_to_skill(db, author, project, clock, skill, file, &content).map(drop);
    };
    match part.source {
        Item::Resource(resource) => files::replace(db, author, project, *resource, bytes).map(drop),
        Item::Prompt(prompt) => edit(db, author, project, kind, *prompt, bytes),
        Item::AgentFile(kept) => {
            let new = New { path: &kept.path, kind: kept.kind, agent: &kept.agent, executable: kept.executable };
            agent_files::put(db, project.id, new, &bytes.to_vec().into(), author.now)
        }
        Item::Server(server) => {
            let why = format!("What '{}' was changed to in an agent's file cannot be taken back", server.name);
            Err(Error::new(Code::InvalidArgument, why).hint(format!("change it with `mcpkg mcp set {}`", server.name)))
        }
    }
}

fn edit(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    kind: Kind,
    mut prompt: Prompt,
    bytes: &[u8],
) -> Result<()> {
    let edited = std::str::from_utf8(bytes).map_err(|error| {
        Error::new(Code::InvalidArgument, format!("What prompt '{}' was edited to is not UTF-8 text", prompt.name))
            .with_source(error)
    })?;
    let before = text(db, &prompt)?;
    let (attributes, content) = match kind {
        Kind::Instructions => {
            command::check_text(edited)?;
            (prompt.attributes.clone(), edited.to_owned())
        }
        _ => command::from_file(edited, &prompt.attributes, &before)?,
    };
    if before != content || prompt.attributes != attributes {
        prompt.attributes = attributes;
        prompts::update(db, author, project, prompt, "update", &content)?;
    }
    Ok(())
}

/// Returns a module with its content.
///
/// # Errors
/// As [`compose`].
pub fn module(db: &Db<'_>, listed: &Listed) -> Result<Module> {
    let files = listed.parts.iter().map(|part| file(db, listed, part)).collect::<Result<Vec<_>>>()?;
    let about = About {
        applies: listed.row.applies.clone(),
        description: listed.description().map(str::to_owned).or_else(|| described(listed.kind, &files)),
        agent: listed.row.agent.clone(),
        path: listed.row.path.clone(),
    };
    Ok(Module { id: listed.id.clone(), kind: listed.kind, targets: listed.targets(), files, about })
}

/// The description in the front matter of instructions, which says when they apply.
fn described(kind: Kind, files: &[ModuleFile]) -> Option<String> {
    let front = split_front(&files.first().filter(|_| kind == Kind::Instructions)?.bytes).0?;
    keys(front)?.get("description")?.as_str().map(str::to_owned)
}

fn file(db: &Db<'_>, listed: &Listed, part: &Part) -> Result<ModuleFile> {
    let (bytes, executable) = match &part.source {
        Item::Prompt(prompt) => (written(db, listed, prompt)?.into_bytes(), false),
        Item::Resource(resource) => (blobs::get(db, resource.blob)?, resource.attributes.executable),
        Item::AgentFile(kept) => (blobs::get(db, kept.blob)?, kept.executable),
        Item::Server(server) => (ServerFile::of(server).to_bytes()?, false),
    };
    let arguments = match &part.source {
        Item::Prompt(prompt) => prompt.attributes.arguments.as_slice().into(),
        Item::Resource(_) | Item::Server(_) | Item::AgentFile(_) => Arc::default(),
    };
    let own = match &part.source {
        Item::Prompt(prompt) if listed.row.agent.is_some() => own_form(db, prompt, &bytes)?,
        _ => None,
    };
    let (path, bytes) = (part.path.clone(), Arc::from(bytes));
    Ok(ModuleFile { path, bytes, executable, layer: Layer::Upstream, arguments, own })
}

/// Returns the file that a prompt was imported from, where it is not the one that Claude Code gets.
fn own_form(db: &Db<'_>, prompt: &Prompt, written: &[u8]) -> Result<Option<Arc<[u8]>>> {
    let own = command::source(&prompt.name, &prompt.attributes, &text(db, prompt)?).ok();
    Ok(own.filter(|own| own.as_bytes() != written).map(|own| own.into_bytes().into()))
}

/// Returns the file of a prompt. One that cannot be written fails the whole: a deploy without it would delete the file
/// that is there.
fn written(db: &Db<'_>, listed: &Listed, prompt: &Prompt) -> Result<String> {
    let text = text(db, prompt)?;
    if listed.kind != Kind::Instructions {
        return command::to_file(&prompt.name, &prompt.attributes, &text).map_err(|error| {
            Error::new(error.code(), format!("Prompt '{}' cannot be written as a file: {error}", prompt.name))
                .hint(format!("mend the prompt, or take it out of deploys with `mcpkg module remove {}`", listed.id))
        });
    }
    if prompt.attributes.template {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("Prompt '{}' is a template, so it cannot be instructions", prompt.name),
        )
        .hint(format!("make it a command again with `mcpkg module set {} --type command`", listed.id)));
    }
    Ok(text)
}

fn text(db: &Db<'_>, prompt: &Prompt) -> Result<String> {
    String::from_utf8(blobs::get(db, prompt.blob)?)
        .map_err(|error| blobs::damaged_value("a prompt's content is not UTF-8").with_source(error))
}
