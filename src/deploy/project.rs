//! A project as a source of modules.

use std::sync::Arc;

use super::catalog::{self, Listed, Part, Source};
use super::module::{Kind, Layer, Module, ModuleFile};
use crate::content::command;
use crate::error::{Error, Result};
use crate::store::projects::Project;
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
/// How the disk failed.
pub fn fingerprint(db: &Db<'_>, project: i64) -> Result<[u8; 32]> {
    modules::fingerprint(db, project)
}

fn module(db: &Db<'_>, listed: &Listed) -> Result<Module> {
    let files = listed.parts.iter().map(|part| file(db, listed.kind, part)).collect::<Result<_>>()?;
    Ok(Module { id: listed.id.clone(), kind: listed.kind, targets: listed.targets(), files })
}

fn file(db: &Db<'_>, kind: Kind, part: &Part) -> Result<ModuleFile> {
    let (bytes, executable) = match &part.source {
        Source::Prompt(prompt) => {
            let text = String::from_utf8(blobs::get(db, prompt.blob)?)
                .map_err(|error| Error::internal("a prompt's content is not UTF-8").with_source(error))?;
            let text = match kind {
                Kind::Instructions => text,
                _ => command::to_file(&prompt.name, &prompt.attributes, &text)?,
            };
            (text.into_bytes(), false)
        }
        Source::Resource(resource) => (blobs::get(db, resource.blob)?, resource.attributes.executable),
    };
    Ok(ModuleFile { path: part.path.clone(), bytes: Arc::from(bytes), executable, layer: Layer::Upstream })
}
